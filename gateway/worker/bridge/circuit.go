package bridge

import (
	"context"
	"sync"
	"time"
)

// fault is what a call tells of the endpoint as a whole.
type fault uint8

const (
	works fault = iota // it gave a sensible response
	fails              // it gave none; the event may be the reason
	away               // it was not reached; no event can be the reason
)

const (
	circuitCalls = 10 // failed calls in a row that open it
	circuitConvs = 5  // and of how many conversations at least
	circuitFirst = time.Second
	circuitMost  = 30 * time.Second
)

// circuit decides whether a call may be made. Its methods are safe for concurrent
// use.
type circuit struct {
	now     func() time.Time
	changed func(open bool, why string, wait time.Duration) // told under the lock; quick

	mu      sync.Mutex
	open    bool
	probing bool          // one call is out to see whether it works again
	until   time.Time     // the next probe not before
	wait    time.Duration // the one before until
	since   time.Time
	why     string
	failed  []string      // conversations of the last calls, all failed
	moved   chan struct{} // closed and made anew with every change
}

func newCircuit(now func() time.Time, changed func(bool, string, time.Duration)) *circuit {
	return &circuit{now: now, changed: changed, since: now(), moved: make(chan struct{})}
}

// enter waits until a call may be made; false when ctx or stop ended before. Every
// true is followed by leave or release.
func (c *circuit) enter(ctx context.Context, stop <-chan struct{}) (probe, ok bool) {
	for {
		c.mu.Lock()
		now := c.now()
		switch {
		case !c.open:
			c.mu.Unlock()
			return false, true
		case !c.probing && !now.Before(c.until):
			c.probing = true
			c.mu.Unlock()
			return true, true
		}
		moved, left := c.moved, time.Duration(1<<62)
		if !c.probing {
			left = c.until.Sub(now)
		}
		c.mu.Unlock()
		if !sleep(ctx, stop, moved, left) {
			return false, false
		}
	}
}

// sleep waits for a change, at most so long; false when ctx or stop ended.
func sleep(ctx context.Context, stop, moved <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-moved:
		return true
	case <-timer.C:
		return true
	case <-stop:
	case <-ctx.Done():
	}
	return false
}

// leave takes what a call told; true when its failure is the event's, who then
// spends a try: the endpoint was thought to work.
func (c *circuit) leave(probe bool, conv string, f fault, why string) (spends bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open && !probe:
		return false // begun before it opened; the probe decides
	case c.open && f == works:
		c.open, c.probing, c.why, c.since, c.failed, c.wait = false, false, "", c.now(), nil, 0
		c.changed(false, "", 0)
		c.move()
	case c.open:
		c.trip(min(2*c.wait, circuitMost), why)
	case f == works:
		c.failed = c.failed[:0]
	case f == away:
		c.trip(circuitFirst, why)
	default:
		if c.failed = append(c.failed, conv); len(c.failed) > circuitCalls {
			c.failed = c.failed[1:]
		}
		if len(c.failed) == circuitCalls && distinct(c.failed) >= circuitConvs {
			c.trip(circuitFirst, why)
		}
		return true
	}
	return false
}

// release gives a probe back that came to nothing: the call was not made.
func (c *circuit) release(probe bool) {
	if !probe {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
	c.move()
}

// trip opens it, or keeps it open; mu is held.
func (c *circuit) trip(wait time.Duration, why string) {
	if !c.open {
		c.since = c.now()
	}
	c.open, c.probing, c.wait, c.why = true, false, wait, why
	c.until = c.now().Add(wait)
	c.changed(true, why, wait)
	c.move()
}

func (c *circuit) move() {
	close(c.moved)
	c.moved = make(chan struct{})
}

func distinct(list []string) int {
	seen := map[string]bool{}
	for _, s := range list {
		seen[s] = true
	}
	return len(seen)
}

// The words of State.Circuit.
const (
	CircuitClosed   = "closed"
	CircuitOpen     = "open"
	CircuitHalfOpen = "half-open" // a probe is out
)

func (c *circuit) state() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{Circuit: CircuitClosed, Since: c.since, Why: c.why}
	switch {
	case c.probing:
		s.Circuit = CircuitHalfOpen
	case c.open:
		s.Circuit, s.NextProbe = CircuitOpen, c.until
	}
	return s
}
