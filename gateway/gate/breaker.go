package gate

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// When an application is tripped, and how often it is probed then.
const (
	tripTries   = 20
	tripConvs   = 5
	tripTime    = 5 * time.Second
	firstProbe  = 5 * time.Second
	longestWait = time.Minute
	freshProbe  = time.Second
)

// breaker sees that an application does not work as a whole: its last 20 tries, of
// at least 5 conversations, all failed, and nothing worked for 5 s. Then it is offered
// one event at a time, the first after 5 s, the next ones 10, 20, 40, 60 s later, and
// what fails is waiting and no try. One success closes it.
//
// An event that was never handed out does not wait for that: one each second is a
// probe as well. Without this and the 5 s, 64 customers whose messages fail would hold
// the one whose message does not, which the design rules out, too.
//
// Not every failed try counts: an event that failed, and fails again after another
// one succeeded, is broken itself and says nothing about the application. Without
// that, the last events to be tried would often be those that can only fail, they
// would trip it, and wait for ever instead of becoming dead letters.
//
// What the broker has when it trips is still handed out, once: that finds the
// conversation that works among many that do not, and to take all of it back would
// cost a round of each in the ledger.
//
// What is kept over a restart is that it is tripped, since when, and the pace of the
// probes. The tries are counted anew.
type breaker struct {
	gateway.Breaker
	failing []string  // conversations of the failed tries in a row, the last 20
	from    time.Time // of the first of the row
	worked  int       // successes so far
	unkept  bool      // the ledger does not know yet
	fresh   time.Time // an event never handed out was looked for, while tripped
}

func (b *breaker) tripped() bool { return !b.Since.IsZero() }

// heard takes what became of a try of the place's head.
func (g *Gate) heard(p *place, d *gateway.Decision) {
	b := &g.breaker
	switch {
	case d.Worked():
		b.worked++
		b.failing = b.failing[:0]
		if b.tripped() {
			g.o.Log.Info("breaker.closed", zap.String("app", g.o.App.Name), zap.Duration("after", g.o.Now().Sub(b.Since)))
			b.Since, b.unkept = time.Time{}, true
		}
	case d.Failed && p.failedAt == 0:
		p.failedAt = b.worked + 1
		fallthrough
	case d.Failed && p.failedAt == b.worked+1:
		if len(b.failing) == 0 {
			b.from = g.o.Now()
		}
		if b.failing = append(b.failing, p.conv); len(b.failing) > tripTries {
			b.failing = slices.Delete(b.failing, 0, 1)
		}
		if !b.tripped() && len(b.failing) == tripTries && distinct(b.failing) >= tripConvs && g.o.Now().Sub(b.from) >= tripTime {
			b.Since, b.Wait, b.unkept = g.o.Now(), firstProbe, true
			b.ProbeAt = b.Since.Add(firstProbe)
			g.o.Log.Warn("breaker.tripped", zap.String("app", g.o.App.Name), zap.Int("tries", tripTries))
		}
	}
	g.down.Store(b.tripped())
}

func distinct(list []string) int {
	seen := make(map[string]struct{}, len(list))
	for _, s := range list {
		seen[s] = struct{}{}
	}
	return len(seen)
}

// Tripped says that a failed try is waiting. The intake asks.
func (g *Gate) Tripped() bool { return g.down.Load() }

// spared is a decision of the gate's own, as the breaker has it.
func (g *Gate) spared(p *place, d gateway.Decision) gateway.Decision {
	if !g.breaker.tripped() {
		return d
	}
	return d.Spared(&g.o.App, &p.head, g.o.Now())
}

// mayOffer says whether anything may be offered now.
func (g *Gate) mayOffer() bool { return !g.paused && g.probeWait() <= 0 }

// probeWait is how long nothing is offered.
func (g *Gate) probeWait() time.Duration {
	if !g.breaker.tripped() {
		return 0
	}
	now := g.o.Now()
	return min(g.breaker.ProbeAt.Sub(now), g.breaker.fresh.Add(freshProbe).Sub(now))
}

// probe takes the place out of the queue that is to be tried: one whose event was
// never handed out, since that one tells most; else, when it is time, the one that has
// waited longest.
func (g *Gate) probe() []*place {
	b, best := &g.breaker, -1
	b.fresh = g.o.Now()
	for i, p := range g.ready.heaped {
		if p.head.Round == 0 && p.head.Tries == 0 && (best < 0 || g.ready.Less(i, best)) {
			best = i
		}
	}
	if best < 0 {
		if b.fresh.Before(b.ProbeAt) {
			return nil
		}
		return g.next(1)
	}
	p := g.ready.heaped[best]
	heap.Remove(&g.ready, best)
	if g.waits(p.conv) {
		p.state = placeBehind
		return nil
	}
	return []*place{p}
}

// probed notes that a probe is with the broker.
func (g *Gate) probed() {
	b := &g.breaker
	if g.o.Now().Before(b.ProbeAt) {
		return
	}
	b.Wait = min(2*b.Wait, longestWait)
	b.ProbeAt, b.unkept = g.o.Now().Add(b.Wait), true
}

// keep writes the breaker down when it changed. If we die before, the next gate
// begins as it was: it trips, or closes, by the next tries.
func (g *Gate) keep(ctx context.Context) {
	if !g.breaker.unkept {
		return
	}
	g.breaker.App = g.o.App.Name
	g.o.Boundary("breaker.keeping")
	if err := g.o.Ledger.SetBreaker(ctx, g.breaker.Breaker); err != nil {
		if ctx.Err() == nil {
			g.o.Log.Error("gate.failed", zap.String("app", g.o.App.Name), zap.Error(err))
		}
		return // the net tries again
	}
	g.o.Boundary("breaker.kept")
	g.breaker.unkept = false
}
