package gate

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// stale buries an event that is too old for its turn, or whose code has ended.
func (g *Gate) stale(ctx context.Context, p *place, row *gateway.EventRow) bool {
	if p.deadline = p.head.Deadline(); !p.deadline.IsZero() && !g.o.Now().Before(p.deadline) {
		g.resolve(ctx, p, gateway.TooLate(p.head.Tries))
		return true
	}
	max := g.o.App.StaleAfter
	if max <= 0 || p.head.Lane != gateway.LaneLive || p.head.Requeue > 0 || g.o.Now().Sub(row.ReceivedAt) <= max {
		return false
	}
	g.resolve(ctx, p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonStale, Tries: p.head.Tries,
		Detail: fmt.Sprintf("older than %s when its turn came", max)})
	return true
}

// takenOf asks which of n conversations a colleague has, where that is of interest.
func (g *Gate) takenOf(ctx context.Context, n int, conv func(int) string) (map[string]bool, error) {
	if g.o.Taken == nil || n == 0 {
		return nil, nil //nolint:nilnil // nobody has any
	}
	convs := make([]string, n)
	for i := range convs {
		convs[i] = conv(i)
	}
	return g.o.Taken(ctx, convs)
}

// wanted says of a head whether it is offered in a takeover all the same: a person asked
// for it.
func wanted(p *gateway.Pending) bool { return p.Lane != gateway.LaneLive || p.Requeue > 0 }

// colleagues settles an event whose turn comes while a colleague has its conversation,
// for an application that wants none of those: it is treated like one that comes in a
// takeover.
func (g *Gate) colleagues(ctx context.Context, p *place, taken map[string]bool) bool {
	if !taken[p.conv] || wanted(&p.head) {
		return false
	}
	if g.out.recall || g.unfinished { // its offer may lie in the broker, where a worker would find it
		g.postpone(p, g.o.Now().Add(time.Second))
		return true
	}
	g.resolve(ctx, p, gateway.Decision{State: gateway.EventSettled, Reason: gateway.ReasonTakeover, Tries: p.head.Tries})
	return true
}

// tooLarge buries an event that the broker will never take: offered for ever it
// would hold its conversation for ever. Requeued under a larger limit it goes.
func (g *Gate) tooLarge(ctx context.Context, p *place, err error) {
	g.resolve(ctx, p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTooLarge, Tries: p.head.Tries, Detail: err.Error()})
}

// resolve carries out a decision no answer made and moves the place on.
func (g *Gate) resolve(ctx context.Context, p *place, d gateway.Decision) bool {
	g.o.Boundary("gate.resolving")
	s, err := g.o.Ledger.Resolve(ctx, p.head, d, g.o.Now())
	if err != nil {
		if ctx.Err() == nil {
			g.o.Log.Error("gate.failed", zap.String("app", g.o.App.Name), zap.Error(err))
		}
		if p.state == placeReady { // it was taken out of the queue for this
			g.postpone(p, g.o.Now().Add(time.Second))
		}
		return false
	}
	g.o.Boundary("gate.resolved")
	if s.Late {
		// An answer came first, or the row was never ours: what the ledger
		// holds now is the truth.
		g.reset(p, s.Head)
		return true
	}
	for _, r := range append([]gateway.SettledAlso{{Was: s.Was, Dead: s.Dead}}, s.Also...) {
		g.o.Log.Info("event.resolved", zap.String("app", s.App), zap.String("conv", s.Conv), zap.String("event", r.Was.Event),
			zap.String("state", string(s.Decision.State)), zap.String("reason", s.Decision.Reason), zap.Int("tries", s.Decision.Tries), zap.String("dead", r.Dead))
	}
	g.o.Resolved(s)
	g.settled(&s)
	return true
}
