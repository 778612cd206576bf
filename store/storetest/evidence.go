package storetest

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func evidenceFirst(w *world) {
	conv := w.say("a1", "1", "1")
	m, at := w.begin(conv)
	// By our marker: before the answer to the send call.
	w.relay(w.status("s1", "1", "w.1", m.ID, gateway.StatusDelivered))
	n, woken, next := w.judge()
	if n != 1 || len(woken) != 0 || !next.IsZero() {
		w.Errorf("judged %d, woken %v, next %v", n, woken, next)
	}
	got, open := w.next(conv)
	if got == nil || got.State != gateway.MessageSending || got.ExternalID != "w.1" || open == nil {
		w.Fatalf("while the attempt is open: %+v", got)
	}
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"})
	m2 := w.find(m.ID, gateway.MessageAccepted)
	w.same("message", [2]any{m2.ExternalID, m2.Delivery}, [2]any{"w.1", gateway.StatusDelivered})
	ch := w.changes()
	w.same("told by", ch[len(ch)-1].By, "status")
	w.balanced()

	// By the platform's id alone: parked until the answer names it.
	conv = w.say("b1", "2", "1")
	m, at = w.begin(conv)
	w.relay(w.status("s2", "2", "w.2", "", gateway.StatusRead))
	n, _, next = w.judge()
	w.same("judged", n, 0)
	w.same("next deadline", next, w.now.Add(gateway.ParkStatus))
	w.same("parked", w.counter("parked"), int64(1))
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.2"})
	w.same("delivery", w.find(m.ID, gateway.MessageAccepted).Delivery, gateway.StatusRead)
	w.same("parked afterwards", w.counter("parked"), int64(0))
	n, _, next = w.judge()
	if n != 0 || !next.IsZero() {
		w.Errorf("nothing is left, judged %d, next %v", n, next)
	}
	w.balanced()
}

func evidenceUnknown(w *world) {
	conv := w.say("a1", "1", "1", "2")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	w.relay(w.status("s1", "1", "w.1", m.ID, gateway.StatusSent))
	n, woken, _ := w.judge()
	w.same("judged", n, 1)
	w.same("woken", woken, []string{conv})
	w.same("accepted", w.find(m.ID, gateway.MessageAccepted).ExternalID, "w.1")
	next, _ := w.next(conv)
	w.same("the next part may leave", next.Part, 1)
	// A marker of another account's message says nothing.
	foreign := w.status("s2", "1", "w.x", next.ID, gateway.StatusSent)
	foreign.Event.Account = "shop-b"
	w.relay(foreign)
	n, _, _ = w.judge()
	w.same("a marker on another account", n, 0)
	w.balanced()
}

// evidenceNames: a status that carries only the platform's id is understood when
// another one tells which message that is.
func evidenceNames(w *world) {
	conv := w.say("a1", "1", "1")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	w.relay(w.status("s1", "1", "w.1", "", gateway.StatusRead))
	n, _, _ := w.judge()
	w.same("judged", n, 0)
	w.relay(w.status("s2", "1", "w.1", m.ID, gateway.StatusSent))
	n, woken, next := w.judge()
	if n != 1 || len(woken) != 1 || !next.Equal(w.now) {
		w.Errorf("judged %d, woken %d, next %v", n, len(woken), next)
	}
	n, _, next = w.judge()
	if n != 1 || !next.IsZero() {
		w.Errorf("judged %d, next %v", n, next)
	}
	w.same("delivery", w.find(m.ID, gateway.MessageAccepted).Delivery, gateway.StatusRead)
	w.balanced()
}

func evidenceForward(w *world) {
	conv, began := w.say("a1", "1", "1"), w.now
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	for i, s := range []gateway.StatusState{gateway.StatusRead, gateway.StatusSent, gateway.StatusDelivered, gateway.StatusFailed, gateway.StatusRead} {
		w.later(time.Second)
		w.relay(w.status(string(rune('a'+i)), "1", "w.1", "", s))
		w.judge()
	}
	got := w.find(m.ID, gateway.MessageAccepted)
	w.same("delivery", got.Delivery, gateway.StatusRead)
	if got.Failed == nil || got.Failed.Code != 131026 {
		w.Errorf("failed: %+v", got.Failed)
	}
	w.same("told of the failure", w.failed, []gateway.FailedLater{
		{Platform: m.Platform, Account: m.Account, Conv: conv, Code: 131026, Began: began},
	})
	var told []gateway.StatusState
	for _, c := range w.changes()[1:] {
		told = append(told, c.Delivery)
	}
	w.same("changes: read, then failed beside it", told, []gateway.StatusState{gateway.StatusRead, gateway.StatusRead})
	c, err := w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	w.same("distinct statuses", len(c.Messages[0].Statuses), 4)

	// All within one of the platform's seconds: told in the order of the way.
	w.say("a2", "1", "2")
	m = w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.2"})
	for i, s := range []gateway.StatusState{gateway.StatusFailed, gateway.StatusPlayed, gateway.StatusDelivered, gateway.StatusSent, gateway.StatusRead} {
		w.relay(w.status(string(rune('k'+i)), "1", "w.2", "", s))
		w.judge()
	}
	r, err := w.l.Receipts(w.ctx, m.ID)
	w.must(err)
	var way []gateway.StatusState
	for _, s := range r.Statuses {
		way = append(way, s.State)
	}
	w.same("statuses of one second", way, []gateway.StatusState{gateway.StatusSent, gateway.StatusDelivered, gateway.StatusRead, gateway.StatusPlayed, gateway.StatusFailed})
	w.balanced()
}

func evidenceForeign(w *world) {
	w.relay(w.status("s1", "1", "w.other", "", gateway.StatusSent))
	n, _, next := w.judge()
	if n != 0 || !next.Equal(w.now.Add(gateway.ParkStatus)) {
		w.Fatalf("judged %d, next %v", n, next)
	}
	n, _, _ = w.judge()
	w.same("judged again", n, 0)
	w.later(gateway.ParkStatus)
	n, _, next = w.judge()
	if n != 1 || !next.IsZero() {
		w.Errorf("at the deadline: judged %d, next %v", n, next)
	}
	w.same("foreign", w.counter("status_foreign"), int64(1))
	w.balanced()
}

func evidenceEchoes(w *world) {
	conv := w.say("a1", "1", "1")
	_, at := w.begin(conv)
	// While an attempt of the conversation is open nothing is said about it.
	w.relay(w.echo("e1", "1", "w.1", ""), w.echo("e2", "1", "w.human", ""))
	n, _, next := w.judge()
	if n != 0 || !next.Equal(w.now.Add(gateway.ParkEcho)) {
		w.Fatalf("judged %d, next %v", n, next)
	}
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	w.judge()
	c, err := w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	w.same("judgements", []gateway.Judgement{c.Events[1].Echo, c.Events[2].Echo}, []gateway.Judgement{gateway.JudgedOurs, gateway.JudgedHuman})
	if c.LastHumanAt == nil || !c.LastHumanAt.Equal(w.now.Add(-time.Second)) {
		w.Errorf("last human at %v", c.LastHumanAt)
	}
	var told []gateway.Judgement
	for _, ch := range w.changes() {
		if ch.Echo != "" {
			told = append(told, ch.Echo)
		}
	}
	w.same("told", told, []gateway.Judgement{gateway.JudgedOurs, gateway.JudgedHuman})

	// An echo settles what could not be known, by the marker.
	conv = w.say("b1", "2", "1")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	w.relay(w.echo("e3", "2", "w.3", m.ID))
	_, woken, _ := w.judge()
	w.same("woken", woken, []string{conv})
	w.same("accepted", w.find(m.ID, gateway.MessageAccepted).ExternalID, "w.3")

	// The deadline ends the waiting for an attempt.
	conv = w.say("c1", "3", "1")
	w.begin(conv)
	w.relay(w.echo("e4", "3", "w.4", ""))
	w.judge()
	w.later(gateway.ParkEcho)
	n, _, _ = w.judge()
	w.same("judged at the deadline", n, 1)
	w.same("human echoes", w.counter("echo_human"), int64(2))
	w.balanced()
}

// Evidence of which nobody knows who wrote it, or that another system did, is ours
// when a message of ours explains it, and never a colleague's.
func evidenceOtherwise(w *world) {
	conv := w.say("a1", "1", "1")
	_, at := w.begin(conv)
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	otherwise := func(id, external string, j gateway.Judgement) gateway.ItemRow {
		it := w.echo(id, "1", external, "")
		it.Event.Content = []byte(`{"type":"text","echo":{"otherwise":"` + string(j) + `"}}`)
		return it
	}
	w.relay(otherwise("e1", "w.1", gateway.JudgedUndecided), otherwise("e2", "w.2", gateway.JudgedUndecided), otherwise("e3", "w.3", gateway.JudgedForeign))
	n, _, _ := w.judge()
	w.same("judged", n, 3)
	c, err := w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	w.same("judgements", []gateway.Judgement{c.Events[1].Echo, c.Events[2].Echo, c.Events[3].Echo},
		[]gateway.Judgement{gateway.JudgedOurs, gateway.JudgedUndecided, gateway.JudgedForeign})
	if c.LastHumanAt != nil {
		w.Errorf("a colleague is said to have written at %v", c.LastHumanAt)
	}
	w.same("undecided", w.counter("echo_undecided"), int64(1))
	w.same("foreign", w.counter("echo_foreign"), int64(1))
	w.balanced()
}
