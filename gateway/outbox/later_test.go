package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// later tells the sender of a message that failed after it was taken.
func (r *rig) later(account string, began time.Time, o gateway.Outcome) gateway.AccountHealth {
	o.Kind = gateway.OutcomeRetry
	r.sender.Failed(r.t.Context(), &gateway.FailedLater{Platform: "whatsapp", Account: account, Began: began}, &o)
	return r.sender.Account(account).AccountHealth
}

// Messages that were taken may fail for a reason that concerns all of their account. It
// is believed as if a call had been answered so.
func TestFailedLater(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		templates := gateway.Outcome{Scope: gateway.ScopeTemplates, Code: "131048", After: 5 * time.Minute}
		r.later("shop", time.Now(), templates)
		r.replied("begins", template())
		r.answered("asks", "at once")
		time.Sleep(time.Minute)
		r.settle()
		if calls := r.called(); len(calls) != 1 {
			t.Errorf("%d calls, want that of the answer: %+v", len(calls), calls)
		}
		time.Sleep(5 * time.Minute)
		r.settle()
		if n := len(r.called()); n != 2 {
			t.Errorf("%d calls after the wait", n)
		}

		policy := gateway.Outcome{Scope: gateway.ScopeAccount, Blame: gateway.BlamePolicy, Code: "131031", After: 30 * time.Second}
		old := time.Now()
		for range 20 { // of messages that were under way together
			if a := r.later("shop", old, policy); a.State != gateway.AccountIsolated || a.Code != "131031" || a.Probes != 0 {
				t.Fatalf("%+v", a)
			}
		}
		if k := r.kept(); k.State != gateway.AccountIsolated {
			t.Errorf("kept: %+v", k)
		}
		r.answered("asks", "waits")
		time.Sleep(10 * time.Second)
		r.settle()
		if n := len(r.called()); n != 2 {
			t.Errorf("%d calls of an isolated account", n)
		}
		time.Sleep(time.Minute)
		r.settle()
		if a := r.sender.Account("shop"); a.State != gateway.AccountHealthy || len(r.called()) != 3 {
			t.Errorf("%d calls, %+v", len(r.called()), a)
		}
		// What was under way before is no news now, and what is old says nothing.
		if a := r.later("shop", old, policy); a.State != gateway.AccountHealthy {
			t.Errorf("%+v", a)
		}
		if a := r.later("other", time.Now().Add(-time.Hour), policy); a.State != gateway.AccountHealthy {
			t.Errorf("%+v", a)
		}
		r.later("other", time.Time{}, templates)
		if a := r.sender.Account("other"); !a.TemplatesAt.IsZero() {
			t.Errorf("%+v", a)
		}

		pace := gateway.Outcome{Scope: gateway.ScopeAccount, Blame: gateway.BlamePace, Code: "130429", After: time.Second}
		for range 20 {
			r.later("third", time.Now().Add(-time.Second), pace)
		}
		if a := r.sender.Account("third"); a.State != gateway.AccountSlowed || a.Part != 0.5 {
			t.Errorf("20 messages that were under way together count once: %+v", a)
		}
		if a := r.sender.Account("shop"); a.Part != 1 || a.State != gateway.AccountHealthy {
			t.Errorf("%+v", a)
		}
	})
}

// What is said of all that share something is believed of all, and of one customer only
// of that one.
func TestFailedLaterOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.later("shop", time.Now(), gateway.Outcome{Scope: gateway.ScopePair, Blame: gateway.BlamePace, Code: "131056"})
		if a := r.sender.Account("shop"); a.Part != 1 || a.State != gateway.AccountHealthy {
			t.Errorf("%+v", a)
		}
		for i := range 3 {
			r.answered(fmt.Sprint(i), "x")
		}
		time.Sleep(time.Second)
		r.settle()
		if n := len(r.called()); n != 3 {
			t.Errorf("%d calls", n)
		}
		r.shares = []string{"shop", "sister"}
		r.later("shop", time.Now(), gateway.Outcome{Scope: gateway.ScopeAccount, Share: gateway.ShareWABA, Blame: gateway.BlamePolicy, Code: "368", After: time.Minute})
		for name, want := range map[string]gateway.AccountState{"shop": gateway.AccountIsolated, "sister": gateway.AccountIsolated, "other": gateway.AccountHealthy} {
			if a := r.sender.Account(name); a.State != want {
				t.Errorf("%s: %+v", name, a)
			}
		}
	})
}
