package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// BeginAttempt counts the attempts that were stored by themselves.
func (l looked) BeginAttempt(ctx context.Context, a *gateway.Attempt, conv string) error {
	l.r.begins.Add(1)
	return l.Ledger.BeginAttempt(ctx, a, conv)
}

// The next message of a conversation leaves when the one before was accepted, without a
// look at the ledger and a commit of its own in between.
func TestNextLeavesWithTheOutcome(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const takes = 500 * time.Millisecond
		r.plays(takes, r.say)
		const n = 5
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprint("part ", i)
		}
		r.answered("1", texts...)
		time.Sleep((n + 1) * takes)
		r.settle()
		if got := r.texts(); !slices.Equal(got, texts) {
			t.Fatalf("calls %v", got)
		}
		for i, c := range r.called() {
			if want := time.Duration(i) * takes; c.at != want || c.attempt != 1 {
				t.Errorf("call %d at %v, attempt %d", i, c.at, c.attempt)
			}
		}
		for _, m := range r.states() {
			if m.State != gateway.MessageAccepted || m.Attempts != 1 {
				t.Errorf("%+v", m)
			}
		}
		if begins, looks := r.begins.Load(), r.looks.Load(); begins != 1 || looks > 3 {
			t.Errorf("%d attempts had a commit of their own, %d looks", begins, looks)
		}
	})
}

// What happens while a call runs is heeded before the next one leaves.
func TestNextIsNotAssumed(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, r *rig, second string)
		want []string
	}{
		"cancelled": {func(t *testing.T, r *rig, second string) {
			r.deed(t, store.MessageChange{Do: store.DeedCancel, Messages: []string{second}})
		}, []string{"1", "3"}},
		"held": {func(t *testing.T, r *rig, second string) {
			r.deed(t, store.MessageChange{Do: store.DeedHold, Messages: []string{second}})
		}, []string{"1", "3"}},
		"put off": {func(t *testing.T, r *rig, second string) {
			r.deed(t, store.MessageChange{Do: store.DeedReschedule, Messages: []string{second}, At: []time.Time{time.Now().Add(time.Hour)}})
		}, []string{"1", "3"}},
		"stopped": {func(_ *testing.T, r *rig, _ string) { r.halted.Store(true) }, []string{"1"}},
		"ending":  {func(_ *testing.T, r *rig, _ string) { go r.stop() }, []string{"1"}},
		"nothing": {func(*testing.T, *rig, string) {}, []string{"1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.plays(500*time.Millisecond, r.say)
				out := r.ask("1", func(*gateway.Submission) {}, "1")
				two := r.ask("1", func(*gateway.Submission) {}, "2")
				r.ask("1", func(*gateway.Submission) {}, "3")
				r.conv = out.Conv
				time.Sleep(250 * time.Millisecond)
				c.do(t, r, two.ID)
				time.Sleep(30 * time.Second)
				r.settle()
				if got := r.texts(); !slices.Equal(got, c.want) {
					t.Errorf("calls %v, want %v", got, c.want)
				}
				for _, m := range r.states() {
					if m.State == gateway.MessageSending {
						t.Errorf("an attempt is open: %+v", m)
					}
				}
			})
		})
	}
}

// A commit that fails while it would begin the next attempt does neither: the outcome is
// stored later, and the next message leaves after that, once.
func TestNextAfterACommitThatFailed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.plays(100*time.Millisecond, r.say)
		r.fails.Store(3)
		r.answered("1", "a", "b", "c")
		time.Sleep(20 * time.Second)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Fatalf("calls %v", got)
		}
		if gap := r.called()[1].at - r.called()[0].at; gap < 1500*time.Millisecond {
			t.Errorf("the next one left after %v, and the outcome was not stored", gap)
		}
		if a := r.sender.Account("shop"); a.Flying != 0 {
			t.Errorf("%d places of calls are taken", a.Flying)
		}
	})
}

// EndAttempt fails as often as the test asks.
func (l looked) EndAttempt(ctx context.Context, e *gateway.AttemptEnd) error {
	if l.r.fails.Add(-1) >= 0 {
		return gateway.ErrUnavailable
	}
	return l.Ledger.EndAttempt(ctx, e)
}

func (r *rig) deed(t *testing.T, ch store.MessageChange) {
	t.Helper()
	got, err := r.store.Ledger.ChangeMessages(t.Context(), ch, "ops", time.Now())
	if err != nil || got.Changed != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	r.sender.Wake(got.Convs...)
}

// A message that was shown and stands in its account's line leaves without another
// look, but not when it was read long ago.
func TestAheadInLine(t *testing.T) {
	for _, every := range []time.Duration{200 * time.Millisecond, 3 * time.Second} {
		t.Run(every.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.limits = map[string][]gateway.Limit{"shop": {{N: 1, Per: every, Burst: 1}}}
				r.plays(10*time.Millisecond, r.say)
				const n = 10
				for i := range n {
					r.answered("1", fmt.Sprint(i))
				}
				time.Sleep(every / 2)
				r.settle()
				before := r.looks.Load() // beside those for being woken
				time.Sleep((n + 1) * every)
				r.settle()
				looks := r.looks.Load() - before
				calls := r.called()
				if len(calls) != n {
					t.Fatalf("%d calls", len(calls))
				}
				for i, c := range calls {
					if c.text != fmt.Sprint(i) || i > 0 && c.at-calls[i-1].at < every-time.Millisecond {
						t.Errorf("call %d: %+v", i, c)
					}
				}
				if few := looks < n/2; few != (every < time.Second) {
					t.Errorf("%d looks for %d messages, one each %v", looks, n, every)
				}
			})
		})
	}
}
