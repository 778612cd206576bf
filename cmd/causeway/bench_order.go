package main

import (
	"sync"
	"time"
)

// orderWatch sees every event a handler gets and counts what must not happen: a
// seq that is not the one after the last of its conversation, and two handlers of
// one conversation at once. Safe for concurrent use.
type orderWatch struct {
	mu    sync.Mutex
	convs map[string]*convWatch

	handled     int
	violations  int
	maxInFlight int // of one conversation
	running     int
	maxRunning  int           // of all
	took        time.Duration // all handlers together
}

type convWatch struct {
	last     int64
	inFlight int
	took     time.Duration
}

func newOrderWatch() *orderWatch { return &orderWatch{convs: map[string]*convWatch{}} }

// begin notes that a handler got an event; the function it returns, that it is
// done.
func (o *orderWatch) begin(conv string, seq int64) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.convs[conv]
	if c == nil {
		c = &convWatch{}
		o.convs[conv] = c
	}
	if seq != c.last+1 {
		o.violations++
	}
	c.last = seq
	c.inFlight++
	o.maxInFlight = max(o.maxInFlight, c.inFlight)
	o.running++
	o.maxRunning = max(o.maxRunning, o.running)
	began := time.Now()
	return func() {
		took := time.Since(began)
		o.mu.Lock()
		defer o.mu.Unlock()
		c.took += took
		o.took += took
		c.inFlight--
		o.running--
		o.handled++
	}
}

// ideal is how long the same handlers would have taken with nothing between them: as
// many at once as slots and conversations allow, and those of a conversation in turn.
func (o *orderWatch) ideal(slots int) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.handled == 0 {
		return 0
	}
	out := o.took / time.Duration(min(len(o.convs), slots))
	for _, c := range o.convs {
		out = max(out, c.took)
	}
	return out
}

// mean is how long a handler took on average.
func (o *orderWatch) mean() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.took / time.Duration(max(o.handled, 1))
}
