package gate_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
)

// startSkipping runs a gate of an application that wants no events of conversations
// that a colleague has; settled collects what the gate settled by itself.
func startSkipping(t *testing.T, m *model, taken *switches, settled *[]string) *gate.Gate {
	t.Helper()
	a := standard()
	a.SkipTaken = true
	g := gate.New(gate.Options{App: a, Ledger: m, Stream: m, Intake: m, Now: time.Now, Log: zap.NewNop(),
		Taken: func(_ context.Context, convs []string) (map[string]bool, error) {
			out := map[string]bool{}
			for _, c := range convs {
				out[c] = taken.is(c, c)
			}
			return out, nil
		},
		Resolved: func(s gateway.Settled) {
			m.set(func() { *settled = append(*settled, s.Conv+" "+string(s.Decision.State)+" "+s.Decision.Reason) })
		}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return g
}

// What waits when a colleague takes a conversation is settled in its turn, also what
// lies in the broker already; what a worker has is finished. Other conversations go on,
// and this one does when the takeover is over.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, taken := newModel(), &switches{}
		var settled []string
		m.add("a", 2)
		g := startSkipping(t, m, taken, &settled)
		m.set(func() { m.pulls = 1 })
		with := m.handOut(1)["a"] // a worker has the first of a
		g.Added(append(m.add("b", 3), m.add("c", 2)...))
		synctest.Wait()
		taken.set("a", true)
		taken.set("b", true)
		g.Braked()
		synctest.Wait()
		if want := []string{"b settled takeover", "b settled takeover", "b settled takeover"}; !slices.Equal(settled, want) || m.paused {
			t.Fatalf("settled %v, held consumer %v", settled, m.paused)
		}
		answer(m, g, "a", with, gateway.Answer{Event: with.delivery, Verdict: gateway.VerdictRetry})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if want := []string{"a settled takeover", "a settled takeover"}; !slices.Equal(settled[3:], want) {
			t.Fatalf("settled %v", settled[3:])
		}
		if m.offered() != 1 || m.at("c").seq == 0 {
			t.Errorf("in the stream: %v", m.stream)
		}
		taken.clear()
		g.Added(m.add("a", 1))
		b := &bot{t: t, m: m, app: standard(), g: g, fails: func(string) bool { return false }}
		b.run(time.Minute)
		if m.left() > 0 || len(settled) != 5 || len(m.dead) > 0 {
			t.Errorf("%d left, settled %v, dead %v", m.left(), settled, m.dead)
		}
		m.inOrder(t)
	})
}

// What a person requeued in a takeover is offered all the same.
func TestTakenOverRequeued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, taken := newModel(), &switches{}
		var settled []string
		m.add("a", 1)
		m.pending["a"][0].Requeue = 1
		taken.set("a", true)
		startSkipping(t, m, taken, &settled)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m.at("a").seq == 0 || len(settled) > 0 {
			t.Errorf("stream %v, settled %v", m.stream, settled)
		}
	})
}

// What a worker was handed by a life before this one is finished by it.
func TestTakenOverWithAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, taken := newModel(), &switches{}
		var settled []string
		m.add("a", 2)
		s := stored{7, m.pending["a"][0].Event, 0}
		m.stream["a"], m.seq, m.handed = s, 7, 7
		taken.set("a", true)
		g := startSkipping(t, m, taken, &settled)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m.offered() != 1 || len(settled) > 0 {
			t.Fatalf("stream %v, settled %v", m.stream, settled)
		}
		answer(m, g, "a", s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictDone})
		time.Sleep(time.Second)
		synctest.Wait()
		if m.left() != 0 || !slices.Equal(settled, []string{"a settled takeover"}) {
			t.Errorf("%d left, settled %v", m.left(), settled)
		}
	})
}

// An offer of a life before this one is taken back as well.
func TestTakenOverBeforeARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, taken := newModel(), &switches{}
		var settled []string
		m.add("a", 1)
		m.stream["a"] = stored{7, m.pending["a"][0].Event, 0}
		m.seq, m.ids[m.pending["a"][0].Event+":0s"] = 7, 7
		taken.set("a", true)
		startSkipping(t, m, taken, &settled)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m.offered() != 0 || m.left() != 0 || !slices.Equal(settled, []string{"a settled takeover"}) {
			t.Errorf("stream %v, settled %v", m.stream, settled)
		}
	})
}
