package egress

import (
	"net"
	"sync/atomic"
	"time"
)

// conn is a socket whose writes pass the guard of the call that holds it.
// HTTP/1.1 gives a connection to one call at a time. TLS sits above it, so what
// is counted are bytes on the wire.
type conn struct {
	net.Conn
	guard atomic.Pointer[guard]
	// check is set for a call that got the connection out of the pool: the
	// first write looks whether the peer has closed it meanwhile.
	check atomic.Bool
	// ended is set when reading met the end or an error.
	ended atomic.Bool
	tls   bool
}

// hold gives the connection to a call.
func (c *conn) hold(g *guard, reused, tls bool) {
	c.tls = tls
	c.check.Store(reused)
	c.guard.Store(g)
}

// free takes it back after a complete answer, so that the TLS layer can go on
// talking while the connection is idle.
func (c *conn) free(g *guard) { c.guard.CompareAndSwap(g, nil) }

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.ended.Store(true)
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	g := c.guard.Load()
	if g == nil {
		return c.Conn.Write(b)
	}
	if c.check.Swap(false) && (c.ended.Load() || closedByPeer(c.Conn, c.tls)) {
		// Nothing was written, so the transport may take another connection.
		return 0, errStale
	}
	if left, ok := g.left(); ok {
		if err := c.SetWriteDeadline(time.Now().Add(left)); err != nil {
			return 0, err
		}
		defer c.SetWriteDeadline(time.Time{}) //nolint:errcheck // a broken socket fails the next write anyway
	}
	if err := g.begin(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	g.wrote(n)
	return n, err
}

// unwrap finds our socket below TLS layers; nil when there is none.
func unwrap(c net.Conn) (ours *conn, tls bool) {
	for c != nil {
		switch t := c.(type) {
		case *conn:
			return t, tls
		case interface{ NetConn() net.Conn }:
			c, tls = t.NetConn(), true
		default:
			return nil, tls
		}
	}
	return nil, tls
}
