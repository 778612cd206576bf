package gate

import (
	"context"
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
	g.giveUp(ctx)
	g.watch(ctx, &state)
	g.life = state
	if int(state.Messages) < g.open {
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
	g.adopt(ctx, byConv, state.AckFloor)
	g.orphans(ctx, byConv)
	g.fewer = 0
	g.silent(ctx, byConv)
}

// taken counts, for every open offer, the looks at which the broker took it for
// acked, and says whether some was often enough: its answer is missing, or the
// broker is wrong about it.
func (g *Gate) taken(s *gateway.GateState) bool {
	found := false
	for _, p := range g.places {
		if p.state != placeOpen || p.seq > s.AckFloor {
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
	for _, p := range g.places {
		o := open[p.conv]
		if p.state != placeOpen || p.acked < fewerTicks || o == nil || o.Seq != p.seq {
			continue
		}
		if err := g.o.Stream.Revive(ctx, g.o.App.Name); err != nil {
			g.o.Log.Warn("gate.revive_failed", zap.String("app", g.o.App.Name), zap.Error(err))
			return
		}
		for _, q := range g.places {
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
	g.o.Log.Warn("gate.new_life", zap.String("app", g.o.App.Name), zap.Int("offers", g.open))
	g.highest, g.fewer = 0, 0
	for _, p := range g.places {
		if p.state == placeOpen {
			g.replace(p, p.head)
		}
	}
}

// refused says whether some place was refused so often that it is time to ask
// who holds it.
func (g *Gate) refused() bool {
	for _, p := range g.later {
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
// be handed it, so it goes.
func (g *Gate) adopt(ctx context.Context, open map[string]*gateway.OpenOffer, floor uint64) {
	for _, p := range g.places {
		o := open[p.conv]
		if o == nil || p.state != placeWaiting || p.closed == 0 {
			continue
		}
		switch {
		case o.Delivery == p.head.Delivery() && o.Round == p.head.Round:
			g.leave(p)
			p.state, p.seq, p.closed = placeOpen, o.Seq, 0
			g.open++
			g.highest = max(g.highest, o.Seq)
		case o.Seq <= floor && p.closed >= adoptAfter:
			g.withdraw(ctx, o.Seq)
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
	for _, p := range g.places {
		if p.state == placeOpen && open[p.conv] == nil {
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
			g.resolve(ctx, m.p, gateway.DecideSilent(&g.o.App, m.p.head.Tries, g.o.Now()))
		}
	}
}

// watch adds up how long each open offer has been with a worker and takes it
// away after the longest time allowed. The clock runs only while the
// application is alive: a worker waits for work or work is handed out.
func (g *Gate) watch(ctx context.Context, s *gateway.GateState) {
	if s.Pulls == 0 && s.Delivered <= g.life.Delivered {
		return
	}
	limit := g.o.App.HandlerMax + g.o.App.AckWait
	var over []*place
	for _, p := range g.places {
		if p.state != placeOpen || p.seq > s.Delivered {
			continue
		}
		if p.running += g.o.Tick; limit > 0 && p.running > limit {
			over = append(over, p)
		}
	}
	for _, p := range over {
		seq := p.seq
		if g.resolve(ctx, p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonWatchdog,
			Tries: p.head.Tries + 1, Detail: "a handler ran longer than handler_max + ack_wait"}) {
			g.withdraw(ctx, seq)
		}
	}
}

// giveUp takes the broker's word that it will not hand an offer out any more.
func (g *Gate) giveUp(ctx context.Context) {
	list := g.out.exhausted
	g.out.exhausted = nil
	if len(list) == 0 {
		return
	}
	bySeq := make(map[uint64]*place, len(g.places))
	for _, p := range g.places {
		if p.state == placeOpen {
			bySeq[p.seq] = p
		}
	}
	for _, e := range list {
		if p := bySeq[e.Seq]; p != nil {
			if !g.resolve(ctx, p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonSilent,
				Tries: p.head.Tries + e.Deliveries, Detail: "every delivery ended without a word"}) {
				continue
			}
		}
		g.withdraw(ctx, e.Seq)
	}
}

// withdraw deletes an offer whose event is settled or buried, after the commit.
func (g *Gate) withdraw(ctx context.Context, seq uint64) {
	if err := g.o.Stream.Withdraw(ctx, g.o.App.Name, seq); err != nil && ctx.Err() == nil {
		g.o.Log.Warn("gate.withdraw_failed", zap.String("app", g.o.App.Name), zap.Uint64("seq", seq), zap.Error(err))
	}
}
