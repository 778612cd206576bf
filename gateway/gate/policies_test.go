package gate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
)

// switches are the conversations, or "shop", that are stopped.
type switches struct {
	mu sync.Mutex
	on map[string]bool
}

func (s *switches) is(account, conv string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on[account] || s.on[conv]
}

func (s *switches) set(name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on == nil {
		s.on = map[string]bool{}
	}
	s.on[name] = on
}

func (s *switches) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.on)
}

// bot works on what the gate offers, in virtual time: one event of a conversation
// takes it 10 ms, and it has eight at once.
type bot struct {
	t     *testing.T
	m     *model
	g     *gate.Gate
	app   gateway.Application
	fails func(event string) bool
	at    []time.Time // deliveries
}

func (b *bot) run(d time.Duration) {
	b.m.set(func() { b.m.pulls = 1 })
	for end := time.Now().Add(d); time.Now().Before(end); {
		var got []func()
		for conv, s := range b.m.handOut(8) {
			b.at = append(b.at, time.Now())
			got = append(got, func() {
				var p gateway.Pending
				b.m.set(func() {
					if l := b.m.pending[conv]; len(l) > 0 {
						p = l[0]
					}
				})
				a := gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictDone}
				if b.fails(s.delivery) {
					a.Verdict = gateway.VerdictRetry
				}
				answerAs(b.m, b.g, &b.app, conv, p, s, a)
			})
		}
		time.Sleep(10 * time.Millisecond)
		for _, f := range got {
			f()
		}
		synctest.Wait()
		if b.m.left() == 0 {
			return
		}
	}
}

// handOut gives the first offers in the order of the stream.
func (m *model) handOut(most int) map[string]stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]stored{}
	for len(out) < most && !m.paused && !m.down {
		first := ""
		for conv, s := range m.stream {
			if _, has := out[conv]; !has && (first == "" || s.seq < m.stream[first].seq) {
				first = conv
			}
		}
		if first == "" {
			break
		}
		out[first] = m.stream[first]
		m.handed = max(m.handed, m.stream[first].seq)
	}
	return out
}

func (m *model) inOrder(t *testing.T) {
	t.Helper()
	for conv, seqs := range m.order {
		for i, s := range seqs {
			if s != int64(i+1) {
				t.Fatalf("%s was settled in the order %v", conv, seqs)
			}
		}
	}
}

func standard() gateway.Application {
	return gateway.Application{Name: "bot", Tries: 4, Delays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second},
		AckWait: 30 * time.Second, HandlerMax: time.Minute}
}

// The bot is down for ten minutes while customers write: no event becomes a dead
// letter, it is asked rarely, and afterwards everything is handed out in order.
func TestBreaker(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { outage(t, restart) }) })
	}
}

func outage(t *testing.T, restart bool) {
	m := newModel()
	for i := range 100 {
		m.add(fmt.Sprintf("c%02d", i), 2)
	}
	down := true
	var stop func()
	run := func() *gate.Gate {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		stop = func() { cancel(); <-done }
		g := gate.New(gate.Options{App: standard(), Ledger: m, Stream: m, Intake: m, Breaker: m.broken, Now: time.Now, Log: zap.NewNop()})
		go func() { done <- g.Run(ctx) }()
		synctest.Wait()
		return g
	}
	b := &bot{t: t, m: m, g: run(), app: standard(), fails: func(string) bool { return down }}
	b.run(10 * time.Second)
	if !b.g.Tripped() || m.broken.Since.IsZero() || len(b.at) > 330 {
		t.Fatalf("tripped %v, kept %+v, %d deliveries", b.g.Tripped(), m.broken, len(b.at))
	}
	b.at = nil
	for minute := range 10 {
		if restart && minute == 4 {
			stop()
			b.g = run()
			if !b.g.Tripped() {
				t.Fatal("a restart closed the breaker")
			}
		}
		b.g.Added(m.add(fmt.Sprintf("c%02d", minute), 1))
		b.g.Added(m.add(fmt.Sprintf("new%02d", minute), 1))
		b.run(time.Minute)
	}
	// 5, 10, 20, 40 s, and then one a minute; and the new conversation of each minute.
	if n := len(b.at); n < 19 || n > 24 {
		t.Errorf("%d probes in ten minutes: %v", n, b.at)
	}
	down = false
	began := time.Now()
	b.run(2 * time.Minute)
	if m.left() > 0 || len(m.dead) > 0 || b.g.Tripped() || !m.broken.Since.IsZero() {
		t.Errorf("%d left, dead %v, tripped %v, kept %+v: %+v", m.left(), m.dead, b.g.Tripped(), m.broken, <-b.g.Stats())
	}
	m.inOrder(t)
	t.Logf("drained within %s, the wait for the probe included", time.Since(began))
	stop()
}

// Events that can only fail are dead letters, exactly those, and trip nothing for
// good: also when they are all that is left.
func TestPoison(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			m, poison := newModel(), map[string]bool{}
			for i := range 100 {
				for _, p := range m.add(fmt.Sprintf("c%02d", i), 10) {
					if r.IntN(25) == 0 {
						poison[p.Event] = true
					}
				}
			}
			b := &bot{t: t, m: m, g: start(t, m, standard()), app: standard(), fails: func(e string) bool { return poison[e] }}
			b.run(10 * time.Minute)
			if m.left() > 0 || b.g.Tripped() {
				t.Fatalf("%d left, tripped %v: %+v", m.left(), b.g.Tripped(), <-b.g.Stats())
			}
			for _, e := range m.dead {
				if !poison[e] {
					t.Errorf("%s is dead", e)
				}
			}
			if len(m.dead) != len(poison) {
				t.Errorf("%d dead letters, want %d", len(m.dead), len(poison))
			}
			m.inOrder(t)
		})
	}
}

// Conversations of which everything fails, and one that works: its events wait no
// longer than for the first probe, also when the application is tripped by the
// others.
func TestHealthyBesideFailing(t *testing.T) {
	for _, block := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, a := newModel(), standard()
			a.Block, a.BlockFor, a.BlockTries = block, time.Hour, 1000
			for i := range 64 {
				m.add(fmt.Sprintf("bad%02d", i), 3)
			}
			b := &bot{t: t, m: m, app: a, fails: func(e string) bool { return strings.HasPrefix(e, "bad") }}
			b.g = start(t, m, a)
			var worst time.Duration
			for i := range 30 {
				b.g.Added(m.add("good", 1))
				began := time.Now()
				for len(m.order["good"]) <= i {
					b.run(50 * time.Millisecond)
					if time.Since(began) > time.Minute {
						t.Fatalf("block %v: event %d waits: %+v", block, i, <-b.g.Stats())
					}
				}
				worst = max(worst, time.Since(began))
				b.run(time.Duration(i) * 100 * time.Millisecond)
			}
			if worst > 6*time.Second {
				t.Errorf("block %v: an event waited for %s", block, worst)
			}
			if block && len(m.dead) > 0 {
				t.Errorf("dead %v", m.dead)
			}
		})
	}
}

// With block an event whose tries are spent holds its conversation, and only that
// one, until a cap is reached by a try: then it is a dead letter.
func TestBlock(t *testing.T) {
	for _, c := range []struct {
		reason     string
		tries      int
		from, upto time.Duration // when it is buried
	}{
		{gateway.ReasonBlockTries, 6, 96 * time.Second, 98 * time.Second}, // 1 + 5 + 30 + 30 + 30 s
		{gateway.ReasonBlockFor, 100, 636 * time.Second, 638 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, a := newModel(), standard()
			a.Tries, a.Block, a.BlockFor, a.BlockTries = 4, true, 10*time.Minute, c.tries
			m.add("bad", 2)
			m.add("good", 5)
			b := &bot{t: t, m: m, app: a, g: start(t, m, a), fails: func(e string) bool { return e == "bad-1ns" }}
			began := time.Now()
			b.run(50 * time.Second)
			if len(m.order["good"]) != 5 || m.pending["bad"][0].Blocked.IsZero() || len(m.dead) > 0 {
				t.Fatalf("%s: good %v, bad %+v, dead %v", c.reason, m.order["good"], m.pending["bad"], m.dead)
			}
			for len(m.dead) == 0 && time.Since(began) < time.Hour {
				b.run(100 * time.Millisecond)
			}
			if at := time.Since(began); at < c.from || at > c.upto || m.buried[0] != c.reason {
				t.Errorf("buried after %s as %v, want %s", at, m.buried, c.reason)
			}
			b.run(time.Minute)
			if m.left() != 0 {
				t.Errorf("%d left", m.left())
			}
		})
	}
}

// A blocked event is buried by a try and never by time alone.
func TestBlockedWhileNobodyWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a := newModel(), standard()
		a.Tries, a.Block, a.BlockFor, a.BlockTries = 1, true, time.Minute, 10
		m.add("c", 1)
		b := &bot{t: t, m: m, app: a, g: start(t, m, a), fails: func(string) bool { return true }}
		b.run(time.Second)
		m.set(func() { m.pulls = 0 })
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if len(m.dead) > 0 || m.pending["c"][0].Blocked.IsZero() {
			t.Fatalf("dead %v, pending %+v", m.dead, m.pending["c"])
		}
		b.run(10 * time.Second)
		if len(m.dead) != 1 || m.buried[0] != gateway.ReasonBlockFor {
			t.Errorf("dead %v %v", m.dead, m.buried)
		}
	})
}

// The watchdog takes an event away from a handler that hangs, and blocks.
func TestWatchdogBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a := newModel(), standard()
		a.Block, a.BlockFor, a.BlockTries = true, time.Hour, 10
		m.add("c", 2)
		start(t, m, a)
		m.set(func() { m.pulls = 1 })
		m.deliver(rand.New(rand.NewPCG(1, 1)))
		time.Sleep(93 * time.Second)
		synctest.Wait()
		if p := m.pending["c"][0]; len(m.dead) > 0 || p.Blocked.IsZero() || p.Tries != 1 || m.at("c").round != 1 {
			t.Errorf("dead %v, pending %+v, offer %+v", m.dead, p, m.at("c"))
		}
	})
}

// What is stopped is not offered, and taken back where no worker has it; the other
// conversations go on. Let go, it goes on in order.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newModel(), &switches{}
		m.add("a", 2)
		m.add("b", 2)
		m.add("c", 2)
		g := startStopped(t, m, standard(), s)
		m.set(func() { m.pulls = 1 })
		got := m.handOut(1) // the first one is with a worker
		held := ""
		for conv := range got {
			held = conv
		}
		s.set("shop", true)
		g.Braked()
		synctest.Wait()
		if m.offered() != 1 || m.at(held).seq == 0 || m.paused {
			t.Fatalf("in the stream: %v, held consumer %v", m.stream, m.paused)
		}
		// What the worker has is finished; its successor waits.
		b := &bot{t: t, m: m, app: standard(), g: g, fails: func(string) bool { return false }}
		b.run(10 * time.Second)
		if st := <-g.Stats(); m.left() != 5 || st.Held != 3 || m.offered() != 0 {
			t.Fatalf("%d left: %+v", m.left(), st)
		}
		s.set("shop", false)
		s.set("b", true)
		g.Braked()
		b.run(10 * time.Second)
		if m.left() != len(m.pending["b"]) || m.left() == 0 {
			t.Fatalf("left %v", m.pending)
		}
		s.clear()
		g.Braked()
		b.run(time.Minute)
		if m.left() > 0 || len(m.dead) > 0 {
			t.Errorf("%d left, dead %v", m.left(), m.dead)
		}
		m.inOrder(t)
	})
}

// An offer of a life before this one, of what is stopped, is taken back too.
func TestStoppedOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newModel(), &switches{}
		m.add("a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- gate.New(gate.Options{App: standard(), Ledger: m, Stream: m, Intake: m, Now: time.Now, Log: zap.NewNop()}).Run(ctx)
		}()
		synctest.Wait()
		cancel()
		<-done
		if m.offered() != 1 {
			t.Fatal("nothing was offered")
		}
		s.set("a", true)
		g := startStopped(t, m, standard(), s)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m.offered() != 0 {
			t.Errorf("stream %v", m.stream)
		}
		s.clear()
		g.Braked()
		synctest.Wait()
		if m.at("a").round != 1 {
			t.Errorf("stream %v", m.stream)
		}
	})
}

// A broker that is away when something is stopped is asked again.
func TestStoppedWhileTheBrokerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newModel(), &switches{}
		m.add("a", 1)
		g := startStopped(t, m, standard(), s)
		m.set(func() { m.down = true })
		s.set("a", true)
		g.Braked()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		m.set(func() { m.down = false })
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m.offered() != 0 || m.paused {
			t.Errorf("stream %v, held %v", m.stream, m.paused)
		}
	})
}

// A gate that died between the next round and the deletion leaves an offer of the
// round before.
func TestStoppedAndDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newModel(), &switches{}
		m.add("a", 1)
		m.stream["a"] = stored{7, m.pending["a"][0].Event, 0}
		m.seq = 7
		m.pending["a"][0].Round = 1
		s.set("a", true)
		startStopped(t, m, standard(), s)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m.offered() != 0 || m.pending["a"][0].Round != 1 {
			t.Errorf("stream %v, pending %+v", m.stream, m.pending)
		}
	})
}
