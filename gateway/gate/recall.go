package gate

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// recallSlice is how many offers are taken back with one change of the ledger.
const recallSlice = 200

// recall takes back the offers of what is stopped, or is a colleague's now. What a worker has stays, or its
// event would run twice at once; so that none goes to one between the look and the
// deletion, the consumer is held meanwhile. Each event gets its next round before
// its offer goes, since the broker remembers ids; an offer of a round before is of a
// gate that died in between, and goes too.
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
	taken, err := g.takenOf(ctx, len(open), func(i int) string { return open[i].Conv })
	if err != nil {
		return
	}
	for i := range open { // what a worker was handed by an earlier life is finished
		o := &open[i]
		if p := g.places[o.Conv]; taken[o.Conv] && o.Seq <= state.Delivered && p != nil && p.state != placeOpen && g.own(p, o) {
			g.regain(p, o)
		}
	}
	open = slices.DeleteFunc(open, func(o gateway.OpenOffer) bool {
		p := g.places[o.Conv]
		return o.Seq <= state.Delivered || p == nil || o.Delivery != p.head.Delivery() ||
			!g.o.Stopped(o.Account, o.Conv) && (!taken[o.Conv] || wanted(&p.head))
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
	rows := make([]gateway.Pending, 0, len(offers))
	for i := range offers {
		if p := g.places[offers[i].Conv]; g.own(p, &offers[i]) {
			rows = append(rows, p.head)
		}
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
		p, row := g.places[o.Conv], next[o.Conv]
		if row == nil && g.own(p, o) {
			continue // settled meanwhile, which comes by the mailbox
		}
		if g.withdraw(ctx, o.Seq); row != nil {
			g.replace(p, *row)
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
