package outbox_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/causewayhq/causeway/gateway"
)

// revoked refuses an account's credentials while yes.
func (r *rig) revoked(account string, yes *atomic.Bool) {
	r.plays(20*time.Millisecond, func(_ int, m *gateway.Message) gateway.Outcome {
		if m.Account == account && yes.Load() {
			return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Blame: gateway.BlameCredential, Code: "190", After: 30 * time.Second}
		}
		return gateway.Outcome{Kind: gateway.OutcomeAccepted}
	})
}

// kept is what the ledger holds of the one stopped account.
func (r *rig) kept() gateway.AccountHealth {
	r.t.Helper()
	list, err := r.store.Ledger.AccountHealth(r.t.Context())
	if err != nil || len(list) > 1 {
		r.t.Fatalf("%+v, %v", list, err)
	}
	if len(list) == 0 {
		return gateway.AccountHealth{State: gateway.AccountHealthy}
	}
	return list[0]
}

// Refused credentials pause the account: one alert, probes instead of messages, no
// message lost, no other account held; it returns by itself.
func TestCredentialRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		core, logs := observer.New(zap.InfoLevel)
		r.stop()
		r.log, r.retry.MaxAge = zap.New(core), 24*time.Hour
		r.start(time.Now())
		var yes atomic.Bool
		var probes atomic.Int64
		yes.Store(true)
		r.revoked("gone", &yes)
		r.probe = func() string {
			probes.Add(1)
			if yes.Load() {
				return "190"
			}
			return ""
		}
		r.account = "gone"
		for i := range 30 {
			r.answered(fmt.Sprint("c", i), "x")
		}
		r.account = "shop"
		r.answered("1", "other")
		time.Sleep(time.Hour)
		r.settle()
		if n := len(r.called()); n > 31 || probes.Load() < 5 || probes.Load() > 12 {
			t.Errorf("%d calls and %d probes in an hour", n, probes.Load())
		}
		if m := r.states()[0]; m.State != gateway.MessageAccepted {
			t.Errorf("the other account's message is %s", m.State)
		}
		a := r.sender.Account("gone")
		if a.State != gateway.AccountPaused || a.Reason != gateway.BlameCredential || a.Code != "190" || a.Waiting != 30 || !a.ProbeAt.After(time.Now()) {
			t.Errorf("%+v", a)
		}
		if k := r.kept(); k.Account != "gone" || k.State != gateway.AccountPaused {
			t.Errorf("kept: %+v", k)
		}
		if n := logs.FilterMessage("account.stopped").Len(); n != 1 {
			t.Errorf("%d alerts", n)
		}
		yes.Store(false)
		time.Sleep(20 * time.Minute)
		r.settle()
		if k := r.kept(); k.State != gateway.AccountHealthy || len(r.dead()) > 0 {
			t.Errorf("kept: %+v", k)
		}
		if a := r.sender.Account("gone"); a.State != gateway.AccountHealthy || a.Waiting != 0 || a.Flying != 0 {
			t.Errorf("%+v", a)
		}
		if n := logs.FilterMessage("account.recovered").Len(); n != 1 {
			t.Errorf("%d returns", n)
		}
	})
}

// A stopped account is stopped after a restart, unless its credentials are others.
func TestStoppedOverRestarts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		begin := time.Now()
		var yes atomic.Bool
		yes.Store(true)
		r.keyFP = "old"
		r.stop()
		r.start(begin)
		r.revoked("shop", &yes)
		r.answered("1", "x")
		time.Sleep(time.Second)
		r.settle()
		r.stop()
		r.start(begin)
		time.Sleep(20 * time.Second)
		r.settle()
		if n := len(r.called()); n != 1 {
			t.Errorf("%d calls before the probe's time", n)
		}
		if a := r.sender.Account("shop"); a.State != gateway.AccountPaused || a.Code != "190" {
			t.Errorf("%+v", a)
		}
		yes.Store(false)
		r.keyFP = "new"
		r.stop()
		r.start(begin)
		r.settle()
		if k := r.kept(); k.State != gateway.AccountHealthy {
			t.Errorf("with new credentials: %+v", k)
		}
		time.Sleep(30 * time.Second)
		r.settle()
		if m := r.states()[0]; m.State != gateway.MessageAccepted {
			t.Errorf("%+v", m)
		}
	})
}

// A person lets it go on at once; while it is still refused, it stops again.
func TestResume(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var yes atomic.Bool
		yes.Store(true)
		r.revoked("shop", &yes)
		for i := range 5 {
			r.answered(fmt.Sprint("c", i), "x")
		}
		time.Sleep(10 * time.Minute)
		r.settle()
		before := len(r.called())
		if err := r.sender.Resume(t.Context(), "shop", "ops"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r.settle()
		if n := len(r.called()); n != before+1 || r.kept().State != gateway.AccountPaused {
			t.Errorf("%d calls instead of one, %s", n-before, r.kept().State)
		}
		yes.Store(false)
		if err := r.sender.Resume(t.Context(), "shop", "ops"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		r.settle()
		if n := len(r.called()); n != before+6 || r.kept().State != gateway.AccountHealthy {
			t.Errorf("%d calls, %s", n-before, r.kept().State)
		}
		log, err := r.store.Ledger.AuditLog(t.Context(), 10)
		if err != nil || len(log) != 2 || log[0].What != "account.healthy" || log[0].By != "ops" {
			t.Errorf("audit %+v, %v", log, err)
		}
	})
}

// Calls that nobody answers isolate the account after some of several conversations,
// so that not all it has to send becomes unknown; they are never blamed on its
// credentials.
func TestFailuresIsolate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		hangs := true
		r.plays(15*time.Second, func(int, *gateway.Message) gateway.Outcome {
			if hangs {
				return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		})
		for i := range 300 {
			r.answered(fmt.Sprint("c", i), "x")
		}
		time.Sleep(10 * time.Minute)
		r.settle()
		a := r.sender.Account("shop")
		if a.State != gateway.AccountIsolated || a.Reason != gateway.BlameFailures || a.Code != "timeout" {
			t.Errorf("%+v", a)
		}
		if n := len(r.called()); n > 150 {
			t.Errorf("%d messages became unknown", n)
		}
		hangs = false
		r.plays(0, r.say)
		time.Sleep(5 * time.Minute)
		r.settle()
		if n := len(r.called()); n != 300 || r.kept().State != gateway.AccountHealthy {
			t.Errorf("%d calls, %s", n, r.kept().State)
		}
	})
}

// One customer whose messages end unknown says nothing of the account.
func TestOneConversationIsolatesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.plays(0, func(int, *gateway.Message) gateway.Outcome {
			return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
		})
		for range 20 {
			r.answered("1", "x")
		}
		time.Sleep(30 * time.Minute)
		r.settle()
		if a := r.sender.Account("shop"); a.State != gateway.AccountHealthy || len(r.called()) != 20 {
			t.Errorf("%+v after %d calls", a, len(r.called()))
		}
	})
}

// What is said of a token is said of every account that uses it.
func TestStoppedTogether(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.shares = []string{"shop", "sister"}
		r.plays(0, func(int, *gateway.Message) gateway.Outcome {
			return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Share: gateway.ShareApp, Blame: gateway.BlameCredential, Code: "190", After: 30 * time.Second}
		})
		r.answered("1", "x")
		time.Sleep(time.Second)
		r.settle()
		for _, name := range r.shares {
			if a := r.sender.Account(name); a.State != gateway.AccountPaused {
				t.Errorf("%+v", a)
			}
		}
		if f := r.sender.Free("sister"); f != 0 {
			t.Errorf("free: %v", f)
		}
	})
}
