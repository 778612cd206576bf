package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
)

// rebinding is a DNS server that answers with one address after another, the last
// one for ever.
func rebinding(t *testing.T, addrs ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0") //nolint:noctx // a test on loopback
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for n := 0; ; {
			size, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			// Of the question: id, one name, type and class; what else came is left out.
			end := 12
			for end < size && b[end] != 0 {
				end += 1 + int(b[end])
			}
			answer := slices.Concat(b[:2], []byte{0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0}, b[12:end+5])
			if binary.BigEndian.Uint16(b[end+1:]) == 1 { // A; nothing of other types
				answer[7] = 1
				ip := netip.MustParseAddr(addrs[min(n, len(addrs)-1)]).As4()
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				answer = append(answer, ip[:]...)
				n++
			}
			if _, err := conn.WriteTo(answer, from); err != nil {
				return
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
}

// A name that led to a public address when it was checked, and leads to one of ours
// when the socket is opened, gets no connection: the socket's address is checked too.
func TestSocketOfARebindingName(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // a test on loopback
	if err != nil {
		t.Fatal(err)
	}
	var came atomic.Int32
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			_ = c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const public = "157.240.1.1"
	names := rebinding(t, public, "127.0.0.1")
	first, err := names.LookupNetIP(t.Context(), "ip4", "lookaside.test.")
	if err != nil || len(first) != 1 || first[0].String() != public || !Public(first[0]) {
		t.Fatalf("the first answer is %v, %v", first, err)
	}
	d := dialer(false)
	d.Resolver = names
	if c, err := d.DialContext(t.Context(), "tcp4", net.JoinHostPort("lookaside.test.", port)); !errors.Is(err, ErrForbidden) {
		t.Errorf("the second answer led to %v, %v", c, err)
	}
	own := dialer(true)
	own.Resolver = names
	c, err := own.DialContext(t.Context(), "tcp4", net.JoinHostPort("own.test.", port))
	if err != nil {
		t.Fatalf("the operator's own host: %v", err)
	}
	_ = c.Close()
	_ = l.Close()
	<-ended
	if n := came.Load(); n > 1 {
		t.Errorf("%d connections came, want the operator's own at most", n)
	}
}

// A fetch asks for a name once and dials what it checked: there is no second answer
// that could be another one. The next fetch asks anew and is refused.
func TestFetchAsksForANameOnce(t *testing.T) {
	t.Parallel()
	names := rebinding(t, "157.240.1.1", "127.0.0.1")
	asked := 0
	var dialled []string
	f := NewFetcher(FetchOptions{
		Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			asked++
			return names.LookupNetIP(ctx, "ip4", "lookaside.test.")
		},
		Connect: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, net.ErrClosed
		},
	})
	t.Cleanup(f.Close)
	if _, err := f.dial(t.Context(), "tcp", "lookaside.test:443"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("first: %v", err)
	}
	if _, err := f.dial(t.Context(), "tcp", "lookaside.test:443"); !errors.Is(err, ErrForbidden) {
		t.Errorf("second: %v", err)
	}
	if asked != 2 || !slices.Equal(dialled, []string{"157.240.1.1:443"}) {
		t.Errorf("asked %d times, dialled %v", asked, dialled)
	}
}
