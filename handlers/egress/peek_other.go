//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package egress

import "net"

// closedByPeer cannot look here; the transport's own reader notices.
func closedByPeer(net.Conn, bool) bool { return false }
