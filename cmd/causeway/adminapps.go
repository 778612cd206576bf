package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
	"github.com/causewayhq/causeway/handlers/admin"
)

// Applications shows every application as it stands: kept counts, what its gate and
// the broker say, and what was seen of its workers. Nothing of it counts rows.
func (x adminAPI) Applications(ctx context.Context) ([]admin.ApplicationState, error) {
	sums, err := x.a.ledger.Sums(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := x.a.ledger.AppCounts(ctx)
	if err != nil {
		return nil, err
	}
	breakers, err := x.a.ledger.Breakers(ctx)
	if err != nil {
		return nil, err
	}
	stats := x.a.broker.gateStats(ctx)
	oldest, err := x.a.receivedAt(ctx, stats)
	if err != nil {
		return nil, err
	}
	out := make([]admin.ApplicationState, 0, len(x.a.dir.apps))
	for i := range x.a.dir.apps {
		app := &x.a.dir.apps[i]
		n, sum, g := counts[app.Name], sums.Apps[app.Name], stats[app.Name]
		s := admin.ApplicationState{Name: app.Name, Builtin: app.Builtin, Accounts: app.Accounts, Replies: app.Replies, Kinds: kindNames(app.Kinds),
			Pending: sum.Pending, Dead: sum.Dead, Tries: n.Tries, Late: n.Late, Overrun: n.Overrun,
			Blocked: int64(g.Blocked), Retrying: g.Retrying, Collecting: g.Collecting, Oldest: oldest[app.Name], Bridge: x.a.bridgeState(app.Name)}
		s.Rate, s.Builds = x.a.activity.of(app.Name)
		for _, b := range x.a.brakes.list() {
			if b.Scope == gateway.BrakeApp && b.Name == app.Name {
				at := b.At
				s.Paused, s.PausedBy, s.PausedAt = true, b.By, &at
			}
		}
		for i := range breakers {
			if b := &breakers[i]; b.App == app.Name && x.a.broker.tripped(app.Name) {
				s.Tripped, s.TrippedAt, s.ProbeAt = true, &b.Since, &b.ProbeAt
			}
		}
		if state, err := x.a.broker.GateState(ctx, app.Name); err == nil {
			s.Offered, s.Unacked, s.Workers = int64(state.Messages), int64(state.Unacked), state.Pulls //nolint:gosec // a count of messages
		}
		// The numbers are of moments close to each other, not of one.
		s.Ready, s.Waiting = max(s.Offered-s.Unacked, 0), max(s.Pending-s.Offered, 0)
		out = append(out, s)
	}
	return out, nil
}

// statsWait is how long a gate may take to answer; one that rests or is not begun
// answers nothing.
const statsWait = 500 * time.Millisecond

// gateStats asks every gate for its numbers, all at once.
func (b *broker) gateStats(ctx context.Context) map[string]gate.Stats {
	if b.State().Word == "starting" {
		return nil
	}
	asked := make(map[string]<-chan gate.Stats, len(b.gates))
	for name, g := range b.gates {
		asked[name] = g.Stats()
	}
	limit := time.NewTimer(statsWait)
	defer limit.Stop()
	out := make(map[string]gate.Stats, len(asked))
	for name, c := range asked {
		select {
		case out[name] = <-c:
		case <-limit.C:
			return out
		case <-ctx.Done():
			return out
		}
	}
	return out
}

// receivedAt is when the oldest event that waits for each application came.
func (a *app) receivedAt(ctx context.Context, stats map[string]gate.Stats) (map[string]*time.Time, error) {
	var ns []int64
	for _, s := range stats {
		if s.Oldest > 0 {
			ns = append(ns, s.Oldest)
		}
	}
	rows, err := a.ledger.Events(ctx, ns)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*time.Time, len(ns))
	for name, s := range stats {
		if row := rows[s.Oldest]; row != nil {
			out[name] = &row.ReceivedAt
		}
	}
	return out, nil
}

func kindNames(kinds []gateway.Kind) []string {
	if len(kinds) == 0 {
		kinds = []gateway.Kind{gateway.KindMessage}
	}
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = string(k)
	}
	return out
}

// offers are the events of a conversation that are out with the applications which
// something of it waits for; what a gate does not tell in time is left out.
func (b *broker) offers(ctx context.Context, c *gateway.Conversation) (out []gateway.ConversationOffer) {
	if b.State().Word != "ok" {
		return nil
	}
	asked := map[string]<-chan *gateway.ConversationOffer{}
	for i := range c.Events {
		for app := range c.Events[i].Waits {
			if g := b.gates[app]; g != nil && asked[app] == nil {
				asked[app] = g.Offer(c.Conv)
			}
		}
	}
	limit := time.NewTimer(statsWait)
	defer limit.Stop()
	for _, app := range slices.Sorted(maps.Keys(asked)) {
		select {
		case offer := <-asked[app]:
			if offer != nil {
				out = append(out, *offer)
			}
		case <-limit.C:
			return out
		case <-ctx.Done():
			return out
		}
	}
	return out
}
