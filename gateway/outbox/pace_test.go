package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// number is the pace of a WhatsApp number.
func number() []gateway.Limit {
	return []gateway.Limit{{N: 80, Per: time.Second, Burst: 8}, {Pair: true, N: 10, Per: time.Minute, Burst: 45}}
}

// What customers write counts with what leaves, where the platform says so: what leaves
// is slower then, never stands still, and is as fast as before when they are silent.
func TestPaceInAndOut(t *testing.T) {
	for in, want := range map[int][2]int{0: {18, 22}, 10: {8, 12}, 100: {4, 6}} { // a second, of 20
		t.Run(fmt.Sprint(in), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.limits = map[string][]gateway.Limit{"shop": {{N: 20, Per: time.Second, Burst: 2, Both: true}}}
				r.plays(10*time.Millisecond, r.say)
				for i := range 250 {
					r.answered(fmt.Sprint("c", i), "x")
				}
				writes := func(d time.Duration) int {
					before := len(r.called())
					for range int(d / (100 * time.Millisecond)) {
						r.sender.Heard("shop", in/10)
						time.Sleep(100 * time.Millisecond)
					}
					return len(r.called()) - before
				}
				writes(3 * time.Second)
				if n := writes(4*time.Second) / 4; n < want[0] || n > want[1] {
					t.Errorf("%d a second leave beside %d that come, want %v", n, in, want)
				}
				time.Sleep(8 * time.Second)
				before := len(r.called())
				time.Sleep(time.Second)
				if n := len(r.called()) - before; in > 0 && (n < 18 || n > 22) {
					t.Errorf("%d in a second when nothing comes any more", n)
				}
			})
		})
	}
}

// What waits for the account's pace leaves at that pace, costs no attempt and no try,
// and is not looked at meanwhile. Another account does not notice.
func TestPaceOfAnAccount(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = map[string][]gateway.Limit{"shop": number()}
		r.plays(50*time.Millisecond, r.say)
		const n = 400
		for i := range n {
			r.account = "shop"
			r.answered(fmt.Sprint("c", i), "x")
		}
		r.account = "other"
		r.answered("1", "other")
		time.Sleep(time.Minute)
		r.settle()
		calls := r.called()
		if len(calls) != n+1 {
			t.Fatalf("%d calls", len(calls))
		}
		per := map[time.Duration]int{}
		var first, last time.Duration = time.Hour, 0
		for _, c := range calls {
			if c.text == "other" {
				if c.at > calls[len(calls)-1].at-4*time.Second {
					t.Errorf("the other account waited: %v", c.at)
				}
				continue
			}
			per[c.at/time.Second]++
			first, last = min(first, c.at), max(last, c.at)
			if c.attempt != 1 {
				t.Errorf("attempt %d", c.attempt)
			}
		}
		for s, n := range per {
			if n > 88 {
				t.Errorf("%d in second %d", n, s)
			}
		}
		if took := last - first; took < 4800*time.Millisecond || took > 5100*time.Millisecond {
			t.Errorf("400 at 80 a second took %v", took)
		}
		if looks := r.looks.Load(); looks > 4*n {
			t.Errorf("%d looks for %d messages", looks, n)
		}
	})
}

// A conversation that is at its own pace waits alone.
func TestPaceOfAPair(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = map[string][]gateway.Limit{"shop": number()}
		texts := make([]string, 20)
		for i := range texts {
			texts[i] = fmt.Sprint(i)
		}
		for range 3 {
			r.answered("many", texts...)
		}
		time.Sleep(10 * time.Second)
		r.settle()
		if n := len(r.called()); n < 45 || n > 47 {
			t.Errorf("%d of the burst of 45", n)
		}
		r.answered("one", "quick")
		r.settle()
		if got := r.texts(); got[len(got)-1] != "quick" {
			t.Error("another conversation waited")
		}
		time.Sleep(80 * time.Second)
		r.settle()
		calls := r.called()
		if len(calls) != 61 {
			t.Fatalf("%d calls after the debt", len(calls))
		}
		if gap := calls[60].at - calls[59].at; gap < 5900*time.Millisecond || gap > 6100*time.Millisecond {
			t.Errorf("one every %v", gap)
		}
		for _, c := range calls {
			if c.attempt != 1 {
				t.Fatalf("attempt %d", c.attempt)
			}
		}
	})
}

// A platform that says that we are too fast has the pace halved, once for all calls in
// flight; it grows back by itself.
func TestSlowedByEvidence(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = map[string][]gateway.Limit{"shop": number()}
		refuse := 3
		r.plays(50*time.Millisecond, func(n int, _ *gateway.Message) gateway.Outcome {
			if n <= refuse {
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Blame: gateway.BlamePace, Code: "130429", After: time.Second}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		})
		for i := range 5 {
			r.answered(fmt.Sprint("c", i), "x")
		}
		time.Sleep(100 * time.Millisecond)
		r.settle()
		if a := r.sender.Account("shop"); a.State != gateway.AccountSlowed || a.Reason != gateway.BlamePace || a.Part != 0.5 {
			t.Errorf("%+v", a)
		}
		time.Sleep(4 * time.Second)
		r.settle()
		if n := len(r.called()); n != 8 {
			t.Errorf("%d calls", n)
		}
		time.Sleep(time.Minute)
		if a := r.sender.Account("shop"); a.State != gateway.AccountHealthy || a.Part != 1 {
			t.Errorf("%+v", a)
		}
		if m := r.states(); m[0].State != gateway.MessageAccepted {
			t.Errorf("%+v", m)
		}
	})
}

// A pair limit that the platform found takes what that conversation had left, holds
// nobody else, and never uses up tries.
func TestPairLimitOfThePlatform(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = map[string][]gateway.Limit{"shop": number()}
		r.retry.Tries = 2
		r.plays(0, func(_ int, m *gateway.Message) gateway.Outcome {
			if m.Reply.Text == "limited" && m.Attempts < 6 {
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Blame: gateway.BlamePace, Tries: gateway.Unbounded, Code: "131056", After: time.Second}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		})
		r.answered("1", "limited")
		limited := r.conv
		r.settle()
		for i := range 10 {
			r.answered(fmt.Sprint("c", i), "x")
		}
		time.Sleep(100 * time.Millisecond) // at the account's pace
		r.settle()
		if n := len(r.called()); n != 11 {
			t.Errorf("%d calls", n)
		}
		time.Sleep(5 * time.Minute)
		r.settle()
		r.conv = limited
		if m := r.states()[0]; m.State != gateway.MessageAccepted || m.Attempts != 6 {
			t.Errorf("%+v", m)
		}
	})
}

// Calls of one account that hang leave room for the others.
func TestHangingAccountHoldsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.plays(0, func(_ int, m *gateway.Message) gateway.Outcome {
			if m.Account == "hangs" {
				time.Sleep(14 * time.Second)
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		})
		r.account = "hangs"
		for i := range 600 {
			r.answered(fmt.Sprint("c", i), "x")
		}
		time.Sleep(time.Second)
		before := len(r.called())
		r.account = "shop"
		r.answered("1", "quick")
		r.settle()
		if n := len(r.called()); before >= 600 || n != before+1 {
			t.Errorf("%d calls of the account that hangs, %d after another's message", before, n)
		}
	})
}

// When the tries of a message are spent it is a dead letter; requeued, it has them
// again and leaves with what it took along.
func TestTriesSpent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.retry = gateway.Retry{Tries: 4, First: 10 * time.Second, Factor: 2, Jitter: 0.2, MaxAge: 24 * time.Hour}
		busy := true
		r.plays(0, func(int, *gateway.Message) gateway.Outcome {
			if busy {
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "-1", Detail: "system busy", After: time.Second}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		})
		r.answered("1", "a", "b")
		time.Sleep(5 * time.Minute)
		r.settle()
		c := r.called()
		if len(c) != 4 {
			t.Fatalf("%d calls", len(c))
		}
		for i, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			if gap := c[i+1].at - c[i].at; gap < want*8/10-time.Second || gap > want*12/10+time.Second {
				t.Errorf("gap %d is %v", i, gap)
			}
		}
		dead := r.dead()
		if len(dead) != 1 || dead[0].Reason != gateway.ReasonTries || dead[0].Tries != 4 || dead[0].Detail != "-1: system busy" {
			t.Fatalf("%+v", dead)
		}
		busy = false
		r.requeue(dead[0].ID)
		if m := r.states(); m[0].State != gateway.MessageAccepted || m[1].State != gateway.MessageAccepted {
			t.Errorf("%+v", m)
		}
	})
}

// What the account never took in all its time is a dead letter "expired", and can be
// requeued when that is long ago.
func TestTooOld(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.retry.MaxAge = time.Hour
		refused := true
		r.plays(0, func(int, *gateway.Message) gateway.Outcome {
			if refused {
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Blame: gateway.BlameCredential, Code: "190", After: 30 * time.Second}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		})
		r.answered("1", "a", "b")
		time.Sleep(4 * r.retry.MaxAge)
		r.settle()
		dead := r.dead()
		if len(dead) != 1 || dead[0].Reason != gateway.ReasonExpired || dead[0].Detail != "190" {
			t.Fatalf("%+v", dead)
		}
		refused = false
		r.requeue(dead[0].ID)
		time.Sleep(16 * time.Minute) // the account's next probe
		r.settle()
		if m := r.states(); m[0].State != gateway.MessageAccepted || m[1].State != gateway.MessageAccepted {
			t.Errorf("%+v", m)
		}
	})
}

func (r *rig) dead() []gateway.DeadLetter {
	r.t.Helper()
	dead, err := r.store.Ledger.Dead(r.t.Context(), store.DeadQuery{Kind: "message"})
	if err != nil {
		r.t.Fatal(err)
	}
	return dead
}

func (r *rig) requeue(id string) {
	r.t.Helper()
	if _, err := r.store.Ledger.Requeue(r.t.Context(), id, "ops", time.Now()); err != nil {
		r.t.Fatal(err)
	}
	r.sender.Wake(r.conv)
	r.settle()
}

// A restart lends no burst anew, and lets no window begin anew: what left before it
// counts until it is repaid. What is spent by then is left to the others.
func TestPaceOverARestart(t *testing.T) {
	for name, c := range map[string]struct {
		limits []gateway.Limit
		// most that may leave at once, and when all 60 have.
		burst int
		all   time.Duration
	}{
		"pair of WhatsApp": {number(), 45, 95 * time.Second},
		"member of WeCom":  {[]gateway.Limit{{Pair: true, N: 30, Per: time.Minute}}, 30, 66 * time.Second},
		"account":          {[]gateway.Limit{{N: 20, Per: time.Minute}}, 20, 131 * time.Second},
		"corp":             {[]gateway.Limit{{Of: "ww1/app", N: 20, Per: time.Minute}}, 20, 131 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				begin := time.Now()
				r.stop()
				r.limits = map[string][]gateway.Limit{"shop": c.limits}
				r.start(begin)
				texts := make([]string, 20)
				for i := range texts {
					texts[i] = fmt.Sprint(i)
				}
				for range 3 {
					r.answered("many", texts...)
				}
				// Restarts at any moment: among the burst, while it waits, at its last call.
				for range 12 {
					time.Sleep(time.Second)
					r.settle()
					r.stop()
					r.start(begin)
				}
				r.settle()
				if n := len(r.called()); n < c.burst || n > c.burst+2 {
					t.Errorf("%d calls in 12 s with a restart each second, want %d", n, c.burst)
				}
				time.Sleep(c.all - 12*time.Second)
				r.settle()
				if n := len(r.called()); n != 60 {
					t.Errorf("%d calls at last, want all 60", n)
				}
			})
		})
	}
}

// An account that takes its messages has more calls on their way than one that is slow
// to: as many as its pace needs. When it hangs, few become unknown.
func TestCallsAtOnceGrow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = map[string][]gateway.Limit{"shop": {{N: 600, Per: time.Second, Burst: 1}}}
		r.plays(500*time.Millisecond, r.say)
		const convs, each = 320, 6
		for i := range convs {
			r.answered(fmt.Sprint("c", i), "1", "2", "3", "4", "5", "6")
		}
		time.Sleep(400 * time.Millisecond)
		if first := r.sender.Account("shop").Flying; first > 128 {
			t.Errorf("%d calls before one was answered", first)
		}
		most := 0
		for range 600 {
			time.Sleep(20 * time.Millisecond)
			r.settle()
			most = max(most, r.sender.Account("shop").Flying)
		}
		if n := len(r.called()); n != each*convs || most < 280 || most > 301 {
			t.Errorf("%d calls, at most %d at once, want %d and those of half a second at 600 a second", n, most, each*convs)
		}
		r.plays(30*time.Second, r.say)
		for i := range convs {
			r.answered(fmt.Sprint("c", i), "7")
		}
		time.Sleep(10 * time.Second)
		if n := r.sender.Account("shop").Flying; n != 128 {
			t.Errorf("%d calls of an account that hangs", n)
		}
	})
}
