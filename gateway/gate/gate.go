package gate

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Ledger is what the gate reads of the ledger, and the one thing it writes.
type Ledger interface {
	Heads(ctx context.Context, app, afterConv string, limit int) ([]gateway.Pending, error)
	Events(ctx context.Context, ns []int64) (map[int64]*gateway.EventRow, error)
	Resolve(ctx context.Context, p gateway.Pending, d gateway.Decision, now time.Time) (gateway.Settled, error)
	// Merges lists who waits for whom: conversations that became part of another
	// one and have something left.
	Merges(ctx context.Context) ([]gateway.Merge, error)
	Waiting
}

// Waiting is what the gate writes when events wait although they could be offered.
type Waiting interface {
	// Collect says what is offered together with heads, and writes it down.
	Collect(ctx context.Context, heads []gateway.Pending, rule gateway.Collect, now time.Time) ([]gateway.Bundle, error)
	// Reround gives rows that are still pending in their round the next one.
	Reround(ctx context.Context, rows []gateway.Pending) ([]gateway.Pending, error)
	// SetBreaker keeps that the application is tripped, or with a zero Since that
	// it is not.
	SetBreaker(ctx context.Context, b gateway.Breaker) error
}

// Stream is the broker's side of the gate.
type Stream interface {
	Offer(ctx context.Context, app string, offers []gateway.Offer) []gateway.Offered
	GateState(ctx context.Context, app string) (gateway.GateState, error)
	OpenOffers(ctx context.Context, app string) ([]gateway.OpenOffer, error)
	Withdraw(ctx context.Context, app string, seq uint64) error
	// Control holds and lets go of what is in the stream, and makes the
	// consumer anew when it does not hand out what is there.
	Control
}

// Control is what the gate does to the application's consumer.
type Control interface {
	Hold(ctx context.Context, app string, paused bool) error
	Revive(ctx context.Context, app string) error
}

// Intake tells how far the answers are taken, so that an offer that left the
// stream is not called silent while its answer is on the way.
type Intake interface {
	// Caught waits until every answer that was in the stream at the call is
	// taken and its outcome was handed to the gate.
	Caught(ctx context.Context) error
}

// Options of a Gate; all required but Boundary, Breaker, Resolved, Rest, Stopped,
// Taken and Tick.
type Options struct {
	App    gateway.Application
	Ledger Ledger
	Stream Stream
	Intake Intake
	// Resolved is told what the gate itself decided (dead letters, retries).
	Resolved func(gateway.Settled)
	Boundary func(step string)
	// Rest says how long to rest after a batch of offers, which is small then: what
	// follows from an offer wants the cores that callbacks wait for. Nil: never.
	Rest func() time.Duration
	// Stopped says that nothing of an account or conversation is offered; Braked is
	// to be called when that has changed. Nil: nothing is stopped.
	Stopped func(account, conv string) bool
	// Taken says which conversations a colleague has, for an application that wants no
	// events of those; Braked is to be called when there are more. Nil: it wants them.
	Taken func(ctx context.Context, convs []string) (map[string]bool, error)
	// Breaker is how the one before left it.
	Breaker gateway.Breaker
	// Tick is how often the net looks; 0 means a second.
	Tick time.Duration
	Now  func() time.Time
	Log  *zap.Logger
}

// keepRows is up to how many conversations events are kept in memory for, when
// they came along with their rows; beyond it they are read when their turn comes.
const keepRows = 10_000

// How many offers are in flight to the broker at once.
const (
	offerBatch = 256
	tinyBatch  = 4 // while callbacks go first
)

// Gate is the stage for one application.
type Gate struct {
	o   Options
	in  *mailbox
	out outgoing

	// Owned by Run.
	places  map[string]*place
	kin     kin
	ready   queued
	window  window
	later   timers
	opened  map[*place]struct{} // places whose offer is in the stream; what looks at them often does not pass by those that wait
	paused  bool
	life    gateway.GateState
	highest uint64
	breaker breaker
	// unfinished: what may not be handed out could not be taken back yet.
	unfinished bool
	begun      bool // the net looked once
	fewer      int  // ticks in a row with fewer messages than open offers
	// alive: at the last look a worker waited for work or work was handed out.
	alive bool
	owed  []uint64 // offers to be withdrawn that the broker did not delete

	down atomic.Bool // breaker.tripped, for others
}

// place is a conversation that has something pending.
type place struct {
	conv  string
	head  gateway.Pending
	next  *gateway.Pending // smallest row known behind the head
	state placeState
	seq   uint64 // of the open offer
	// closed counts refusals in a row: the offer before is not acked yet.
	closed int
	// acked counts looks at which the broker took the open offer for acked.
	acked int
	// running is how long the offer that holds the conversation's place has been
	// with a worker; it counts only while the application is alive.
	running time.Duration
	due     time.Time // in the timers
	account string    // of the event offered last; "" before
	// failedAt is 1 + how many tries of the application had succeeded when the head
	// failed first; 0 when it did not.
	failedAt int
	// deadline of the event offered last; see gateway.EventRow.
	deadline time.Time
	urgent   bool // it has one; in the queue
	index    int  // in the queue or the timers

	// Of applications that collect. behind and newest are how many live rows came
	// behind the head, and when the last one did; ask: there may be others, or one that
	// cannot be part of the bundle.
	behind     int
	newest     time.Time
	ask        bool
	collecting bool // in the timers because more may come
	// bundle is what the head is offered with, until the broker has it; members are
	// the N of its rows but the head.
	bundle  []gateway.Pending
	members []int64
	// unsure: the head may be settled already, so the ledger is asked.
	unsure bool
}

type placeState uint8

const (
	placeReady   placeState = iota // in the ready queue
	placeWaiting                   // in the timers
	placeOpen                      // its offer is in the stream
	placeBehind                    // in nothing: a conversation merged into it goes first
	placeHeld                      // in nothing: its account or conversation is stopped
)

// New makes a gate; it does nothing before Run.
func New(o Options) *Gate {
	if o.Tick <= 0 {
		o.Tick = time.Second
	}
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	if o.Rest == nil {
		o.Rest = func() time.Duration { return 0 }
	}
	if o.Resolved == nil {
		o.Resolved = func(gateway.Settled) {}
	}
	if o.Stopped == nil {
		o.Stopped = func(string, string) bool { return false }
	}
	g := &Gate{o: o, in: newMailbox(), places: map[string]*place{}, opened: map[*place]struct{}{}, kin: newKin(), breaker: breaker{Breaker: o.Breaker}}
	g.down.Store(g.breaker.tripped())
	g.out.recall = o.Taken != nil // what was offered before a takeover that we did not live to hear of
	return g
}

// Run offers until ctx ends. Callers hand in rows with Added and Settled before
// and while it runs.
func (g *Gate) Run(ctx context.Context) error {
	if err := g.o.Intake.Caught(ctx); err != nil {
		return err
	}
	g.in.unlock()
	heads := page{more: true}
	tick := time.NewTicker(g.o.Tick)
	defer tick.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		g.take()
		g.keep(ctx)
		if heads.more {
			if err := g.load(ctx, &heads); err != nil {
				return err
			}
			if heads.more && len(g.kin.into) > 0 {
				continue // who waits for whom is known when all heads are
			}
		}
		if !heads.more { // what is not read yet would seem to be nobody's
			if g.out.recall {
				g.out.recall = false
				g.recall(ctx)
			}
			g.giveUp(ctx)
		}
		g.wakeDue(g.o.Now())
		room, wait := 0, time.Hour
		if g.mayOffer() && g.ready.Len() > 0 {
			room, wait = g.room(ctx)
		}
		if room > 0 {
			g.round(ctx, room)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			select { // the net must look even when offers never cease
			case <-tick.C:
				if !heads.more {
					g.look(ctx)
				}
			default:
			}
			continue
		}
		if heads.more {
			continue
		}
		wait = min(wait, g.later.wait(g.o.Now()))
		if probe := g.probeWait(); probe > 0 && g.ready.Len() > 0 {
			wait = min(wait, probe)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-g.in.signal:
		case <-timer.C:
		case <-tick.C:
			g.look(ctx)
		}
	}
}

// round makes the next offers, for which there is room, and rests where that is due.
func (g *Gate) round(ctx context.Context, room int) {
	rest, most := g.o.Rest(), min(room, offerBatch)
	if rest > 0 {
		most = min(most, tinyBatch)
	}
	var batch []*place
	if g.breaker.tripped() {
		batch = g.probe()
	} else {
		batch = g.next(most)
	}
	if wait := max(g.offer(ctx, batch), rest); wait > 0 {
		g.rest(ctx, wait)
	}
}

// rest waits after a failed offer, but goes on taking in what arrives.
func (g *Gate) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// page is how far the heads are read that were there when Run began.
type page struct {
	after string
	more  bool
}

// load reads the next page of heads: between two pages some are offered. A page is
// read after the mailbox was emptied, so it knows all that the mailbox told; what it tells beyond that comes by the mailbox as well.
func (g *Gate) load(ctx context.Context, next *page) error {
	const rows = 1000
	for {
		heads, err := g.heads(ctx, next.after, rows)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			g.o.Log.Error("gate.failed", zap.String("app", g.o.App.Name), zap.Error(err))
			g.rest(ctx, 200*time.Millisecond)
			continue
		}
		for i := range heads {
			g.enter(&heads[i], true)
		}
		if next.more = len(heads) == rows; next.more {
			next.after = heads[rows-1].Conv
		}
		return nil
	}
}

// heads reads a page of heads, before the first of them who waits for whom.
func (g *Gate) heads(ctx context.Context, after string, page int) ([]gateway.Pending, error) {
	if after == "" {
		merges, err := g.o.Ledger.Merges(ctx)
		if err != nil {
			return nil, err
		}
		g.merged(merges)
	}
	return g.o.Ledger.Heads(ctx, g.o.App.Name, after, page)
}

// offer sends a batch of heads taken out of the queue, and files each by the answer. It
// returns how long to wait before the next batch when the broker is in trouble.
func (g *Gate) offer(ctx context.Context, batch []*place) time.Duration {
	taken, err := g.read(ctx, batch)
	if err != nil {
		for _, p := range batch {
			g.queue(p)
		}
		if ctx.Err() == nil {
			g.o.Log.Error("gate.failed", zap.String("app", g.o.App.Name), zap.Error(err))
		}
		return 500 * time.Millisecond
	}
	offers := make([]gateway.Offer, 0, len(batch))
	places := make([]*place, 0, len(batch))
	var due []*place
	for _, p := range batch { // may be empty
		row := p.head.Row
		if row == nil { // gone from the ledger: its conversation was erased
			g.reset(p, nil)
			continue
		}
		if p.account = row.Account; g.o.Stopped(p.account, p.conv) {
			p.state, p.head.Row = placeHeld, nil
			continue
		}
		if g.colleagues(ctx, p, taken) {
			continue
		}
		if at := g.due(p); at.After(g.o.Now()) { // its event was not at hand before
			g.postpone(p, at)
			p.collecting = true
			continue
		}
		if p.head.Last == "" && g.stale(ctx, p, row) {
			continue
		}
		due = append(due, p)
	}
	due, wait := g.bundle(ctx, due)
	for _, p := range due {
		offers, places = append(offers, p.offerOf()), append(places, p)
	}
	g.o.Boundary("gate.offering")
	results := g.o.Stream.Offer(ctx, g.o.App.Name, offers)
	g.o.Boundary("gate.offered")
	for i, p := range places {
		if results[i].State == gateway.OfferTooLarge {
			g.tooLarge(ctx, p, results[i].Err)
			continue
		}
		wait = max(wait, g.file(p, &results[i]))
	}
	g.out.log(g.o.Log, g.o.App.Name)
	return wait
}

// read fills in the events that nobody had at hand, and says which conversations are
// not the application's now.
func (g *Gate) read(ctx context.Context, batch []*place) (map[string]bool, error) {
	taken, err := g.takenOf(ctx, len(batch), func(i int) string { return batch[i].conv })
	if err != nil {
		return nil, err
	}
	return taken, g.rows(ctx, batch)
}

func (g *Gate) rows(ctx context.Context, batch []*place) error {
	var ns []int64
	for _, p := range batch {
		if p.head.Row == nil {
			ns = append(ns, p.head.N)
		}
	}
	if len(ns) == 0 {
		return nil
	}
	rows, err := g.o.Ledger.Events(ctx, ns)
	if err != nil {
		return err
	}
	for _, p := range batch {
		if p.head.Row == nil {
			p.head.Row = rows[p.head.N]
		}
	}
	return nil
}

// file puts a place where its offer's answer says.
func (g *Gate) file(p *place, r *gateway.Offered) time.Duration {
	if r.State != gateway.OfferClosed { // that one is offered again very soon
		p.bundle = nil
	}
	switch r.State {
	case gateway.OfferTaken, gateway.OfferDuplicate:
		p.state, p.seq, p.closed, p.running, p.acked = placeOpen, r.Seq, 0, 0, 0
		p.head.Row = nil // the broker has it; a re-offer reads it again
		g.opened[p] = struct{}{}
		g.highest = max(g.highest, r.Seq)
		if g.breaker.tripped() {
			g.probed()
		}
		return 0
	case gateway.OfferClosed:
		// The offer before was answered and not acked yet; usually it is a
		// matter of a millisecond.
		p.closed++
		g.postpone(p, g.o.Now().Add(closedPause(p.closed)))
		return 0
	case gateway.OfferFull, gateway.OfferFailed, gateway.OfferTooLarge:
		g.out.failed(r)
		g.postpone(p, g.o.Now().Add(250*time.Millisecond))
		return 100 * time.Millisecond
	}
	g.postpone(p, g.o.Now().Add(time.Second))
	return 0
}

func closedPause(n int) time.Duration {
	return min(time.Millisecond<<min(n-1, 8), 250*time.Millisecond)
}
