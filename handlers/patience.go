package handlers

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// patience gives callbacks the context that ends when the archive took too long.
// A context and a timer for each callback would cost as much as reading its
// body, so those that come within a fiftieth of the time share one, and the
// last of them gets that much less.
type patience struct {
	length time.Duration

	now atomic.Pointer[sharedContext]
	mu  sync.Mutex
}

type sharedContext struct {
	context.Context
	// cancel is kept and not called: others still wait with the context when the
	// next one takes its place, and it ends by itself.
	cancel context.CancelFunc
	until  time.Time // given out before this
}

// context returns a context that ends after length, at the earliest after 49
// fiftieths of it. It ends by itself; nobody cancels it.
func (p *patience) context() context.Context {
	if c := p.now.Load(); c != nil && time.Now().Before(c.until) {
		return c
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now() // a timer's clock, so the machine's
	if c := p.now.Load(); c != nil && at.Before(c.until) {
		return c
	}
	ctx, cancel := context.WithDeadline(context.Background(), at.Add(p.length)) //nolint:gosec // see sharedContext
	c := &sharedContext{ctx, cancel, at.Add(p.length / 50)}
	p.now.Store(c)
	return c
}
