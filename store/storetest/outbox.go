package storetest

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func outboxOrder(w *world) {
	a := w.say("a1", "1", "1", "2")
	b := w.say("b1", "2", "x")
	want := []gateway.Open{{Conv: a, At: w.now}, {Conv: b, At: w.now}}
	w.later(time.Second)
	w.say("a2", "1", "3")
	slices.SortFunc(want, func(x, y gateway.Open) int { return cmp.Compare(x.Conv, y.Conv) })
	open, err := w.l.OpenConversations(w.ctx, "", 10)
	w.must(err)
	w.same("open conversations", open, want)
	open, err = w.l.OpenConversations(w.ctx, want[0].Conv, 10)
	w.must(err)
	w.same("open conversations after the first", open, want[1:])

	m, at := w.begin(a)
	got, open2 := w.next(a)
	w.same("the head while sending", [2]any{got.ID, got.State}, [2]any{m.ID, gateway.MessageSending})
	if open2 == nil || open2.ID != at.ID || !open2.VoidAfter.Equal(at.VoidAfter) || open2.N != 1 {
		w.Errorf("open attempt: %+v", open2)
	}
	parts, err := w.l.Messages(w.ctx, gateway.MessageWaiting, 10)
	w.must(err)
	i := slices.IndexFunc(parts, func(p gateway.Message) bool { return p.Task == m.Task })
	err = w.l.BeginAttempt(w.ctx, &gateway.Attempt{ID: "at_other", Message: parts[i].ID, N: 1, StartedAt: w.now, VoidAfter: w.now}, a)
	if !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("a second message of the conversation is sending: %v", err)
	}
	if err := w.l.BeginAttempt(w.ctx, &gateway.Attempt{ID: "at_x", Message: m.ID, N: 2}, a); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("a sending message was begun again: %v", err)
	}
	if err := w.l.BeginAttempt(w.ctx, &gateway.Attempt{ID: "at_x", Message: "ms_none", N: 1}, a); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("an unknown message was begun: %v", err)
	}
	w.begin(b) // another conversation does not wait
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w1"})
	if err := w.l.EndAttempt(w.ctx, &gateway.AttemptEnd{Attempt: at.ID, Message: m.ID, Outcome: gateway.Outcome{Kind: gateway.OutcomeUnknown}, At: w.now}); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("an attempt ended twice: %v", err)
	}
	for _, want := range []string{"2", "3"} {
		m := w.send(a, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w" + want})
		w.same("order", m.Reply.Text, want)
	}
	m, _ = w.next(a)
	if m != nil {
		w.Error("there is more to send")
	}
	w.balanced()
}

// outboxClock: a clock that goes back does not let a reply overtake another.
func outboxClock(w *world) {
	conv := w.say("a1", "1", "1")
	w.later(-time.Second)
	w.say("a2", "1", "2")
	var texts []string
	for range 2 {
		texts = append(texts, w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text)
	}
	w.same("order", texts, []string{"1", "2"})
}

func outboxOutcomes(w *world) {
	conv := w.say("a1", "1", "1")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Code: "http_503"})
	got, _ := w.next(conv)
	if got.ID != m.ID || got.State != gateway.MessageWaiting || !got.NextAt.Equal(w.now.Add(time.Minute)) || got.Attempts != 1 {
		w.Errorf("after a retry: %+v", got)
	}
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"})
	got, _ = w.next(conv)
	if got.State != gateway.MessageUnknown || !got.UnknownUntil.Equal(w.now.Add(time.Minute)) || got.Attempts != 2 {
		w.Errorf("after an unknown outcome: %+v", got)
	}
	if err := w.l.BeginAttempt(w.ctx, &gateway.Attempt{ID: "at_x", Message: m.ID, N: 3}, conv); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("an unknown message was sent again: %v", err)
	}
	var states []gateway.MessageState
	for _, c := range w.changes() {
		states = append(states, c.State)
	}
	w.same("changes", states, []gateway.MessageState{gateway.MessageWaiting, gateway.MessageUnknown})

	other := w.say("b1", "2", "1")
	w.send(other, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w1", Aliases: []gateway.Identity{{Kind: "bsuid", Value: "b.2"}}})
	found, err := w.l.FindConversation(w.ctx, "whatsapp", "shop", gateway.Identity{Kind: "bsuid", Value: "b.2"})
	w.must(err)
	w.same("an alias learned from the answer", found, other)
	w.balanced()
}

// outboxSpared: an attempt refused for the whole account, or all its templates, spends no
// try of its message, also across a refusal of the message itself.
func outboxSpared(w *world) {
	conv := w.say("a1", "1", "1")
	for i, c := range []struct {
		scope gateway.Scope
		tries int
	}{{gateway.ScopeAccount, 0}, {gateway.ScopePair, 1}, {gateway.ScopeAccount, 1}, {gateway.ScopeTemplates, 1}, {gateway.ScopePair, 2}} {
		w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: c.scope, Code: "x"})
		m, _ := w.next(conv)
		w.same("attempts and tries", [2]int{m.Attempts, m.Tries()}, [2]int{i + 1, c.tries})
	}
	// The outcomes that end it spare nothing, whatever scope they carry.
	m, a := w.begin(conv)
	w.end(a, gateway.Outcome{Kind: gateway.OutcomeRejected, Scope: gateway.ScopeAccount, Code: "45009"})
	rejected := w.find(m.ID, gateway.MessageRejected)
	w.same("tries when it was rejected", rejected.Tries(), 3)
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	w.same("tries of the dead letter", dl[0].Tries, 3)
	_, err = w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	m, _ = w.next(conv)
	w.same("attempts and tries of a requeued message", [2]int{m.Attempts, m.Tries()}, [2]int{6, 0})
	w.balanced()
}

func outboxRejected(w *world) {
	conv := w.say("a1", "1", "1", "2", "3")
	w.say("a2", "1", "next task")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026", Detail: "not reachable"})
	w.same("reason", w.find(m.ID, gateway.MessageRejected).Reason, "131026")
	cancelled, err := w.l.Messages(w.ctx, gateway.MessageCancelled, 10)
	w.must(err)
	w.same("cancelled parts", len(cancelled), 2)
	w.same("reason of the cancelled", cancelled[0].Reason, "after rejected")
	next, _ := w.next(conv)
	w.same("the next task goes on", next.Reply.Text, "next task")
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	if len(dl) != 1 || dl[0].Message != m.ID || dl[0].Reason != gateway.ReasonRejected || dl[0].Detail != "131026: not reachable" {
		w.Fatalf("dead letters: %+v", dl)
	}
	w.balanced()
	re, err := w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	w.same("requeued", re, gateway.Requeued{Conv: conv})
	var texts []string
	for range 4 {
		texts = append(texts, w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text)
	}
	w.same("sent in the old order", texts, []string{"1", "2", "3", "next task"})
	w.balanced()
}

func outboxUnknown(w *world) {
	conv := w.say("a1", "1", "1", "2")
	w.say("a2", "1", "next task")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	w.must(w.l.Conclude(w.ctx, m.ID, gateway.MessageUnknown, "no evidence", w.now))
	w.same("it stays unknown", w.find(m.ID, gateway.MessageUnknown).Reason, "no evidence")
	cancelled, err := w.l.Messages(w.ctx, gateway.MessageCancelled, 10)
	w.must(err)
	if len(cancelled) != 1 || cancelled[0].Reason != "after unknown" {
		w.Errorf("cancelled: %+v", cancelled)
	}
	next, _ := w.next(conv)
	w.same("the next task leaves", next.Reply.Text, "next task")
	if err := w.l.Conclude(w.ctx, m.ID, gateway.MessageUnknown, "", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("given up twice: %v", err)
	}
	if err := w.l.Conclude(w.ctx, next.ID, gateway.MessageAccepted, "", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("concluded as accepted: %v", err)
	}
	// Evidence that comes later still counts.
	w.relay(w.status("s1", "1", "w.9", m.ID, gateway.StatusDelivered))
	w.judge()
	w.same("delivery", w.find(m.ID, gateway.MessageAccepted).Delivery, gateway.StatusDelivered)
	w.balanced()
}

func outboxExpired(w *world) {
	conv := w.say("a1", "1", "1", "2")
	m, _ := w.next(conv)
	w.must(w.l.Conclude(w.ctx, m.ID, gateway.MessageExpired, "window closed", w.now))
	expired, err := w.l.Messages(w.ctx, gateway.MessageExpired, 10)
	w.must(err)
	w.same("expired", len(expired), 2)
	if m, _ := w.next(conv); m != nil {
		w.Error("an expired message is open")
	}
	if err := w.l.Conclude(w.ctx, "ms_none", gateway.MessageExpired, "", w.now); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("concluded nothing: %v", err)
	}
	w.same("changes", len(w.changes()), 2)
	w.balanced()
}
