package storetest

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// accountHealth: what is stopped is kept until it is not, and a person's deed is
// recorded.
func accountHealth(w *world) {
	stopped := gateway.AccountHealth{Account: "shop", State: gateway.AccountPaused, Reason: gateway.BlameCredential, Code: "190", Detail: "access token expired",
		Since: w.now, ProbeAt: w.now.Add(time.Minute), Probes: 1, KeyFP: "fp"}
	other := gateway.AccountHealth{Account: "a-first", State: gateway.AccountIsolated, Reason: gateway.BlamePolicy, Code: "368", Since: w.now, ProbeAt: w.now}
	slowed := gateway.AccountHealth{Account: "m-slow", State: gateway.AccountSlowed, Reason: gateway.BlamePace, Since: w.now, ProbeAt: w.now.Add(time.Minute), Probes: 3, KeyFP: "fp"}
	was := slowed
	was.Account = "shop"
	w.must(w.l.SetAccountHealth(w.ctx, &was, "", w.now)) // until it is stopped
	w.must(w.l.SetAccountHealth(w.ctx, &stopped, "", w.now))
	w.must(w.l.SetAccountHealth(w.ctx, &other, "", w.now))
	w.must(w.l.SetAccountHealth(w.ctx, &slowed, "", w.now))
	stopped.Probes, stopped.ProbeAt = 2, w.now.Add(time.Hour)
	w.must(w.l.SetAccountHealth(w.ctx, &stopped, "", w.now))
	got, err := w.l.AccountHealth(w.ctx)
	w.must(err)
	w.same("stopped accounts", got, []gateway.AccountHealth{other, slowed, stopped})
	w.must(w.l.SetAccountHealth(w.ctx, &gateway.AccountHealth{Account: "shop", State: gateway.AccountHealthy}, "ops", w.now))
	w.must(w.l.SetAccountHealth(w.ctx, &gateway.AccountHealth{Account: "m-slow", State: gateway.AccountHealthy}, "", w.now))
	w.must(w.l.SetAccountHealth(w.ctx, &gateway.AccountHealth{Account: "shop", State: gateway.AccountHealthy}, "", w.now))
	got, err = w.l.AccountHealth(w.ctx)
	w.must(err)
	w.same("after it was resumed", got, []gateway.AccountHealth{other})
	log, err := w.l.AuditLog(w.ctx, 10)
	w.must(err)
	w.same("audit", log, []gateway.AuditEntry{{At: w.now, By: "ops", What: "account.healthy", Target: "shop"}})
}

// outboxSpent: a message whose tries are spent is a dead letter with the parts
// behind it cancelled, and can be requeued with its tries given back.
func outboxSpent(w *world) {
	conv := w.say("a1", "1", "1", "2")
	m, a := w.begin(conv)
	w.must(w.l.EndAttempt(w.ctx, &gateway.AttemptEnd{Attempt: a.ID, Message: m.ID, At: w.now, By: "answer", Spent: true,
		Outcome: gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "-1", Detail: "system busy"}}))
	w.same("reason", w.find(m.ID, gateway.MessageRejected).Reason, gateway.ReasonTries)
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message", Reason: gateway.ReasonTries})
	w.must(err)
	if len(dl) != 1 || dl[0].Message != m.ID || dl[0].Tries != 1 || dl[0].Detail != "-1: system busy" {
		w.Fatalf("dead letters: %+v", dl)
	}
	w.same("cancelled", w.balanced().Messages.Cancelled, int64(1))
	_, err = w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	for _, want := range []string{"1", "2"} {
		w.same("sent", w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text, want)
	}
	w.balanced()
}

// outboxTooOld: what could not be sent in all the time it gets is a dead letter. A
// requeue gives it that time anew, with its parts, behind what waits by then.
func outboxTooOld(w *world) {
	conv := w.say("a1", "1", "1", "2")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "190"})
	w.must(w.l.Conclude(w.ctx, m.ID, gateway.MessageExpired, gateway.ReasonExpired, w.now))
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	if len(dl) != 1 || dl[0].Message != m.ID || dl[0].Reason != gateway.ReasonExpired || dl[0].Detail != "190" {
		w.Fatalf("dead letters: %+v", dl)
	}
	w.same("expired", w.balanced().Messages.Expired, int64(2))
	w.later(48 * time.Hour)
	_, err = w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	next, _ := w.next(conv)
	if next.ID != m.ID || next.DueAt.Before(w.now) {
		w.Errorf("requeued: %+v, due %s", next.ID, next.DueAt)
	}
	for _, want := range []string{"1", "2"} {
		w.same("sent", w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text, want)
	}
	w.balanced()
}

// outboxNeverTwice: what may have reached the platform is not requeued.
func outboxNeverTwice(w *world) {
	conv := w.say("a1", "1", "1")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026"})
	w.relay(w.status("s1", "1", "w.1", m.ID, gateway.StatusDelivered)) // it arrived all the same
	w.judge()
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	if _, err := w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("a message that was delivered was requeued: %v", err)
	}
	left, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	w.same("the dead letter stays", len(left), 1)
	w.balanced()
}

// submitPool: a customer whom a member talks with stays with it; anybody else is the
// first member's; a repeat finds what was chosen.
func submitPool(w *world) {
	pool := func(who, key string, members ...string) *gateway.Submission {
		s := submission(who, key, "hi")
		s.Account, s.Pool = "", members
		return s
	}
	known := w.heard(w.message("a1", "1")) // with "shop"
	out := w.submit(pool("1", "", "shop-b", "shop"))
	w.same("a known customer", [2]string{out.Conv, out.Account}, [2]string{known, "shop"})
	out = w.submit(pool("2", "k", "shop-b", "shop"))
	w.same("a new customer", out.Account, "shop-b")
	again := w.submit(pool("2", "k", "shop", "shop-b"))
	out.Known = true
	w.same("the same request when another member is preferred", again, out)
	stays := w.submit(pool("2", "", "shop", "shop-b"))
	w.same("a conversation that was made by us", [2]string{stays.Conv, stays.Account}, [2]string{out.Conv, "shop-b"})

	byConv := pool("", "", "shop-b", "shop")
	byConv.Chat, byConv.Conv = gateway.Chat{}, known
	w.same("by conversation", w.submit(byConv).Account, "shop")
	byConv = pool("", "", "shop-b")
	byConv.Chat, byConv.Conv = gateway.Chat{}, known
	w.refused("the conversation of an account that is no member", byConv, gateway.ErrNotFound)
	m, _ := w.next(known)
	w.same("account of the message", m.Account, "shop")
	w.balanced()
}
