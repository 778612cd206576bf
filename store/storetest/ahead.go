package storetest

import (
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// endWith ends an attempt and asks for the next message to begin in the same commit.
func (w *world) endWith(a *gateway.Attempt, kind gateway.OutcomeKind, next *gateway.Message) *gateway.AttemptEnd {
	w.Helper()
	e := &gateway.AttemptEnd{Attempt: a.ID, Message: a.Message, At: w.now, Outcome: gateway.Outcome{Kind: kind, Code: "code"},
		NextAt: w.now.Add(time.Minute), UnknownUntil: w.now.Add(time.Minute), By: "answer"}
	if next != nil {
		at := w.now
		if next.DueAt.After(at) {
			at = next.DueAt
		}
		e.Next = &gateway.Attempt{ID: fmt.Sprintf("at_%s_%d", next.ID, next.Attempts+1), Message: next.ID, StartedAt: at, VoidAfter: at.Add(30 * time.Second)}
	}
	w.must(w.l.EndAttempt(w.ctx, e))
	return e
}

// after is the message behind one.
func (w *world) after(m *gateway.Message) *gateway.Message {
	w.Helper()
	next, err := w.l.MessageAfter(w.ctx, m)
	w.must(err)
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
	w.same("as the head would be", two.To, one.To)
	e := w.endWith(at, gateway.OutcomeAccepted, two)
	w.same("begun", [3]any{e.Begun, e.Next.N, e.Next.ID}, [3]any{true, 1, "at_" + two.ID + "_1"})
	head, open := w.next(conv)
	if open == nil {
		w.Fatal("no attempt is open")
	}
	w.same("the head", [3]any{head.ID, head.State, open.ID}, [3]any{two.ID, gateway.MessageSending, e.Next.ID})
	w.find(one.ID, gateway.MessageAccepted)
	// Asked for by nobody, nothing begins.
	e = w.endWith(open, gateway.OutcomeAccepted, nil)
	w.same("begun by itself", e.Begun, false)
	// An attempt without a name gets one.
	w.say("a3", "1", "4")
	_, at = w.begin(conv)
	e = &gateway.AttemptEnd{Attempt: at.ID, Message: at.Message, At: w.now, Outcome: gateway.Outcome{Kind: gateway.OutcomeAccepted}, By: "answer",
		Next: &gateway.Attempt{Message: w.after(three).ID, StartedAt: w.now.Add(time.Second), VoidAfter: w.now.Add(time.Minute)}}
	w.must(w.l.EndAttempt(w.ctx, e))
	w.same("begun with a name", [2]bool{e.Begun, e.Next.ID != ""}, [2]bool{true, true})
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
		if e := w.endWith(at, c.kind, next); e.Begun {
			w.Errorf("%s: begun", c.name)
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
