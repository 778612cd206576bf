package outbox_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// A machine that slept, or whose clock is set, sends what is for later by the clock, once
// and in order: set forward, at most a minute after it became due; set back, not before.
func TestScheduledWhileTheClockIsSet(t *testing.T) {
	for name, set := range map[string]time.Duration{"forward": 30 * time.Minute, "back": -30 * time.Minute, "back and forward": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.retry.MaxAge = 24 * time.Hour
				r.submit("1", 18*time.Minute, 0, "one", "two")
				r.submit("1", 18*time.Minute+time.Second, 0, "three")
				r.submit("2", 18*time.Minute, 24*time.Minute, "ends")
				time.Sleep(6 * time.Minute)
				r.left("before")
				if set == 0 { // and then to the right time again
					r.skew.Store(int64(-30 * time.Minute))
					time.Sleep(6 * time.Minute)
					r.left("set back")
				}
				r.skew.Store(int64(set))
				at := 12 * time.Minute // from now on, until the last is due
				switch {
				case set > 0:
					at = 0
				case set == 0:
					at = 6 * time.Minute
				default:
					at -= set
				}
				if at > 0 {
					time.Sleep(at - time.Second)
					r.left("not due yet")
				}
				time.Sleep(time.Minute + 3*time.Second)
				r.settle()
				got := r.texts()
				slices.Sort(got) // two conversations
				want := []string{"ends", "one", "three", "two"}
				if set > 0 { // its end was while the machine slept
					want = want[1:]
				}
				if !slices.Equal(got, want) {
					t.Fatalf("sent %v, want %v", got, want)
				}
				time.Sleep(10 * time.Minute)
				r.settle()
				if n := len(r.called()); n != len(want) {
					t.Errorf("%d calls in the end, want %d", n, len(want))
				}
			})
		})
	}
}

// However a message waits, its end ends it: nothing of it leaves afterwards, over a
// restart too, and what is behind it goes on.
func TestExpiresHoweverItWaits(t *testing.T) {
	accepted := gateway.Outcome{Kind: gateway.OutcomeAccepted}
	retry := func(o gateway.Outcome) func(r *rig) {
		return func(r *rig) {
			o.Kind = gateway.OutcomeRetry
			r.plays(0, func(_ int, m *gateway.Message) gateway.Outcome {
				if m.Reply.Text == "ends" {
					return o
				}
				return accepted
			})
		}
	}
	for name, c := range map[string]struct {
		waits func(r *rig)
		then  func(r *rig, id string) // at the end
		calls int                     // that may be made of it before
	}{
		"stopped by a person": {waits: func(r *rig) { r.halted.Store(true) }, then: func(r *rig, _ string) { r.halted.Store(false) }},
		"for its account's pace": {waits: func(r *rig) {
			r.limits = map[string][]gateway.Limit{"shop": {{N: 1, Per: time.Hour, Burst: 1}}}
			r.restart()
			r.submit("other", 0, 0, "takes the place")
		}, then: func(r *rig, _ string) { r.limits = nil; r.restart() }},
		"for its customer's pace": {waits: func(r *rig) {
			r.limits = map[string][]gateway.Limit{"shop": {{N: 1, Per: time.Hour, Burst: 1, Pair: true}}}
			r.restart()
			r.submit("1", 0, 0, "takes the place")
		}, then: func(r *rig, _ string) { r.limits = nil; r.restart() }},
		"behind an unknown one": {waits: func(r *rig) {
			r.unknown = gateway.OnUnknown{}
			r.plays(0, func(n int, _ *gateway.Message) gateway.Outcome {
				if n == 1 {
					return gateway.Outcome{Kind: gateway.OutcomeUnknown}
				}
				return accepted
			})
			r.submit("1", 0, 0, "not known")
			time.Sleep(time.Millisecond)
		}},
		"between two tries":     {waits: retry(gateway.Outcome{Scope: gateway.ScopePair, Code: "busy", After: time.Hour}), calls: 1},
		"for a stopped account": {waits: retry(gateway.Outcome{Scope: gateway.ScopeAccount, Blame: gateway.BlameCredential, Code: "190", After: time.Hour}), calls: 1},
		"held":                  {waits: func(r *rig) { r.halted.Store(true) }, then: func(r *rig, id string) { r.change(store.DeedRelease, id, 2) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.retry.MaxAge = 24 * time.Hour
				if c.waits != nil {
					c.waits(r)
				}
				out := r.submit("1", 0, 30*time.Second, "ends", "and its second part")
				if name == "held" {
					r.change(store.DeedHold, out.ID, 2)
					r.halted.Store(false)
				}
				r.submit("1", 0, 0, "after")
				time.Sleep(20 * time.Second)
				r.settle()
				r.restart()
				time.Sleep(11 * time.Second)
				r.settle()
				if c.then != nil {
					c.then(r, out.ID)
					r.sender.Wake(out.Conv)
				}
				time.Sleep(3 * time.Hour)
				r.settle()
				n := 0
				for _, call := range r.called() {
					if call.text == "and its second part" || call.text == "ends" && n == c.calls {
						t.Errorf("sent after its end: %+v", call)
					}
					if call.text == "ends" {
						n++
					}
				}
				for _, id := range out.Messages {
					if m, _, err := r.store.Ledger.Message(t.Context(), id); err != nil || m.State != gateway.MessageExpired {
						t.Errorf("%+v, %v", m, err)
					}
				}
				if texts := r.texts(); texts[len(texts)-1] != "after" {
					t.Errorf("sent %v, not what is behind it", texts)
				}
			})
		})
	}
}

// change does one thing to a message and the parts that go along.
func (r *rig) change(do store.MessageDeed, id string, changed int) {
	r.t.Helper()
	got, err := r.store.Ledger.ChangeMessages(r.t.Context(), store.MessageChange{Do: do, Messages: []string{id}}, "ops", time.Now())
	if err != nil || got.Changed != changed {
		r.t.Fatalf("%+v, %v", got, err)
	}
	r.sender.Wake(got.Convs...)
}

// restart stops sender and judge, and starts others.
func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start(time.Now())
}

// What people take back, hold and move at the moment at which it begins to leave either
// leaves or does not, and they are told which: nothing that was said to be taken back
// leaves, nothing leaves twice, and parts keep their order.
func TestChangesRaceWithTheirSending(t *testing.T) {
	for _, takes := range []time.Duration{0, 3 * time.Millisecond} {
		for _, do := range []store.MessageDeed{store.DeedCancel, store.DeedHold, store.DeedReschedule} {
			t.Run(fmt.Sprint(do, takes), func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					const customers, parts = 60, 3
					r.plays(takes, r.say)
					due := time.Now().Add(time.Minute)
					tasks := make([]gateway.Submitted, customers)
					texts := map[string]string{}
					for i := range tasks {
						tasks[i] = r.submit(fmt.Sprint(i), time.Minute, 0, "1", "2", "3")
						for n, id := range tasks[i].Messages {
							texts[id] = fmt.Sprint(i, ".", n)
						}
					}
					time.Sleep(time.Minute - time.Nanosecond)
					stopped := map[string]bool{} // by the word of a change
					var mu sync.Mutex
					var wg sync.WaitGroup
					later := due.Add(time.Hour)
					for i := range tasks {
						wg.Go(func() {
							time.Sleep(time.Nanosecond + time.Duration(i%10)*time.Millisecond)
							id := tasks[i].Messages[i%parts]
							ch := store.MessageChange{Do: do, Messages: []string{id}}
							if do == store.DeedReschedule {
								ch.At = []time.Time{later}
							}
							out, err := r.store.Ledger.ChangeMessages(t.Context(), ch, "ops", time.Now())
							if err != nil {
								t.Error(err)
								return
							}
							r.sender.Wake(out.Convs...)
							if out.Changed > 0 {
								mu.Lock()
								stopped[id] = true
								mu.Unlock()
							}
						})
					}
					wg.Wait()
					time.Sleep(time.Minute)
					r.settle()
					before := len(r.called())
					time.Sleep(2 * time.Hour)
					r.settle()
					next, seen := map[string]int{}, map[string]bool{}
					for i, c := range r.called() {
						if seen[c.message] {
							t.Errorf("%s left twice", texts[c.message])
						}
						seen[c.message] = true
						if stopped[c.message] && (do != store.DeedReschedule || i < before) {
							t.Errorf("%s left though it was stopped", texts[c.message])
						}
						var customer, part int
						if _, err := fmt.Sscanf(texts[c.message], "%d.%d", &customer, &part); err != nil || part != next[fmt.Sprint(customer)] {
							t.Errorf("%s left behind part %d", texts[c.message], next[fmt.Sprint(customer)]-1)
						}
						next[fmt.Sprint(customer)]++
					}
					if len(stopped) == 0 || len(stopped) == customers {
						t.Logf("%d of %d were stopped: no race", len(stopped), customers)
					}
					sums, err := r.store.Ledger.Sums(t.Context())
					m := sums.Messages
					if err != nil || m.Taken != customers*parts || m.Taken != m.Accepted+m.Cancelled+m.Held || m.Accepted != int64(len(seen)) {
						t.Errorf("%+v, %v; %d left", m, err, len(seen))
					}
				})
			})
		}
	}
}
