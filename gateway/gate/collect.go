package gate

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// What belongs together is settled in the ledger (gateway.Collect); the gate only
// guesses when to ask, by the rows it was told of, and is told when to come back where
// it asked too early. A head with something behind that it was not told of, at the
// start and after a settlement, makes it ask at once.

// due is when it is time to ask what goes together with the place's head; zero where
// nothing is collected.
func (g *Gate) due(p *place) time.Time {
	rule := g.o.App.Collect
	if !rule.On() || !p.head.Collectable() || p.ask || p.behind+1 >= rule.Max {
		return time.Time{}
	}
	first := p.head.Row.ReceivedAt
	last := first
	if p.newest.After(last) {
		last = p.newest
	}
	return rule.Due(first, last, g.o.Now())
}

// behindHead notes a row that came behind the head of its place; fits says that it can
// be part of a bundle.
func (g *Gate) behindHead(p *place, row *gateway.Pending, received time.Time, fits bool) {
	if !g.o.App.Collect.On() || row.Lane != gateway.LaneLive {
		return
	}
	p.behind++
	p.ask = p.ask || !fits
	if received.After(p.newest) {
		p.newest = received
	}
	if p.collecting {
		g.leave(p)
		g.schedule(p)
	}
}

// asks says whether the ledger has to be asked what the place's head goes with.
func (g *Gate) asks(p *place) bool {
	return p.unsure || p.head.Last != "" || g.o.App.Collect.On() && p.head.Collectable()
}

// bundle completes places that were taken out of the queue by what goes together with
// their heads, and returns those that can be offered; the others are filed. If we die
// after the ledger wrote it down, the next gate finds it there.
func (g *Gate) bundle(ctx context.Context, batch []*place) (offered []*place, wait time.Duration) {
	var heads []gateway.Pending
	var asked []*place
	for _, p := range batch {
		if len(p.bundle) == 0 && g.asks(p) {
			heads, asked = append(heads, p.head), append(asked, p)
		} else {
			offered = append(offered, p)
		}
	}
	if len(asked) == 0 {
		return batch, 0
	}
	g.o.Boundary("gate.collecting")
	for len(asked) > 0 {
		n := min(len(asked), collectSlice)
		bundles, err := g.o.Ledger.Collect(ctx, heads[:n], g.o.App.Collect, g.o.Now())
		if err != nil {
			for _, p := range asked {
				g.queue(p)
			}
			if ctx.Err() == nil {
				g.o.Log.Error("gate.failed", zap.String("app", g.o.App.Name), zap.Error(err))
			}
			return offered, 500 * time.Millisecond
		}
		for i, p := range asked[:n] {
			if g.bundled(ctx, p, &bundles[i]) {
				offered = append(offered, p)
			}
		}
		heads, asked = heads[n:], asked[n:]
	}
	g.o.Boundary("gate.collected")
	return offered, 0
}

// collectSlice is for how many heads the ledger is asked with one change, which must
// not hold its writer for long.
const collectSlice = 32

// bundled takes what the ledger says about a place, and says whether it is offered.
func (g *Gate) bundled(ctx context.Context, p *place, b *gateway.Bundle) bool {
	switch {
	case b.Moved || len(b.Rows) == 0 && b.NotBefore.IsZero():
		p.unsure = true // what stands behind may be settled, too
		g.reset(p, b.Head)
		return false
	case len(b.Rows) == 0:
		p.ask, p.behind = false, b.Waiting-1
		g.postpone(p, b.NotBefore)
		p.collecting = true
		return false
	}
	p.head, p.unsure = b.Rows[0], false
	if p.members = nil; len(b.Rows) > 1 {
		p.bundle = b.Rows
		for i := range b.Rows[1:] {
			p.members = append(p.members, b.Rows[1+i].N)
		}
	}
	// All that we were told of is in the ledger, and what is left of it is found when
	// the bundle is settled.
	if p.next != nil && slices.Contains(p.members, p.next.N) {
		p.next = nil
	}
	return len(p.bundle) == 0 || !g.stale(ctx, p, p.bundle[len(p.bundle)-1].Row)
}

// offerOf is the offer of a place whose head has its event.
func (p *place) offerOf() gateway.Offer {
	if len(p.bundle) == 0 {
		return gateway.Offer{Pending: p.head, Event: *p.head.Row}
	}
	last := len(p.bundle) - 1
	before := make([]gateway.EventRow, last)
	for i := range before {
		before[i] = *p.bundle[i].Row
	}
	return gateway.Offer{Pending: p.head, Event: *p.bundle[last].Row, Before: before}
}
