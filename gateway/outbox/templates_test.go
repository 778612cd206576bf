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

func template() gateway.Reply {
	return gateway.Reply{Type: gateway.ReplyTemplate, Template: &gateway.TemplateReply{Name: "hello", Language: "en"}}
}

// noTemplates refuses templates of an account while yes, and takes all else.
func (r *rig) noTemplates(account string, share gateway.Share, yes *atomic.Bool) {
	r.plays(20*time.Millisecond, func(_ int, m *gateway.Message) gateway.Outcome {
		if m.Reply.Type == gateway.ReplyTemplate && m.Account == account && yes.Load() {
			return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeTemplates, Share: share, Code: "131048", After: 5 * time.Minute}
		}
		return gateway.Outcome{Kind: gateway.OutcomeAccepted}
	})
}

// A number that may begin no conversation: its templates wait, without a try spent, and
// one in five minutes finds out; what answers a customer leaves at once, and so do
// templates of another number. When one was taken, all leave.
func TestTemplatesWait(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		core, logs := observer.New(zap.InfoLevel)
		r.stop()
		r.log, r.retry = zap.New(core), gateway.Retry{Tries: 2, First: time.Second, Factor: 1, MaxAge: 24 * time.Hour}
		r.start(time.Now())
		var yes atomic.Bool
		yes.Store(true)
		r.noTemplates("shop", "", &yes)
		r.replied("first", template())
		time.Sleep(time.Second)
		const many = 50
		for i := range many {
			r.replied(fmt.Sprint("c", i), template())
		}
		time.Sleep(time.Minute)
		r.answered("asks", "at once")
		r.account = "other"
		r.replied("elsewhere", template())
		r.account = ""
		time.Sleep(time.Second)
		r.settle()
		if n := len(r.called()); n != 3 {
			t.Errorf("%d calls in a minute, want that of the first, the answer and the other account's: %+v", n, r.called())
		}
		if a := r.sender.Account("shop"); a.TemplatesCode != "131048" || !a.TemplatesAt.After(time.Now()) || a.State != gateway.AccountHealthy {
			t.Errorf("%+v", a)
		}
		time.Sleep(time.Hour)
		r.settle()
		if n := len(r.called()) - 3; n < 11 || n > 13 {
			t.Errorf("%d tries in an hour", n)
		}
		yes.Store(false)
		a := r.sender.Account("shop")
		time.Sleep(time.Until(a.TemplatesAt) + 3*time.Second)
		r.settle()
		sums, err := r.store.Ledger.Sums(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m := sums.Messages; m.Accepted != many+3 || m.Taken != many+3 {
			t.Errorf("messages %+v", m)
		}
		if a = r.sender.Account("shop"); !a.TemplatesAt.IsZero() {
			t.Errorf("%+v", a)
		}
		for name, want := range map[string]int{"account.templates_stopped": 1, "account.templates_recovered": 1, "account.stopped": 0} {
			if n := logs.FilterMessage(name).Len(); n != want {
				t.Errorf("%d lines %s, want %d", n, name, want)
			}
		}
	})
}

// What is said of a WhatsApp Business Account holds the templates of all its numbers. A
// restart finds it out again, a person lets them go.
func TestTemplatesOfSeveralAccounts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.shares = []string{"shop", "sister"}
		var yes atomic.Bool
		yes.Store(true)
		r.noTemplates("shop", gateway.ShareWABA, &yes)
		r.replied("1", template())
		time.Sleep(time.Second)
		r.account = "sister"
		r.replied("2", template())
		r.answered("3", "an answer")
		time.Sleep(time.Second)
		r.left("while both wait", "", "an answer")
		if err := r.sender.Resume(t.Context(), "sister", "ops"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r.left("when a person let them go", "", "an answer", "")
		time.Sleep(5 * time.Minute)
		r.left("when one finds out", "", "an answer", "", "")
		r.stop()
		r.start(time.Now())
		yes.Store(false)
		time.Sleep(6 * time.Minute)
		r.settle()
		if n := len(r.called()); n != 5 {
			t.Errorf("%d calls after a restart: %+v", n, r.called())
		}
	})
}

// One that finds out and does not come to it is not waited for longer than a moment; in
// its account's line it keeps its right.
func TestTemplatesThatFindOut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.stop()
		r.limits = map[string][]gateway.Limit{"shop": {{N: 1, Per: 10 * time.Second, Burst: 1}}}
		r.start(time.Now())
		var yes atomic.Bool
		yes.Store(true)
		r.noTemplates("shop", "", &yes)
		r.replied("1", template())
		time.Sleep(time.Second)
		for i := range 5 {
			r.replied(fmt.Sprint("c", i), template())
			r.answered(fmt.Sprint("a", i), "x") // which take the pace
		}
		time.Sleep(4*time.Minute + 50*time.Second)
		yes.Store(false)
		for i := range 5 {
			r.answered(fmt.Sprint("b", i), "x")
		}
		time.Sleep(5 * time.Minute)
		r.settle()
		sums, err := r.store.Ledger.Sums(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m := sums.Messages; m.Accepted != 16 {
			t.Errorf("messages %+v", m)
		}
	})
}
