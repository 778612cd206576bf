package gate

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// recallSlice is how many offers are taken back with one change of the ledger.
const recallSlice = 200

// recall takes back the offers of what is stopped. What a worker has stays, or its
// event would run twice at once; so that none goes to one between the look and the
// deletion, the consumer is held meanwhile. Each event gets its next round before
// its offer goes, since the broker remembers ids: if we die in between, the offer is
// handed out once, and its answer counts as ever.
func (g *Gate) recall(ctx context.Context) {
	g.unfinished = true // until it is, the net comes back to it
	app := g.o.App.Name
	if g.o.Stream.Hold(ctx, app, true) != nil {
		return // the broker is away, and hands out nothing
	}
	defer func() { g.out.hold = g.o.Stream.Hold(ctx, app, g.paused) != nil }()
	state, err := g.o.Stream.GateState(ctx, app)
	if err != nil {
		return
	}
	open, err := g.o.Stream.OpenOffers(ctx, app)
	if err != nil {
		return
	}
	open = slices.DeleteFunc(open, func(o gateway.OpenOffer) bool {
		p := g.places[o.Conv]
		return o.Seq <= state.Delivered || p == nil || !g.own(p, &o) || !g.o.Stopped(o.Account, o.Conv)
	})
	for slice := range slices.Chunk(open, recallSlice) {
		if err := g.takeBack(ctx, slice); err != nil {
			if ctx.Err() == nil {
				g.o.Log.Error("gate.failed", zap.String("app", app), zap.Error(err))
			}
			return
		}
	}
	g.unfinished = false
}

func (g *Gate) takeBack(ctx context.Context, offers []gateway.OpenOffer) error {
	rows := make([]gateway.Pending, len(offers))
	for i := range offers {
		rows[i] = g.places[offers[i].Conv].head
	}
	rows, err := g.o.Ledger.Reround(ctx, rows)
	if err != nil {
		return err
	}
	g.o.Boundary("recall.committed")
	next := make(map[string]*gateway.Pending, len(rows))
	for i := range rows {
		rows[i].Row = nil
		next[rows[i].Conv] = &rows[i]
	}
	for i := range offers {
		o := &offers[i]
		if row := next[o.Conv]; row != nil { // else it was settled meanwhile, which comes by the mailbox
			g.withdraw(ctx, o.Seq)
			g.replace(g.places[o.Conv], *row)
		}
	}
	return nil
}

// braked looks at what is stopped now: it lets go who waited, and takes back what
// may not be handed out any more.
func (g *Gate) braked() {
	g.out.recall = true
	for _, p := range g.places {
		if p.state == placeHeld && !g.o.Stopped(p.account, p.conv) {
			g.schedule(p)
		}
	}
}
