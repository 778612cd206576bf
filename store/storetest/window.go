package storetest

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func (w *world) lastHeard(conv string) gateway.Heard {
	w.Helper()
	h, err := w.l.Heard(w.ctx, conv)
	w.must(err)
	return h
}

// The customer's last message, by the platform's time and whatever comes first, and
// what left since.
func windowHeard(w *world) {
	conv := w.say("a1", "1", "1", "2", "3", "4")
	wrote := w.now.Add(-time.Second)
	w.same("nothing left", w.lastHeard(conv), gateway.Heard{At: wrote})
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Code: "http_503"})
	w.same("one left", w.lastHeard(conv).Sent, 1)
	m, _ := w.begin(conv)
	w.same("one may be on its way", w.lastHeard(conv).Sent, 2)
	w.relay(w.status("s1", "1", "w.2", m.ID, gateway.StatusSent))
	w.judge()

	late := w.message("a0", "1") // an older one, relayed later
	late.Event.OccurredAt = wrote.Add(-time.Hour)
	w.later(time.Minute)
	w.relay(late)
	w.same("an older message", w.lastHeard(conv).At, wrote)
	called := w.message("n1", "1")
	called.Event.Kind, called.Event.OccurredAt, called.Heard, called.Wanted = gateway.KindNotice, w.now, true, nil
	w.relay(called)
	w.same("a call", w.lastHeard(conv).At, w.now)
	told := w.message("n2", "1")
	told.Event.Kind, told.Event.OccurredAt, told.Wanted = gateway.KindNotice, w.later(time.Minute), nil
	w.relay(told)
	w.same("what the customer did not do", w.lastHeard(conv).At, w.now.Add(-time.Minute))
	standby := w.message("o1", "1")
	standby.Observed, standby.Heard, standby.Wanted, standby.Event.OccurredAt = gateway.ObservedStandby, true, nil, w.now
	w.relay(standby)
	w.same("written to another application", w.lastHeard(conv).At, w.now)

	w.later(time.Minute)
	odd := w.message("a9", "2")
	odd.Event.OccurredAt, odd.Heard = w.now.Add(-60*24*time.Hour), true
	w.same("a time that cannot be true", w.lastHeard(w.relay(odd).Pending[0].Conv).At, w.now)
	w.relay(w.message("a2", "1"))
	w.same("again", w.lastHeard(conv), gateway.Heard{At: w.now.Add(-time.Second)})
	for i := range 40 { // more than the row of a conversation is behind its events
		w.later(time.Second)
		w.relay(w.message("b"+string(rune('0'+i)), "1"))
	}
	w.same("the newest of many", w.lastHeard(conv).At, w.now.Add(-time.Second))

	out, err := w.l.Submit(w.ctx, &gateway.Submission{Platform: "whatsapp", Account: "shop", Replies: []gateway.Reply{{Type: "text", Text: "x"}},
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{phone("9")}}}, w.now)
	w.must(err)
	w.same("who never wrote", w.lastHeard(out.Conv), gateway.Heard{})
	if _, err := w.l.Heard(w.ctx, "aaaaaaaaaaaaaaaaaaaaaaaaaa"); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("a conversation that is none: %v", err)
	}
	old, young := w.pair("m")
	w.join("m")
	w.same("what became part of another one", w.lastHeard(young.Conv).At, w.lastHeard(old.Conv).At)
	w.balanced()
}

// What is refused without a call is a dead letter, and waits again when requeued; a
// template goes out once a day.
func windowRefused(w *world) {
	conv := w.say("a1", "1", "1", "2")
	first, _ := w.next(conv)
	template := &gateway.Reply{Type: gateway.ReplyTemplate, Template: &gateway.TemplateReply{Name: "hello", Language: "en"}}
	refuse := func(m *gateway.Message, instead *gateway.Reply) error {
		return w.l.Refuse(w.ctx, gateway.Refusal{Message: m.ID, Reason: gateway.ReasonWindow, Detail: "too late", Instead: instead, At: w.now})
	}
	w.must(refuse(first, template))
	if err := refuse(first, template); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("refused twice: %v", err)
	}
	w.same("refused", w.because(gateway.MessageRejected, gateway.ReasonWindow), []string{"1"})
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.t"})
	w.same("in its place", [3]string{string(m.Reply.Type), m.App, m.Event}, [3]string{"template", first.App, first.Event})
	w.same("by itself", m.Parts, 1)
	dead, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	w.same("dead letters", len(dead), 1)
	w.same("reason", [2]string{dead[0].Reason, dead[0].Detail}, [2]string{gateway.ReasonWindow, "too late"})
	w.same("attempts of it", first.Attempts, 0)

	w.say("a2", "1", "3")
	next, _ := w.next(conv)
	w.must(refuse(next, template))
	if again, _ := w.next(conv); again != nil {
		w.Error("a second template within a day")
	}
	if _, err := w.l.Requeue(w.ctx, dead[0].ID, "ops", w.now); err != nil {
		w.Fatal(err)
	}
	for _, text := range []string{"1", "2"} {
		w.same("requeued", w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w." + text}).Reply.Text, text)
	}
	w.later(25 * time.Hour)
	w.say("a3", "1", "4")
	next, _ = w.next(conv)
	w.must(refuse(next, template))
	w.same("a day later", w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.u"}).Reply.Type, gateway.ReplyTemplate)
	w.balanced()
}
