package worker

import (
	"sync"
	"time"
)

// guard sees that this process stood still (stopped, swapped out, suspended): a
// message that was handed out before such a gap may be with another worker by
// now. It is asked before every start, and told the time regularly.
//
// The bounds together: a message starts at most AckWait/4 after it was handed
// out, and is acknowledged at most 3/4 AckWait after the broker last confirmed
// the worker's claim. The sum is AckWait.
type guard struct {
	now func() time.Time

	mu    sync.Mutex
	limit time.Duration
	last  time.Time
	epoch int // grows with every gap
}

func newGuard(now func() time.Time, ackWait time.Duration) *guard {
	return &guard{now: now, limit: ackWait / 4, last: now()}
}

// set takes a changed AckWait.
func (g *guard) set(ackWait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = ackWait / 4
}

// tick is called several times per limit; true means that there was a gap.
func (g *guard) tick() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	gap := elapsed(g.last, now) > g.limit
	g.last = now
	if gap {
		g.epoch++
	}
	return gap
}

// current is the epoch in which something is fetched.
func (g *guard) current() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.epoch
}

// fresh says that what was fetched in epoch may start now: there was no gap
// since, and there is none that tick has not seen yet.
func (g *guard) fresh(epoch int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return epoch == g.epoch && elapsed(g.last, g.now()) <= g.limit
}

// elapsed is the longer of the monotonic and the wall clock: the first stands
// still while a machine is suspended, the second may be set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
