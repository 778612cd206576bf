package sqlite

import (
	"context"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// pool lends connections that read. Whoever took one gives it back soon: an
// open snapshot keeps the log from starting over.
type pool struct {
	idle   chan *conn
	closed chan struct{}
	size   int
}

func openPool(path string, size int) (*pool, error) {
	p := &pool{idle: make(chan *conn, size), closed: make(chan struct{}), size: size}
	for range size {
		c, err := openConn(path, "busy_timeout(5000)", "query_only(1)", "cache_size(-8192)", "temp_store(MEMORY)")
		if err != nil {
			p.size = len(p.idle)
			p.close()
			return nil, err
		}
		p.idle <- c
	}
	return p, nil
}

// read runs f on a connection in one snapshot. It returns ctx's error when ctx
// ends before a connection is free.
func (p *pool) read(ctx context.Context, f func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-p.closed:
		return fmt.Errorf("the store is closed: %w", gateway.ErrUnavailable)
	default:
	}
	select {
	case c := <-p.idle:
		defer func() { p.idle <- c }()
		return outward(f(c))
	case <-p.closed:
		return fmt.Errorf("the store is closed: %w", gateway.ErrUnavailable)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// snapshot runs f like read, with all its statements in one transaction.
func (p *pool) snapshot(ctx context.Context, f func(c *conn) error) error {
	return p.read(ctx, func(c *conn) error {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		if _, cerr := c.exec("COMMIT"); err == nil {
			err = cerr
		}
		return err
	})
}

// close waits for the reads under way and closes the connections. Called once.
func (p *pool) close() {
	close(p.closed)
	for range p.size {
		_ = (<-p.idle).close()
	}
}

func cachePragma(kib int) string { return fmt.Sprintf("cache_size(-%d)", kib) }
