package gate

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// mailbox takes what others hand to the gate without ever blocking them; the
// gate's goroutine empties it. Its size is bounded by what the ledger commits
// between two rounds of the gate.
type mailbox struct {
	signal chan struct{}
	mu     sync.Mutex
	open   bool // before Run, rows are dropped: Run reads every head anyway
	letter letters
}

type letters struct {
	added     []gateway.Pending
	settled   []gateway.Settled
	exhausted []exhausted
	merged    []gateway.Merge
	pause     *bool
	braked    bool
	waiters   []chan Stats
	seekers   []seeker
}

// exhausted is the broker's word about an offer, and who waits for what becomes
// of it.
type exhausted struct {
	gateway.Exhausted
	done chan error
}

// seeker asks what of a conversation is out.
type seeker struct {
	conv string
	to   chan *gateway.ConversationOffer
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1)} }

func (m *mailbox) put(f func(*letters)) {
	m.mu.Lock()
	f(&m.letter)
	if !m.open {
		for _, e := range m.letter.exhausted {
			e.done <- gateway.ErrUnavailable
		}
		m.letter.added, m.letter.settled, m.letter.exhausted, m.letter.merged = nil, nil, nil, nil
	}
	m.mu.Unlock()
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

// unlock begins to keep what comes in; what was committed before is in the
// ledger for Run to read.
func (m *mailbox) unlock() {
	m.mu.Lock()
	m.open = true
	m.mu.Unlock()
}

// Added hands in new pending rows, after their commit, in order.
func (g *Gate) Added(rows []gateway.Pending) {
	g.in.put(func(l *letters) {
		for i := range rows {
			if rows[i].App == g.o.App.Name {
				l.added = append(l.added, rows[i])
			}
		}
	})
}

// Settled hands in what answers did, after their commit, in order.
func (g *Gate) Settled(s []gateway.Settled) {
	g.in.put(func(l *letters) {
		for i := range s {
			if s[i].App == g.o.App.Name && !s[i].Late {
				l.settled = append(l.settled, s[i])
			}
		}
	})
}

// Merged hands in conversations that became part of another one and have
// something left, after the commit and no later than rows committed with it.
func (g *Gate) Merged(merges []gateway.Merge) {
	g.in.put(func(l *letters) { l.merged = append(l.merged, merges...) })
}

// Exhausted hands in the broker's word that it gave up on an offer, and returns
// when the event is buried and the offer withdrawn. Errors: gateway.ErrUnavailable
// when the gate does not run yet, or ledger or broker did not take it: hand it in
// again; that of ctx.
func (g *Gate) Exhausted(ctx context.Context, e gateway.Exhausted) error {
	done := make(chan error, 1)
	g.in.put(func(l *letters) { l.exhausted = append(l.exhausted, exhausted{e, done}) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pause stops offers and holds those in the stream; false lets go.
func (g *Gate) Pause(on bool) { g.in.put(func(l *letters) { l.pause = &on }) }

// Braked says that what Options.Stopped says has changed.
func (g *Gate) Braked() { g.in.put(func(l *letters) { l.braked = true }) }

// Stats asks the gate's goroutine for its numbers; the channel gets one value
// when the gate runs, and none when it does not.
func (g *Gate) Stats() <-chan Stats {
	c := make(chan Stats, 1)
	g.in.put(func(l *letters) { l.waiters = append(l.waiters, c) })
	return c
}

// Offer asks the gate's goroutine what of a conversation is out with the application.
// The channel gets one value when the gate runs, nil for nothing, and none when it does
// not. Whether a worker has it is as of the last tick.
func (g *Gate) Offer(conv string) <-chan *gateway.ConversationOffer {
	c := make(chan *gateway.ConversationOffer, 1)
	g.in.put(func(l *letters) { l.seekers = append(l.seekers, seeker{conv, c}) })
	return c
}

// take empties the mailbox. Added goes first: a row that was committed before a
// settlement must be known when the settlement says that nothing is left.
func (g *Gate) take() {
	g.in.mu.Lock()
	l := g.in.letter
	g.in.letter = letters{}
	g.in.mu.Unlock()
	g.merged(l.merged)
	for i := range l.added {
		g.added(&l.added[i])
	}
	for i := range l.settled {
		g.settled(&l.settled[i])
	}
	g.out.exhausted = append(g.out.exhausted, l.exhausted...)
	if l.pause != nil {
		g.paused = *l.pause
		g.out.hold = true
	}
	if l.braked {
		g.braked()
	}
	for _, c := range l.waiters {
		c <- g.stats()
	}
	for _, s := range l.seekers {
		var out *gateway.ConversationOffer
		if p := g.places[s.conv]; p != nil && p.state == placeOpen {
			out = &gateway.ConversationOffer{App: g.o.App.Name, Delivery: p.head.Delivery(), Round: p.head.Round, With: p.seq <= g.life.Delivered}
		}
		s.to <- out
	}
}

// outgoing is what the gate owes the broker and the log.
type outgoing struct {
	exhausted []exhausted
	hold      bool
	recall    bool
	fails     int
	last      error
}

func (o *outgoing) failed(r *gateway.Offered) {
	o.fails++
	o.last = r.Err
}

// log writes one line for all failures of a batch.
func (o *outgoing) log(log *zap.Logger, app string) {
	if o.fails > 0 {
		log.Warn("gate.offer_failed", zap.String("app", app), zap.Int("offers", o.fails), zap.Error(o.last))
		o.fails, o.last = 0, nil
	}
}
