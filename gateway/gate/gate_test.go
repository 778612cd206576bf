package gate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
)

func app() gateway.Application {
	return gateway.Application{Name: "bot", Tries: 3, Delays: []time.Duration{time.Second, 5 * time.Second},
		AckWait: 30 * time.Second, HandlerMax: time.Minute}
}

// start runs a gate over the model inside a synctest bubble.
func start(t *testing.T, m *model, a gateway.Application) *gate.Gate {
	t.Helper()
	return startStopped(t, m, a, &switches{})
}

// startStopped is start with a set of conversations, and the account "shop", that
// may be stopped.
func startStopped(t *testing.T, m *model, a gateway.Application, stopped *switches) *gate.Gate {
	t.Helper()
	g := gate.New(gate.Options{App: a, Ledger: m, Stream: m, Intake: m, Stopped: stopped.is, Breaker: m.broken, Now: time.Now, Log: zap.NewNop()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return g
}

// answer is a worker that answers one delivery with a verdict and acks.
func answer(m *model, g *gate.Gate, conv string, s stored, a gateway.Answer) {
	p := gateway.Pending{}
	m.set(func() {
		if l := m.pending[conv]; len(l) > 0 {
			p = l[0]
		}
	})
	ap := app()
	answerAs(m, g, &ap, conv, p, s, a)
}

func answerAs(m *model, g *gate.Gate, ap *gateway.Application, conv string, p gateway.Pending, s stored, a gateway.Answer) {
	d := gateway.Decide(ap, &p, &a, time.Now())
	if g.Tripped() {
		d = d.Spared(ap, &p, time.Now())
	}
	set := m.settle(conv, s.delivery, d)
	g.Settled([]gateway.Settled{set})
	m.ack(conv, s.seq)
}

// Many conversations, a worker that does everything wrong now and then, a broker
// that goes away, is wiped and forgets: every event is settled once, in order.
func TestGateUnderFaults(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := newModel()
	m.pulls = 1
	const convs = 12
	total, merges := 0, 0
	for i := range convs {
		n := 1 + r.IntN(5)
		m.add(fmt.Sprintf("c%02d", i), n)
		total += n
	}
	stopped := &switches{}
	g := startStopped(t, m, app(), stopped)
	for step := 0; step < 4000 && (m.left() > 0 || step < 300); step++ {
		conv, s, ok := m.deliver(r)
		k := r.IntN(100)
		if step >= 300 && k >= 64 && k < 76 { // the end must be reached without a new life
			k = 99
		}
		switch {
		case k < 55 && ok:
			answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictDone})
		case k < 62 && ok:
			answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictRetry})
		case k < 64 && ok:
			answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictHandback, AfterMS: 100})
		case k < 66 && ok: // an ack without an answer
			m.ack(conv, s.seq)
		case k < 68 && ok: // an answer without an ack; the broker redelivers later
			set := m.settle(conv, s.delivery, gateway.Decision{State: gateway.EventSettled})
			g.Settled([]gateway.Settled{set})
		case k < 70:
			m.wipe()
		case k < 72:
			m.set(func() { m.down = !m.down })
		case k < 73: // a restart of the broker forgets ids of what left
			m.set(func() { m.ids = map[string]uint64{} })
		case k < 76:
			if r.IntN(2) == 0 {
				g.Pause(r.IntN(2) == 0)
				break
			}
			stopped.set(fmt.Sprintf("c%02d", r.IntN(convs)), r.IntN(2) == 0)
			g.Braked()
		case k < 82 && step < 250:
			n := 1 + r.IntN(2)
			g.Added(m.add(m.root(fmt.Sprintf("c%02d", r.IntN(convs))), n))
			total += n
		case k < 84 && step < 250:
			a, b := m.root(fmt.Sprintf("c%02d", r.IntN(convs))), m.root(fmt.Sprintf("c%02d", r.IntN(convs)))
			if a != b {
				merges++
				g.Merged(m.merge(a, b))
			}
		default:
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond) // virtual
		}
		synctest.Wait()
		if step >= 300 {
			m.set(func() { m.down = false })
			g.Pause(false)
			stopped.clear()
			g.Braked()
		}
	}
	done := 0
	for conv, seqs := range m.order {
		done += len(seqs)
		for i, s := range seqs {
			if s != int64(i+1) {
				t.Fatalf("seed %d: %s was settled in the order %v", seed, conv, seqs)
			}
		}
	}
	if len(m.early) > 0 || merges == 0 {
		t.Fatalf("seed %d: of %d merges, offered before their time: %v", seed, merges, m.early)
	}
	if s := <-g.Stats(); s.Behind != 0 {
		t.Fatalf("seed %d: nothing is left and something waits: %+v", seed, s)
	}
	if m.left() != 0 || done != total {
		t.Fatalf("seed %d: %d of %d settled, %d left: %+v", seed, done, total, m.left(), <-g.Stats())
	}
}

// A retry comes back at its time, before any later event, and the tries end.
func TestRetryInPlaceThenDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 2)
		g := start(t, m, app())
		r := rand.New(rand.NewPCG(1, 1))
		begin := time.Now()
		var at []time.Duration
		for len(at) < 3 {
			conv, s, ok := m.deliver(r)
			if !ok {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				continue
			}
			if s.delivery != m.pending["c"][0].Event {
				t.Fatalf("%s was offered before the head", s.delivery)
			}
			at = append(at, time.Since(begin))
			answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictRetry})
			synctest.Wait()
		}
		if at[0] > 0 || at[1] < time.Second || at[2] < 6*time.Second || at[2] > 6500*time.Millisecond {
			t.Errorf("tries at %v", at)
		}
		if len(m.dead) != 1 || len(m.pending["c"]) != 1 {
			t.Errorf("dead %v, pending %v", m.dead, m.pending["c"])
		}
		if _, s, ok := m.deliver(r); !ok || s.delivery != m.pending["c"][0].Event {
			t.Error("the conversation must go on after a dead letter")
		}
	})
}

// An ack without an answer is a try, found by the net.
func TestAckWithoutAnswerIsATry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 1)
		start(t, m, app())
		r := rand.New(rand.NewPCG(1, 1))
		for range 3 {
			conv, s, ok := m.deliver(r)
			if !ok {
				t.Fatalf("not offered again; dead %v", m.dead)
			}
			m.ack(conv, s.seq)
			time.Sleep(13 * time.Second)
			synctest.Wait()
		}
		if len(m.dead) != 1 {
			t.Errorf("dead %v after three silent tries", m.dead)
		}
	})
}

// A row that is committed between a settlement and its news must not be lost.
func TestRowBetweenSettlementAndItsNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 1)
		g := start(t, m, app())
		_, s, _ := m.deliver(rand.New(rand.NewPCG(1, 1)))
		set := m.settle("c", s.delivery, gateway.Decision{State: gateway.EventSettled}) // nothing behind it yet
		m.ack("c", s.seq)
		g.Added(m.add("c", 1))
		synctest.Wait()
		g.Settled([]gateway.Settled{set})
		synctest.Wait()
		if m.stream["c"].delivery != m.pending["c"][0].Event {
			t.Errorf("stream %v, pending %v", m.stream, m.pending)
		}
	})
}

// An offer that the broker takes for acked although it is there would wait for
// ever: the consumer is made anew.
func TestOrphanedOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 1)
		start(t, m, app())
		m.set(func() { m.floor = m.seq })
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if m.revived != 1 || len(m.dead) != 0 || len(m.stream) != 1 {
			t.Errorf("revived %d times, dead %v, stream %v", m.revived, m.dead, m.stream)
		}
	})
}

// An answered offer that the broker takes for acked and did not delete would keep
// the conversation's place for ever.
func TestAckedOfferThatStayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 2)
		g := start(t, m, app())
		_, s, _ := m.deliver(rand.New(rand.NewPCG(1, 1)))
		g.Settled([]gateway.Settled{m.settle("c", s.delivery, gateway.Decision{State: gateway.EventSettled})})
		m.set(func() { m.floor = m.seq })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if m.stream["c"].delivery != m.pending["c"][0].Event {
			t.Errorf("stream %v, pending %v", m.stream, m.pending)
		}
	})
}

// The watchdog takes an event away from a handler that never ends, but not
// while the application as a whole is down.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 1)
		start(t, m, app())
		m.deliver(rand.New(rand.NewPCG(1, 1)))
		time.Sleep(time.Hour) // nobody pulls: the clock stands
		synctest.Wait()
		if len(m.dead) != 0 {
			t.Fatal("an application that is down spends nothing")
		}
		m.set(func() { m.pulls = 1 })
		time.Sleep(95 * time.Second)
		synctest.Wait()
		if len(m.dead) != 1 || len(m.stream) != 0 {
			t.Errorf("dead %v, stream %v", m.dead, m.stream)
		}
	})
}

// The broker's word that it gave up buries the event and frees the place.
func TestExhausted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 2)
		g := start(t, m, app())
		_, s, _ := m.deliver(rand.New(rand.NewPCG(1, 1)))
		for range 2 { // it may be heard twice
			if err := g.Exhausted(t.Context(), gateway.Exhausted{App: "bot", Seq: s.seq, Deliveries: 10}); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if len(m.dead) != 1 || m.stream["c"].delivery != m.pending["c"][0].Event {
			t.Errorf("dead %v, stream %v", m.dead, m.stream)
		}
	})
}

// The word reaches a gate that has just started: before it runs it is refused, to
// be handed in again, and then it buries the event although the place has not
// offered its head. A word about an offer that is settled takes only the offer.
func TestExhaustedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 2)
		m.stream["c"] = stored{7, m.pending["c"][0].Event, 0} // of an earlier life; its id is forgotten
		m.seq, m.handed = 7, 7
		word := gateway.Exhausted{App: "bot", Seq: 7, Deliveries: 10}
		g := gate.New(gate.Options{App: app(), Ledger: m, Stream: m, Intake: m, Now: time.Now, Log: zap.NewNop()})
		if err := g.Exhausted(t.Context(), word); !errors.Is(err, gateway.ErrUnavailable) {
			t.Fatalf("before it runs: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Run(ctx) }()
		synctest.Wait()
		if err := g.Exhausted(t.Context(), word); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if len(m.dead) != 1 || m.stream["c"].delivery != m.pending["c"][0].Event {
			t.Errorf("dead %v, stream %v", m.dead, m.stream)
		}
		cancel()
		<-done
		if err := g.Exhausted(ctx, word); !errors.Is(err, context.Canceled) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// The gate dies between burying an event and taking its offer away, and the worker
// that hangs on it never acks: the next gate frees the place after the watchdog's
// time, not earlier and not while the application is down.
func TestBuriedAndNotWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 3)
		ctx, cancel := context.WithCancel(t.Context())
		first := gate.New(gate.Options{App: app(), Ledger: m, Stream: m, Intake: m, Now: time.Now, Log: zap.NewNop()})
		done := make(chan error)
		go func() { done <- first.Run(ctx) }()
		synctest.Wait()
		_, s, _ := m.deliver(rand.New(rand.NewPCG(1, 1)))
		cancel()
		<-done
		m.settle("c", s.delivery, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonWatchdog})
		start(t, m, app())
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := m.at("c"); got != s {
			t.Fatalf("taken away while the application is down: %v", got)
		}
		m.set(func() { m.pulls = 1 })
		time.Sleep(85 * time.Second)
		synctest.Wait()
		if got := m.at("c"); got != s {
			t.Fatalf("taken away too early: %v", got)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if m.stream["c"].delivery != m.pending["c"][0].Event || len(m.dead) != 1 {
			t.Errorf("stream %v, pending %v, dead %v", m.stream, m.pending, m.dead)
		}
	})
}

// A broker that is away when an offer is to be taken away is asked again.
func TestWithdrawalIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 2)
		g := start(t, m, app())
		_, s, _ := m.deliver(rand.New(rand.NewPCG(1, 1)))
		m.set(func() { m.deaf = 3 })
		if err := g.Exhausted(t.Context(), gateway.Exhausted{App: "bot", Seq: s.seq, Deliveries: 10}); err != nil {
			t.Error(err)
		}
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if got := m.at("c"); got != s {
			t.Fatalf("the offer is %v, want %v", got, s)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(m.dead) != 1 || m.stream["c"].delivery != m.pending["c"][0].Event {
			t.Errorf("stream %v, pending %v", m.stream, m.pending)
		}
	})
}

// After a restart the broker knows our offers by id, or by what lies in the
// stream; nothing is offered beside them.
func TestAdoptsOffersOfEarlierLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add("c", 1)
		ctx, cancel := context.WithCancel(t.Context())
		first := gate.New(gate.Options{App: app(), Ledger: m, Stream: m, Intake: m, Now: time.Now, Log: zap.NewNop()})
		done := make(chan error)
		go func() { done <- first.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-done
		m.set(func() { m.ids = map[string]uint64{} }) // the window is over
		g := start(t, m, app())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s := <-g.Stats(); s.Open != 1 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		if len(m.stream) != 1 || m.seq != 1 {
			t.Errorf("stream %v, seq %d", m.stream, m.seq)
		}
	})
}

// A paused application is offered nothing, and what is in the stream is held.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		g := start(t, m, app())
		g.Pause(true)
		time.Sleep(1100 * time.Millisecond)
		g.Added(m.add("c", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(m.stream) != 0 || !m.paused {
			t.Errorf("stream %v, paused %v", m.stream, m.paused)
		}
		g.Pause(false)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if len(m.stream) != 1 || m.paused {
			t.Errorf("stream %v, paused %v", m.stream, m.paused)
		}
	})
}

// While callbacks go first, few offers go out at a time; then all that wait.
func TestRestBetweenFewOffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, rest := newModel(), atomic.Int64{}
		rest.Store(int64(40 * time.Millisecond))
		for i := range 30 {
			m.add(fmt.Sprint("c", i), 1)
		}
		g := gate.New(gate.Options{App: app(), Ledger: m, Stream: m, Intake: m, Now: time.Now, Log: zap.NewNop(),
			Rest: func() time.Duration { return time.Duration(rest.Load()) }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		defer func() { cancel(); <-done }()
		for i := range 4 {
			synctest.Wait()
			if n := m.offered(); n != 4*(i+1) {
				t.Errorf("%d offers after %d rests", n, i)
			}
			time.Sleep(40 * time.Millisecond)
		}
		rest.Store(0)
		m.set(func() { m.unacked = 16 }) // workers have those
		time.Sleep(time.Second)
		synctest.Wait()
		if n := m.offered(); n != 30 {
			t.Errorf("%d of 30 offers when there is nothing to rest for", n)
		}
	})
}
