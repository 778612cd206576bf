package main

import "sync"

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
	maxRunning  int // of all
}

type convWatch struct {
	last     int64
	inFlight int
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
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		c.inFlight--
		o.running--
		o.handled++
	}
}
