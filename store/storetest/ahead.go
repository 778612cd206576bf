package storetest

import (
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// endWith ends an attempt and asks for a message to begin in the same commit. shown is
// the head that the commit showed, nil for none.
func (w *world) endWith(a *gateway.Attempt, kind gateway.OutcomeKind, next *gateway.Message) (e *gateway.AttemptEnd, shown *gateway.Message) {
	w.Helper()
	e = &gateway.AttemptEnd{Attempt: a.ID, Message: a.Message, At: w.now, Outcome: gateway.Outcome{Kind: kind, Code: "code"},
		NextAt: w.now.Add(time.Minute), UnknownUntil: w.now.Add(time.Minute), By: "answer"}
	e.Next = func(head *gateway.Message) *gateway.Attempt {
		if shown = head; next == nil {
			return nil
		}
		at := w.now
		if next.DueAt.After(at) {
			at = next.DueAt
		}
		return &gateway.Attempt{ID: fmt.Sprintf("at_%s_%d", next.ID, next.Attempts+1), Message: next.ID, StartedAt: at, VoidAfter: at.Add(30 * time.Second)}
	}
	w.must(w.l.EndAttempt(w.ctx, e))
	return e, shown
}

// after is the waiting message behind one, nil for none.
func (w *world) after(m *gateway.Message) (next *gateway.Message) {
	w.Helper()
	page, err := w.l.FindMessages(w.ctx, store.MessageQuery{Conv: m.Conv, State: gateway.MessageWaiting, Limit: 1000})
	w.must(err)
	before := func(a, b *gateway.Message) bool {
		return a.DueAt.Before(b.DueAt) || a.DueAt.Equal(b.DueAt) && a.ID < b.ID
	}
	for i := range page.Messages {
		if p := &page.Messages[i]; before(m, p) && (next == nil || before(p, next)) {
			next = p
		}
	}
	return next
}

// aheadBegins: the next message's attempt begins with the end of the one before.
func aheadBegins(w *world) {
	conv := w.say("a1", "1", "1", "2")
	w.later(time.Second)
	w.say("a2", "1", "3")
	w.say("b1", "2", "x")
	one, at := w.begin(conv)
	two := w.after(one)
	three := w.after(two)
	w.same("in order", []string{one.Reply.Text, two.Reply.Text, three.Reply.Text}, []string{"1", "2", "3"})
	w.same("behind the last", w.after(three), (*gateway.Message)(nil))
	e, shown := w.endWith(at, gateway.OutcomeAccepted, two)
	w.same("as the head would be", [3]any{shown.ID, shown.State, shown.To}, [3]any{two.ID, gateway.MessageWaiting, one.To})
	if e.Begun == nil {
		w.Fatal("the next one did not begin")
	}
	w.same("begun", [3]any{e.Begun.N, e.Begun.ID, e.Last}, [3]any{1, "at_" + two.ID + "_1", false})
	head, open := w.next(conv)
	if open == nil {
		w.Fatal("no attempt is open")
	}
	w.same("the head", [3]any{head.ID, head.State, open.ID}, [3]any{two.ID, gateway.MessageSending, e.Begun.ID})
	w.find(one.ID, gateway.MessageAccepted)
	// Asked for by nobody, nothing begins.
	e, _ = w.endWith(open, gateway.OutcomeAccepted, nil)
	w.same("begun by itself", e.Begun, (*gateway.Attempt)(nil))
	// An attempt without a name gets one.
	w.say("a3", "1", "4")
	_, at = w.begin(conv)
	e = &gateway.AttemptEnd{Attempt: at.ID, Message: at.Message, At: w.now, Outcome: gateway.Outcome{Kind: gateway.OutcomeAccepted}, By: "answer",
		Next: func(head *gateway.Message) *gateway.Attempt {
			return &gateway.Attempt{Message: head.ID, StartedAt: w.now.Add(time.Second), VoidAfter: w.now.Add(time.Minute)}
		}}
	w.must(w.l.EndAttempt(w.ctx, e))
	w.same("begun with a name", e.Begun != nil && e.Begun.ID != "", true)
	// Behind the last nobody is open, and the ledger says so.
	e, shown = w.endWith(e.Begun, gateway.OutcomeAccepted, nil)
	w.same("behind the last", [3]any{shown, e.Begun, e.Last}, [3]any{(*gateway.Message)(nil), (*gateway.Attempt)(nil), true})
	w.balanced()
}

// aheadWaits: what may not begin does not, and the end is stored all the same.
func aheadWaits(w *world) {
	for i, c := range []struct {
		name string
		kind gateway.OutcomeKind
		do   func(conv string, second, third *gateway.Message) *gateway.Message // names the next one
	}{
		{"not accepted", gateway.OutcomeUnknown, func(_ string, second, _ *gateway.Message) *gateway.Message { return second }},
		{"to be tried again", gateway.OutcomeRetry, func(_ string, second, _ *gateway.Message) *gateway.Message { return second }},
		{"not the head", gateway.OutcomeAccepted, func(_ string, _, third *gateway.Message) *gateway.Message { return third }},
		{"of nobody", gateway.OutcomeAccepted, func(string, *gateway.Message, *gateway.Message) *gateway.Message {
			return &gateway.Message{ID: "ms_none"}
		}},
		{"cancelled", gateway.OutcomeAccepted, func(_ string, second, _ *gateway.Message) *gateway.Message {
			w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedCancel, Messages: []string{second.ID}})
			return second
		}},
		{"put off", gateway.OutcomeAccepted, func(_ string, second, _ *gateway.Message) *gateway.Message {
			w.must(w.l.Postpone(w.ctx, second.ID, w.now.Add(time.Hour)))
			return second
		}},
		{"beside an echo", gateway.OutcomeAccepted, func(_ string, second, _ *gateway.Message) *gateway.Message {
			w.human(fmt.Sprint("e", second.ID), "beside an echo")
			return second
		}},
	} {
		conv := w.say(fmt.Sprint("a", i), c.name, "1")
		w.later(time.Second)
		w.say(fmt.Sprint("b", i), c.name, "2")
		w.say(fmt.Sprint("c", i), c.name, "3")
		w.later(time.Second)
		one, at := w.begin(conv)
		second := w.after(one)
		next := c.do(conv, second, w.after(second))
		if e, _ := w.endWith(at, c.kind, next); e.Begun != nil || e.Last {
			w.Errorf("%s: begun %v, last %v", c.name, e.Begun, e.Last)
		}
		m, attempts, err := w.l.Message(w.ctx, one.ID)
		w.must(err)
		w.same(c.name+": the end is stored", [2]any{len(attempts), attempts[0].Outcome.Kind}, [2]any{1, c.kind})
		w.same(c.name+": nothing is sent", m.State == gateway.MessageSending, false)
		if _, open := w.next(conv); open != nil {
			w.Errorf("%s: an attempt is open", c.name)
		}
		w.balanced()
	}
}

// aheadNames: the head is shown with the names that its conversation has in that commit,
// whatever was learned or moved since the last one.
func aheadNames(w *world) {
	bob := gateway.Identity{Kind: "phone", Value: "551187654321"}
	conv := w.say("a1", "5511987654321", "1", "2", "3", "4", "5", "6")
	_, at := w.begin(conv)
	ends := func(want []gateway.Identity, aliases ...gateway.Identity) {
		w.Helper()
		e := &gateway.AttemptEnd{Attempt: at.ID, Message: at.Message, At: w.now, By: "answer",
			Outcome: gateway.Outcome{Kind: gateway.OutcomeAccepted, Aliases: aliases}}
		var got []gateway.Identity
		e.Next = func(head *gateway.Message) *gateway.Attempt {
			got = head.To
			return &gateway.Attempt{Message: head.ID, StartedAt: w.now.Add(time.Minute), VoidAfter: w.now.Add(time.Hour)}
		}
		w.must(w.l.EndAttempt(w.ctx, e))
		w.same("names", got, want)
		w.same("as a reader has them", got, func() []gateway.Identity { m, _ := w.next(conv); return m.To }())
		at = e.Begun
	}
	first := phone("5511987654321")
	ends([]gateway.Identity{first})
	ends([]gateway.Identity{bob, first}, bob)  // learned from the answer
	ends([]gateway.Identity{bob, first})       // and known
	w.heard(w.chat("a2", bsuid("b.1"), first)) // learned from the customer
	ends([]gateway.Identity{bsuid("b.1"), first, bob})
	w.heard(w.chat("a3", bsuid("b.9"), bob)) // a number that is somebody else's now
	m, _ := w.next(conv)
	ends(m.To)
	w.balanced()
}
