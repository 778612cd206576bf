package gate

// Stats are the gate's own numbers.
type Stats struct {
	Places  int // conversations with something pending
	Open    int // offers in the stream
	Ready   int
	Waiting int // retries and places not free yet
	// Collecting are those of Waiting whose bundle may still grow.
	Collecting int
	Behind     int // wait for a conversation that was merged into theirs
	Held       int // of accounts and conversations that are stopped
	Paused     bool
	Tripped    bool
	// Retrying and Blocked are conversations whose head has failed before, and whose
	// tries are spent.
	Retrying int
	Blocked  int
	// Oldest is the smallest N that waits, 0 for none. Heads read late at the start
	// are not among them yet.
	Oldest int64
}

// stats walks once over the conversations that wait, as the net does every tick.
func (g *Gate) stats() Stats {
	s := Stats{Places: len(g.places), Open: len(g.opened), Ready: g.ready.Len(), Waiting: g.later.Len(), Paused: g.paused, Tripped: g.breaker.tripped()}
	older := func(n int64) {
		if s.Oldest == 0 || n < s.Oldest {
			s.Oldest = n
		}
	}
	for _, p := range g.places {
		switch p.state {
		case placeBehind:
			s.Behind++
		case placeHeld:
			s.Held++
		case placeReady, placeWaiting, placeOpen:
		}
		if p.collecting {
			s.Collecting++
		}
		if !p.head.Blocked.IsZero() {
			s.Blocked++
		}
		if p.head.Tries > 0 {
			s.Retrying++
		}
		older(p.head.N)
		if p.next != nil { // of a requeued event, while a newer one is open
			older(p.next.N)
		}
	}
	return s
}
