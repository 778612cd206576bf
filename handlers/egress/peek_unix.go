//go:build linux || darwin || freebsd || netbsd || openbsd

package egress

import (
	"errors"
	"net"
	"syscall"
)

// closedByPeer looks at an idle socket without taking anything from it. A
// reader of the transport is blocked on the same socket, so the look goes
// through Control, which does not wait for it. Bytes waiting on a plain
// connection are an answer to nothing (a 408 before closing) and count as
// closed; below TLS they can be a session ticket.
func closedByPeer(c net.Conn, tls bool) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		case err != nil, n == 0:
			closed = true
		default:
			closed = !tls
		}
	})
	return closed || err != nil
}
