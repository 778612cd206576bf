package gate

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

const (
	// fewerTicks is how many looks in a row must see fewer messages than open
	// offers before subjects are listed: acks and answers cross each other all
	// the time.
	fewerTicks = 5
	// adoptAfter is how many refusals in a row make the gate ask what holds the
	// conversation's place (about a quarter of a second).
	adoptAfter = 8
	caughtWait = 10 * time.Second
	// lateGrace is how long after its deadline an offer that nobody answered is
	// buried: what was answered in time is taken in by then.
	lateGrace = 2 * time.Second
)

// look is the net, once a tick: it compares what the broker has with what the
// gate believes, and mends the difference.
func (g *Gate) look(ctx context.Context) {
	g.forget()
	state, err := g.o.Stream.GateState(ctx, g.o.App.Name)
	if err != nil {
		return // the broker is away; offers say so in the log
	}
	if g.out.hold || state.Paused != g.paused {
		g.out.hold = g.o.Stream.Hold(ctx, g.o.App.Name, g.paused) != nil
	}
	if g.newLife(&state) {
		g.void()
		g.life = state
		return
	}
	g.repay(ctx)
	g.keep(ctx)
	if g.unfinished || !g.begun && g.count(placeHeld) > 0 { // an earlier life may have left offers
		g.recall(ctx)
	}
	g.begun = true
	g.alive = state.Pulls > 0 || state.Delivered > g.life.Delivered
	g.watch(ctx, &state)
	g.expire(ctx)
	g.life = state
	if int(state.Messages) < len(g.opened) {
		g.fewer++
	} else {
		g.fewer = 0
	}
	if g.fewer < fewerTicks && !g.refused() && !g.taken(&state) {
		return
	}
	open, err := g.o.Stream.OpenOffers(ctx, g.o.App.Name)
	if err != nil {
		return
	}
	byConv := make(map[string]*gateway.OpenOffer, len(open))
	for i := range open {
		byConv[open[i].Conv] = &open[i]
	}
	g.adopt(ctx, byConv, &state)
	g.orphans(ctx, byConv)
	g.fewer = 0
	g.silent(ctx, byConv)
}

// taken counts, for every open offer, the looks at which the broker took it for
// acked, and says whether some was often enough: its answer is missing, or the
// broker is wrong about it.
func (g *Gate) taken(s *gateway.GateState) bool {
	found := false
	for p := range g.opened {
		if p.seq > s.AckFloor {
			continue
		}
		p.acked++
		found = found || p.acked >= fewerTicks
	}
	return found
}

// orphans finds offers that lie in the stream and that the broker takes for
// acked: no worker will ever see them, unless the consumer is made anew. That
// happens when a stream lost its end on a full disk and its consumer did not.
func (g *Gate) orphans(ctx context.Context, open map[string]*gateway.OpenOffer) {
	for p := range g.opened {
		o := open[p.conv]
		if p.acked < fewerTicks || o == nil || o.Seq != p.seq {
			continue
		}
		if err := g.o.Stream.Revive(ctx, g.o.App.Name); err != nil {
			g.o.Log.Warn("gate.revive_failed", zap.String("app", g.o.App.Name), zap.Error(err))
			return
		}
		for q := range g.opened {
			q.acked = 0
		}
		return
	}
}

// newLife says whether the stream was made anew or lost its end. A bare
// sequence proves nothing.
func (g *Gate) newLife(s *gateway.GateState) bool {
	return !g.life.Created.IsZero() && !s.Created.Equal(g.life.Created) || s.LastSeq < g.highest
}

// void forgets every offer and offers every head again, under the same ids: the
// new stream has never seen them.
func (g *Gate) void() {
	g.o.Log.Warn("gate.new_life", zap.String("app", g.o.App.Name), zap.Int("offers", len(g.opened)))
	g.highest, g.fewer, g.owed = 0, 0, nil
	for p := range g.opened {
		g.replace(p, p.head)
	}
}

// refused says whether some place was refused so often that it is time to ask
// who holds it.
func (g *Gate) refused() bool {
	for _, p := range g.later.heaped {
		if p.closed >= adoptAfter {
			return true
		}
	}
	return false
}

// adopt looks at who holds the place of a conversation that is refused again and
// again. It is our own offer from before a restart, which the broker does not
// recognise by id any more; or one that was answered long ago and that the broker
// takes for acked but did not delete, because its disk was full: nobody will ever
// be handed it, so it goes. Or it is an offer whose event the gate buried, dying
// before it took the offer away: if its worker hangs, no ack will ever free the
// place, so the watchdog's time is its bound too.
func (g *Gate) adopt(ctx context.Context, open map[string]*gateway.OpenOffer, s *gateway.GateState) {
	limit := g.o.App.HandlerMax + g.o.App.AckWait
	for conv, o := range open {
		p := g.places[conv]
		if p == nil || p.state != placeWaiting || p.closed == 0 {
			continue
		}
		switch {
		case g.own(p, o):
			g.regain(p, o)
		case p.closed < adoptAfter:
		case o.Seq <= s.AckFloor:
			g.withdraw(ctx, o.Seq)
		case g.alive && o.Seq <= s.Delivered && limit > 0:
			if p.running += g.o.Tick; p.running > limit {
				g.withdraw(ctx, o.Seq)
				p.running = 0
			}
		}
	}
}

// silent finds offers that left the stream without an answer: each is a try.
func (g *Gate) silent(ctx context.Context, open map[string]*gateway.OpenOffer) {
	type gone struct {
		p   *place
		seq uint64
	}
	var missing []gone
	for p := range g.opened {
		if open[p.conv] == nil {
			missing = append(missing, gone{p, p.seq})
		}
	}
	if len(missing) == 0 {
		return
	}
	wait, cancel := context.WithTimeout(ctx, caughtWait)
	defer cancel()
	if err := g.o.Intake.Caught(wait); err != nil {
		return // answers are on the way; look again later
	}
	g.take()
	for _, m := range missing {
		if g.places[m.p.conv] == m.p && m.p.state == placeOpen && m.p.seq == m.seq {
			g.resolve(ctx, m.p, g.spared(m.p, gateway.DecideSilent(g.app(m.p), &m.p.head, g.o.Now())))
		}
	}
}

// app is the application as it stands to the event offered last.
func (g *Gate) app(p *place) *gateway.Application {
	if p.deadline.IsZero() {
		return &g.o.App
	}
	return g.o.App.Once()
}

// watch adds up how long each open offer has been with a worker and takes it
// away after the longest time allowed. The clock runs only while the
// application is alive: a worker waits for work or work is handed out.
func (g *Gate) watch(ctx context.Context, s *gateway.GateState) {
	if !g.alive {
		return
	}
	limit := g.o.App.HandlerMax + g.o.App.AckWait
	var over []*place
	for p := range g.opened {
		if p.seq > s.Delivered {
			continue
		}
		if p.running += g.o.Tick; limit > 0 && p.running > limit {
			over = append(over, p)
		}
	}
	for _, p := range over {
		g.end(ctx, p, g.spared(p, gateway.GiveUp(g.app(p), &p.head, p.head.Tries+1, gateway.ReasonWatchdog,
			"a handler ran longer than handler_max + ack_wait", g.o.Now())))
	}
}

// expire ends the offers whose deadline passed without an answer, also where no
// worker came: that nobody was greeted is said then, and not when one comes.
func (g *Gate) expire(ctx context.Context) {
	now := g.o.Now()
	var over []*place
	for p := range g.opened {
		if !p.deadline.IsZero() && now.Sub(p.deadline) > lateGrace {
			over = append(over, p)
		}
	}
	for _, p := range over {
		g.end(ctx, p, gateway.TooLate(p.head.Tries+1))
	}
}

// end carries out a decision about an open offer and takes the offer away.
func (g *Gate) end(ctx context.Context, p *place, d gateway.Decision) {
	seq := p.seq
	if g.resolve(ctx, p, d) {
		g.withdraw(ctx, seq)
	}
}

// giveUp takes the broker's word that it will not hand an offer out any more. Each
// word is answered when its event is buried and its offer withdrawn, so that it
// comes again when we die before.
func (g *Gate) giveUp(ctx context.Context) {
	list := g.out.exhausted
	g.out.exhausted = nil
	for _, e := range list {
		e.done <- g.giveUpOne(ctx, &e.Exhausted)
	}
}

func (g *Gate) giveUpOne(ctx context.Context, e *gateway.Exhausted) error {
	p, there, err := g.holder(ctx, e.Seq)
	if err != nil || !there {
		return err
	}
	if p != nil && !g.resolve(ctx, p, g.spared(p, gateway.GiveUp(g.app(p), &p.head, p.head.Tries+e.Deliveries, gateway.ReasonSilent,
		"every delivery ended without a word", g.o.Now()))) {
		return fmt.Errorf("not buried: %w", gateway.ErrUnavailable)
	}
	g.withdraw(ctx, e.Seq)
	return nil
}

// holder finds the place whose head is the offer with this sequence; nil when the
// offer is of an event that is settled or buried. After a restart the place may
// not have come to offering its head, which the broker has from before.
func (g *Gate) holder(ctx context.Context, seq uint64) (p *place, there bool, err error) {
	for p := range g.opened {
		if p.seq == seq {
			return p, true, nil
		}
	}
	open, err := g.o.Stream.OpenOffers(ctx, g.o.App.Name)
	if err != nil {
		return nil, false, err
	}
	for i := range open {
		if open[i].Seq != seq {
			continue
		}
		p := g.places[open[i].Conv]
		if p == nil || p.state == placeOpen || !g.own(p, &open[i]) {
			return nil, true, nil
		}
		g.regain(p, &open[i])
		return p, true, nil
	}
	return nil, false, nil
}

// own says that an offer is the one of the place's head.
func (g *Gate) own(p *place, o *gateway.OpenOffer) bool {
	return o.Delivery == p.head.Delivery() && o.Round == p.head.Round
}

// regain files a place whose offer was found in the stream.
func (g *Gate) regain(p *place, o *gateway.OpenOffer) {
	g.leave(p)
	p.state, p.seq, p.closed, p.running, p.bundle = placeOpen, o.Seq, 0, 0, nil
	g.opened[p] = struct{}{}
	g.highest = max(g.highest, o.Seq)
}

// withdraw deletes an offer whose event is settled or buried, after the commit.
// What the broker does not delete now is owed.
func (g *Gate) withdraw(ctx context.Context, seq uint64) {
	if err := g.o.Stream.Withdraw(ctx, g.o.App.Name, seq); err != nil {
		if ctx.Err() == nil {
			g.o.Log.Warn("gate.withdraw_failed", zap.String("app", g.o.App.Name), zap.Uint64("seq", seq), zap.Error(err))
		}
		g.owed = append(g.owed, seq)
		return
	}
	g.o.Boundary("gate.withdrawn")
}

// repay tries again what the broker did not delete.
func (g *Gate) repay(ctx context.Context) {
	list := g.owed
	g.owed = nil
	for _, seq := range list {
		g.withdraw(ctx, seq)
	}
}
