package gate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
)

// collector waits for three seconds of quiet, eight at most, for five at most.
func collector() gateway.Application {
	a := app()
	a.Collect = gateway.Collect{Wait: 3 * time.Second, Longest: 8 * time.Second, Max: 5}
	return a
}

// restarted runs a gate that the test itself ends.
func restarted(t *testing.T, m *model, a gateway.Application, stopped *switches) (g *gate.Gate, stop func()) {
	t.Helper()
	g = gate.New(gate.Options{App: a, Ledger: m, Stream: m, Intake: m, Stopped: stopped.is, Breaker: m.broken, Now: time.Now, Log: zap.NewNop()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	synctest.Wait()
	return g, func() { cancel(); <-done }
}

func (m *model) clean(t *testing.T) {
	t.Helper()
	m.set(func() {
		if len(m.foul) > 0 {
			t.Fatal(m.foul)
		}
	})
}

// When a bundle is offered, by when its messages come: seconds after the beginning,
// negative for a change of one. Each delivery is answered at once.
func TestCollectWhen(t *testing.T) {
	const never = 0
	for _, c := range []struct {
		name    string
		come    []float64
		restart float64 // when the gate is another one
		sizes   []int
		at      []float64
	}{
		{"one alone", []float64{0}, never, []int{1}, []float64{3}},
		{"three in a row", []float64{0, 1, 2}, never, []int{3}, []float64{5}},
		{"two rows", []float64{0, 1, 5, 6}, never, []int{2, 2}, []float64{4, 9}},
		{"somebody who does not stop", []float64{0, 2.5, 5, 7.5}, never, []int{4}, []float64{8}},
		{"no longer than eight", []float64{0, 2.9, 5.8, 8.6}, never, []int{3, 1}, []float64{8, 11.6}},
		{"until it is full", []float64{0, 1, 2, 3, 4}, never, []int{5}, []float64{4}},
		{"full at once", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, never, []int{5, 5, 2}, []float64{1, 1, 4}},
		{"a change ends it", []float64{0, 1, -2, 2.5}, never, []int{2, 1, 1}, []float64{2, 2, 5.5}},
		{"over a restart", []float64{0, 1}, 2, []int{2}, []float64{4}},
		{"and goes on after it", []float64{0, 1, 2, 2.5, 2.6}, 2.2, []int{5}, []float64{2.6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				begun := time.Now()
				g, stop := restarted(t, m, collector(), &switches{})
				defer func() { stop() }()
				r := rand.New(rand.NewPCG(1, 1))
				come := slices.Clone(c.come)
				for tick := 0; tick <= 700; tick++ { // a tenth of a second each
					now := float64(tick) / 10
					for len(come) > 0 && max(come[0], -come[0]) <= now+0.001 {
						kind := gateway.KindMessage
						if come[0] < 0 {
							kind = gateway.KindChange
						}
						g.Added([]gateway.Pending{m.write("c", kind)})
						come = come[1:]
					}
					if c.restart > 0 && tick == int(c.restart*10) {
						stop()
						g, stop = restarted(t, m, collector(), &switches{})
					}
					for synctest.Wait(); ; synctest.Wait() {
						conv, s, ok := m.deliver(r)
						if !ok {
							break
						}
						answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictDone})
					}
					time.Sleep(100 * time.Millisecond)
				}
				m.clean(t)
				if got := m.bundles(); !slices.Equal(got, c.sizes) {
					t.Errorf("deliveries of %v events, want %v", got, c.sizes)
				}
				var at []float64
				m.set(func() {
					for _, times := range m.when {
						at = append(at, float64(times[0].Sub(begun).Round(100*time.Millisecond))/float64(time.Second))
					}
				})
				slices.Sort(at)
				if !slices.Equal(at, c.at) {
					t.Errorf("offered at %v, want %v", at, c.at)
				}
			})
		})
	}
}

// A try is one of the whole bundle, and what comes meanwhile waits behind it; the last
// one buries all of it.
func TestCollectRetriesTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		g := start(t, m, collector())
		for range 2 {
			g.Added([]gateway.Pending{m.write("c", gateway.KindMessage)})
		}
		r := rand.New(rand.NewPCG(1, 1))
		for try := range app().Tries {
			time.Sleep(6 * time.Second)
			synctest.Wait()
			conv, s, ok := m.deliver(r)
			if !ok || s.delivery != "ev_c-2.c1" {
				t.Fatalf("try %d: %+v, %v", try, s, ok)
			}
			g.Added([]gateway.Pending{m.write("c", gateway.KindMessage)})
			answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictRetry})
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := m.at("c").delivery; s != "ev_c-5.c3" {
			t.Errorf("then %s is offered", s)
		}
		m.clean(t)
		m.set(func() {
			if !slices.Equal(m.dead, []string{"ev_c-1", "ev_c-2"}) {
				t.Errorf("dead: %v", m.dead)
			}
		})
	})
}

// What is stopped collects, and goes as one when it is let go; a bundle that was taken
// back stays what it is.
func TestCollectWhileStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		stopped := &switches{}
		g := startStopped(t, m, collector(), stopped)
		stopped.set("held", true)
		g.Braked()
		for range 3 {
			g.Added([]gateway.Pending{m.write("held", gateway.KindMessage), m.write("taken", gateway.KindMessage)})
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if a, b := m.at("held").delivery, m.at("taken").delivery; a != "" || b != "ev_taken-3.c1" {
			t.Fatalf("offered: %q, %q", a, b)
		}
		stopped.set("taken", true) // no worker has it: it is taken back
		g.Braked()
		g.Added([]gateway.Pending{m.write("taken", gateway.KindMessage)})
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := m.at("taken").delivery; s != "" {
			t.Fatalf("%s was left with the broker", s)
		}
		stopped.clear()
		g.Braked()
		time.Sleep(time.Second)
		synctest.Wait()
		if a, b := m.at("held").delivery, m.at("taken").delivery; a != "ev_held-3.c1" || b != "ev_taken-3.c1" {
			t.Errorf("offered when let go: %q, %q", a, b)
		}
		m.clean(t)
	})
}

// Everything goes wrong now and then, the gate dies and the rule changes: each event
// is settled once, and each answer settles what its delivery carried.
func TestCollectUnderFaults(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { collectChaos(t, seed) })
		})
	}
}

func collectChaos(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	m := newModel()
	m.pulls = 1
	const convs = 5
	conv := func() string { return fmt.Sprintf("c%d", r.IntN(convs)) }
	rules := []gateway.Application{collector(), collector(), app()}
	stopped := &switches{}
	g, stop := restarted(t, m, rules[r.IntN(len(rules))], stopped)
	defer func() { stop() }()
	var kept []stored // deliveries whose workers froze, with their conversation
	var keptConv []string
	verdicts := []gateway.Verdict{gateway.VerdictDone, gateway.VerdictDone, gateway.VerdictDone, gateway.VerdictRetry, gateway.VerdictHandback, gateway.VerdictDead}
	for step := 0; step < 5000 && (step < 400 || m.left() > 0); step++ {
		rough := step < 400
		c, s, ok := m.deliver(r)
		switch k := r.IntN(100); {
		case k < 30 && ok:
			v := verdicts[r.IntN(len(verdicts))]
			if !rough {
				v = gateway.VerdictDone
			}
			answer(m, g, c, s, gateway.Answer{Event: s.delivery, Verdict: v})
		case k < 60 && rough:
			kind := gateway.KindMessage
			if r.IntN(12) == 0 {
				kind = gateway.KindChange
			}
			g.Added([]gateway.Pending{m.write(conv(), kind)})
		case k < 63 && rough && ok: // frozen with it: the answer comes whenever it likes
			kept, keptConv = append(kept, s), append(keptConv, c)
		case k < 66 && len(kept) > 0:
			set := m.settle(keptConv[0], kept[0].delivery, gateway.Decision{State: gateway.EventSettled, Reason: "done"})
			g.Settled([]gateway.Settled{set})
			m.ack(keptConv[0], kept[0].seq)
			kept, keptConv = kept[1:], keptConv[1:]
		case k < 68 && rough && ok:
			m.ack(c, s.seq) // without an answer
		case k < 70 && rough:
			m.wipe()
		case k < 72 && rough:
			m.set(func() { m.down = !m.down })
		case k < 74 && rough:
			stopped.set(conv(), r.IntN(2) == 0)
			g.Braked()
		case k < 77 && rough: // it dies, and is another one
			stop()
			g, stop = restarted(t, m, rules[r.IntN(len(rules))], stopped)
		case k < 80 && rough:
			if p, ok := m.requeue(conv()); ok {
				g.Added([]gateway.Pending{p})
			}
		default:
			time.Sleep(time.Duration(r.IntN(2500)) * time.Millisecond)
		}
		synctest.Wait()
		if !rough {
			m.set(func() { m.down = false })
			stopped.clear()
			g.Braked()
		}
		m.clean(t)
	}
	total := 0
	m.set(func() { total = len(m.rows) })
	if m.left() != 0 {
		t.Fatalf("seed %d: %d of %d are left: %+v", seed, m.left(), total, <-g.Stats())
	}
	m.set(func() {
		for n := range m.rows {
			if m.settled[n] != 1 {
				t.Errorf("seed %d: event %d was settled %d times", seed, n, m.settled[n])
			}
		}
		if slices.Max(m.sizes) < 2 {
			t.Errorf("seed %d: nothing was collected", seed)
		}
	})
	if s := <-g.Stats(); s.Collecting != 0 || s.Places != 0 {
		t.Errorf("seed %d: nothing is left and something waits: %+v", seed, s)
	}
}
