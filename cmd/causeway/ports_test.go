package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

var portsGiven sync.Map // by freePort, to every test of this process: what a test leaves behind finds nobody there

// freePort is an address that no other test has, in this process or in another one:
// a gateway that is killed and started again listens on it, and there are moments
// in which nobody does. While the test lasts the UDP port of the same number is held,
// which says so to everybody who asks here, and ends with the process whatever
// happens to it. It is below the ports that systems give to outgoing connections.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15_000+rand.IntN(15_000)) //nolint:gosec // a port is no secret
		held, err := net.ListenPacket("udp", addr)                    //nolint:noctx // a test on loopback
		if err != nil {
			continue
		}
		if _, taken := portsGiven.LoadOrStore(addr, true); taken || !nobodyListens(addr) {
			_ = held.Close()
			continue
		}
		t.Cleanup(func() { _ = held.Close() })
		return addr
	}
	t.Fatal("no free port")
	return ""
}

// nobodyListens asks those who do not ask for the UDP port.
func nobodyListens(addr string) bool {
	l, err := net.Listen("tcp", addr) //nolint:noctx // a test on loopback
	if err != nil {
		return false
	}
	return l.Close() == nil
}
