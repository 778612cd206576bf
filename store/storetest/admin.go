package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func adminConversation(w *world) {
	conv := w.say("a1", "1", "secret text")
	second := w.message("a2", "1")
	second.Wanted = []string{"bot", "other"}
	second.Event.Content = []byte(`{"type":"text","text":"hello"}`)
	p := w.relay(second).Pending[0]
	c, err := w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	occurred := w.now.Add(-time.Second)
	want := &gateway.Conversation{
		Conv: conv, Platform: "whatsapp", Account: "shop", Chat: gateway.ChatSingle, Identities: []gateway.Identity{phone("1")}, LastSeq: 2,
		Events: []gateway.ConversationEvent{
			{Event: "ev_a1", Seq: 1, Kind: gateway.KindMessage, Origin: gateway.OriginLive, ReceivedAt: w.now, OccurredAt: &occurred,
				States: map[string]gateway.EventState{"bot": gateway.EventSettled}, Verdicts: map[string]gateway.EventVerdict{"bot": {Reason: "done", Tries: 1, At: w.now}}},
			{Event: "ev_a2", Seq: 2, Kind: gateway.KindMessage, Type: "text", Origin: gateway.OriginLive, ReceivedAt: w.now, OccurredAt: &occurred,
				States: map[string]gateway.EventState{"bot": gateway.EventPending, "other": gateway.EventPending},
				Waits:  map[string]gateway.EventWait{"bot": {}, "other": {}}},
		},
		Messages: []gateway.ConversationMessage{{Message: c.Messages[0].Message, Event: "ev_a1", Type: gateway.ReplyText, State: gateway.MessageWaiting, DueAt: w.now}},
	}
	w.same("conversation", c, want)

	// Its failed tries, and what it waits for; the texts on demand.
	next := w.now.Add(time.Minute)
	first := w.now
	w.answer(p, gateway.Decision{State: gateway.EventPending, Reason: "retry", Tries: 1, NextAt: next, Detail: "no model", Failed: true})
	p.Round = 1
	w.later(time.Second)
	w.answer(p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 2, Detail: strings.Repeat("e", 5000), Failed: true})
	c, err = w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	w.same("tries", c.Events[1].Tries, []gateway.EventTry{{App: "bot", Try: 1, At: first, Reason: "retry", Error: "no model"},
		{App: "bot", Try: 2, At: w.now, Reason: gateway.ReasonTries, Error: strings.Repeat("e", 1024)}})
	w.must(w.l.ConversationTexts(w.ctx, c))
	w.same("texts", [2]string{c.Messages[0].Text, c.Events[1].Text}, [2]string{"secret text", "hello"})
	if _, err := w.l.Conversation(w.ctx, "none", 10); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("an unknown conversation: %v", err)
	}
	if _, err := w.l.FindConversation(w.ctx, "whatsapp", "shop", phone("99")); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("an unknown identity: %v", err)
	}
}

func adminPayloads(w *world) {
	conv := w.relay(w.message("a1", "1")).Pending[0].Conv
	w.relay(w.message("b1", "2"))
	w.relay(w.message("a2", "1"), w.message("a3", "1"))
	w.relay(w.status("s1", "1", "w.1", "", gateway.StatusSent))
	got, err := w.l.ConversationPayloads(w.ctx, conv, 0, 10)
	w.must(err)
	w.same("payloads of a conversation", got, []int64{1, 3, 4})
	got, err = w.l.ConversationPayloads(w.ctx, conv, 1, 1)
	w.must(err)
	w.same("one after the first", got, []int64{3})
	s, err := w.l.PayloadState(w.ctx, 3)
	w.must(err)
	w.same("payload", s, store.PayloadStatus{State: gateway.PayloadRelayed, KeyFP: "fp", Items: []store.ItemStatus{
		{Index: 0, State: gateway.ItemEvent, Event: "ev_a2", Conv: conv, Seq: 2, Kind: gateway.KindMessage},
		{Index: 1, State: gateway.ItemEvent, Event: "ev_a3", Conv: conv, Seq: 3, Kind: gateway.KindMessage}}})
	states, err := w.l.PayloadStates(w.ctx, []int64{1, 3, 99})
	w.must(err)
	w.same("states", states, map[int64]gateway.PayloadState{1: gateway.PayloadRelayed, 3: gateway.PayloadRelayed})
	for _, endpoint := range []string{"x", "y", "x"} {
		p := w.payload()
		p.Endpoint, p.State = endpoint, gateway.PayloadSealed
		w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{p}})
	}
	for endpoint, want := range map[string][]int64{"x": {5, 7}, "y": {6}, "": {5, 6, 7}, "z": nil} {
		got, err := w.l.Sealed(w.ctx, endpoint, 0, 10)
		w.must(err)
		w.same("sealed of "+endpoint, got, want)
	}
}

func adminStuck(w *world) {
	since := w.now
	w.relay(w.message("a0", "1"), w.message("a1", "1"))
	w.later(time.Hour)
	conv := w.say("b1", "2", "1")
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	dead := w.message("d", "3")
	dead.State, dead.Reason = gateway.ItemDead, gateway.ReasonNoAccount
	w.relay(dead)
	got, err := w.l.Stuck(w.ctx, w.now)
	w.must(err)
	w.same("stuck", got, []store.StuckThing{
		{What: "pending", Name: "bot", Count: 2, Since: since},
		{What: "unknown", Name: "shop", Count: 1, Since: w.now},
		{What: "dead", Name: "item", Count: 1, Since: w.now},
	})
	e := gateway.AuditEntry{At: w.now, By: "ops", What: "login", Target: "console"}
	w.must(w.l.Audit(w.ctx, e))
	log, err := w.l.AuditLog(w.ctx, 1)
	w.must(err)
	w.same("audit", log, []gateway.AuditEntry{e})
}

func adminIdentity(w *world) {
	id := w.l.Identity()
	if id.ID == "" || id.Epoch != 1 || len(id.Secret) != 32 {
		w.Errorf("identity %q, epoch %d, %d bytes of secret", id.ID, id.Epoch, len(id.Secret))
	}
	conv := w.relay(w.message("a1", "1")).Pending[0].Conv
	w.same("id of a conversation", conv, gateway.ConvID(id.Secret, "whatsapp", "shop", gateway.ChatSingle, phone("1")))
}
