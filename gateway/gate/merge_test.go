package gate_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
)

// work settles what is offered, one event after another, and returns the
// conversations in that order.
func work(t *testing.T, m *model, g *gate.Gate, n int) (order []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		conv, s, ok := m.deliver(r)
		if !ok {
			t.Fatalf("nothing is offered after %v: %+v", order, <-g.Stats())
		}
		order = append(order, conv)
		answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictDone})
		synctest.Wait()
	}
	return order
}

func offered(m *model, conv string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.stream[conv]
	return ok
}

// What waits in the older conversation waits for the younger one: what is new, and
// what was there before and not with a worker yet.
func TestYoungerConversationGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.pulls = 1
		m.add("young", 2)
		g := start(t, m, app())
		g.Pause(true)
		time.Sleep(1100 * time.Millisecond)
		rows := m.add("old", 1)
		g.Merged(m.merge("young", "old"))
		g.Added(append(rows, m.add("old", 1)...))
		g.Pause(false)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if offered(m, "old") || (<-g.Stats()).Behind != 1 {
			t.Fatalf("the older one is offered beside the younger: %v", m.stream)
		}
		order := work(t, m, g, 4)
		if want := [4]string{"young", "young", "old", "old"}; [4]string(order) != want {
			t.Errorf("settled in the order %v", order)
		}
		time.Sleep(3 * time.Second)
		if s := <-g.Stats(); s.Places != 0 || s.Behind != 0 {
			t.Errorf("left: %+v", s)
		}
	})
}

// A retry in the younger one holds the older, for its delay and no longer; a dead
// letter lets it go.
func TestOlderConversationWaitsForRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.pulls = 1
		m.add("young", 1)
		g := start(t, m, app())
		g.Merged(m.merge("young", "old"))
		g.Added(m.add("old", 1))
		synctest.Wait()
		begin := time.Now()
		for range 3 {
			conv, s, ok := m.deliver(rand.New(rand.NewPCG(1, 1)))
			if !ok || conv != "young" {
				t.Fatalf("offered: %v", m.stream)
			}
			answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictRetry})
			synctest.Wait()
			for len(m.dead) == 0 && !offered(m, "young") {
				if offered(m, "old") {
					t.Fatal("the older one did not wait for a retry")
				}
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
			}
		}
		if !offered(m, "old") || time.Since(begin) > 7*time.Second {
			t.Errorf("after the dead letter: %v, %s", m.stream, time.Since(begin))
		}
	})
}

// C waits for A through B, which has nothing itself.
func TestChainOfMerges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.pulls = 1
		m.add("a", 1)
		g := start(t, m, app())
		g.Merged(m.merge("a", "b"))
		g.Merged(m.merge("b", "c"))
		g.Added(m.add("c", 1))
		time.Sleep(5 * time.Second) // the net does not forget what counts
		synctest.Wait()
		if offered(m, "c") {
			t.Fatal("the last one overtook the first")
		}
		if order := work(t, m, g, 2); order[0] != "a" || order[1] != "c" {
			t.Errorf("settled in the order %v", order)
		}
	})
}

// A new process learns from the ledger who waits for whom.
func TestMergesAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.pulls = 1
		m.add("young", 1)
		m.add("old", 1)
		m.merge("young", "old")
		ctx, cancel := context.WithCancel(t.Context())
		first := gate.New(gate.Options{App: app(), Ledger: m, Stream: m, Intake: m, Now: time.Now, Log: zap.NewNop()})
		done := make(chan error)
		go func() { done <- first.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-done
		g := start(t, m, app())
		if offered(m, "old") || !offered(m, "young") {
			t.Fatalf("offered: %v", m.stream)
		}
		work(t, m, g, 2)
	})
}

// A requeued event of the younger one is told with whom it holds; rows that were
// committed before the merge may come after its news.
func TestLateRowsOfTheYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.pulls = 1
		g := start(t, m, app())
		rows := m.add("young", 1)
		merges := m.merge("young", "old")
		g.Merged(merges)
		synctest.Wait()
		g.Added(append(rows, m.add("old", 1)...))
		synctest.Wait()
		if offered(m, "old") {
			t.Fatal("the older one went first")
		}
		work(t, m, g, 2)
		time.Sleep(3 * time.Second) // forgotten by now
		synctest.Wait()
		g.Merged(merges) // requeued
		g.Added(m.add("young", 1))
		g.Added(m.add("old", 1))
		synctest.Wait()
		if order := work(t, m, g, 2); order[0] != "young" || order[1] != "old" {
			t.Errorf("settled in the order %v", order)
		}
	})
}

// A younger conversation whose events are gone from the ledger holds nobody.
func TestErasedYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.pulls = 1
		g := start(t, m, app())
		g.Pause(true)
		time.Sleep(1100 * time.Millisecond)
		rows := m.add("young", 1)
		rows[0].N = 99
		g.Merged(m.merge("young", "old"))
		g.Added(append(rows, m.add("old", 1)...))
		m.set(func() { m.pending["young"], m.erased = nil, map[int64]bool{rows[0].N: true} })
		synctest.Wait()
		g.Pause(false)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if !offered(m, "old") {
			t.Errorf("the older one waits for nothing: %+v", <-g.Stats())
		}
	})
}
