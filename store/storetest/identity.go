package storetest

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func bsuid(s string) gateway.Identity { return gateway.Identity{Kind: "bsuid", Value: s} }

func retired(id gateway.Identity) gateway.Identity {
	id.Retired = true
	return id
}

// chat is a message of somebody with these names, best first.
func (w *world) chat(id string, names ...gateway.Identity) gateway.ItemRow {
	it := w.message(id, "0")
	it.Chat.Identities = names
	return it
}

// heard relays one message and returns its conversation.
func (w *world) heard(it gateway.ItemRow) string {
	w.Helper()
	r := w.relay(it)
	if len(r.Pending) != 1 {
		w.Fatalf("%d pending rows for one message", len(r.Pending))
	}
	return r.Pending[0].Conv
}

// names are the identities of a conversation as an operator sees them.
func (w *world) names(conv string) []gateway.Identity {
	w.Helper()
	c, err := w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	return c.Identities
}

func identityRetired(w *world) {
	ann := w.heard(w.chat("1", bsuid("b.1"), phone("100")))
	w.later(time.Hour)
	change := w.chat("2", retired(bsuid("b.1")), retired(phone("100")), bsuid("b.2"), phone("200"))
	w.same("after the change", w.heard(change), ann)
	w.same("names", w.names(ann), []gateway.Identity{bsuid("b.2"), phone("200"), retired(bsuid("b.1")), retired(phone("100"))})

	// What the person wrote before the change and comes late is theirs, and makes
	// no retired name one in use.
	late := w.chat("3", bsuid("b.1"), phone("100"))
	late.Event.OccurredAt = w.now.Add(-time.Minute)
	w.same("a late message", w.heard(late), ann)
	w.same("a late message by number alone", w.heard(w.chat("4", phone("100"))), ann)

	// A receipt of what we sent to the old number makes it no name in use either.
	receipt := w.status("4s", "100", "w.old", "", gateway.StatusRead)
	receipt.Chat.Identities = []gateway.Identity{bsuid("b.1"), phone("100")}
	w.later(time.Minute)
	receipt.Event.OccurredAt = w.now
	w.relay(receipt)
	w.same("names after it", w.names(ann), []gateway.Identity{bsuid("b.2"), phone("200"), retired(bsuid("b.1")), retired(phone("100"))})

	w.say("5", "200", "to the new number")
	m, _ := w.next(ann)
	w.same("recipient", m.To, []gateway.Identity{bsuid("b.2"), phone("200")})

	// Another person gets the number: they begin a conversation of their own, and
	// from now on the number is theirs.
	w.later(time.Hour)
	bob := w.heard(w.chat("6", bsuid("b.3"), phone("100")))
	if bob == ann {
		w.Fatal("the next owner of a number is in the conversation of the one before")
	}
	w.same("the number alone", w.heard(w.chat("7", phone("100"))), bob)
	w.same("names of the one before", w.names(ann), []gateway.Identity{bsuid("b.2"), phone("200"), retired(bsuid("b.1"))})
	w.same("moved", w.counter("alias_moved"), int64(1))
	w.same("merged", w.counter("merged"), int64(0))

	// Still later comes what the first one wrote before giving the number up.
	latest := w.chat("8", bsuid("b.1"), phone("100"))
	latest.Event.OccurredAt = w.now.Add(-90 * time.Minute)
	w.same("the latest message", w.heard(latest), ann)
	w.same("the number stays", w.heard(w.chat("9", phone("100"))), bob)
	w.balanced()
}

func identityReturns(w *world) {
	conv := w.heard(w.chat("1", phone("100")))
	w.later(time.Hour)
	w.heard(w.chat("2", phone("200"), retired(phone("100"))))
	w.same("moved away", w.names(conv), []gateway.Identity{phone("200"), retired(phone("100"))})
	w.later(time.Hour)
	w.same("back again", w.heard(w.chat("3", phone("100"), retired(phone("200")))), conv)
	w.same("names", w.names(conv), []gateway.Identity{phone("100"), retired(phone("200"))})
	// The first change comes once more, in another callback: it is older.
	old := w.chat("4", phone("200"), retired(phone("100")))
	old.Event.OccurredAt = w.now.Add(-time.Hour)
	w.same("an old change", w.heard(old), conv)
	w.same("names afterwards", w.names(conv), []gateway.Identity{phone("100"), retired(phone("200"))})
}

func identityRotates(w *world) {
	conv := w.heard(w.chat("1", bsuid("b.1"), phone("100")))
	w.later(time.Minute)
	w.same("a new BSUID", w.heard(w.chat("2", bsuid("b.2"), retired(bsuid("b.1")))), conv)
	w.same("by it alone", w.heard(w.chat("3", bsuid("b.2"))), conv)
	// A new id comes of a new number: until the one we know shows again it may be
	// another person's, and is not written to.
	w.same("names in doubt", w.names(conv), []gateway.Identity{bsuid("b.2"), retired(bsuid("b.1")), retired(phone("100"))})
	w.same("with the number that stayed", w.heard(w.chat("4", bsuid("b.2"), phone("100"))), conv)
	w.same("names", w.names(conv), []gateway.Identity{bsuid("b.2"), phone("100"), retired(bsuid("b.1"))})
	w.same("merged", w.counter("merged"), int64(0))

	// The change is told after the first message under the new names: what began
	// with it was the same person.
	ann := w.heard(w.chat("5", bsuid("c.1"), phone("300")))
	w.later(time.Minute)
	young := w.heard(w.chat("6", bsuid("c.2"), phone("400")))
	w.later(time.Minute)
	if young == ann {
		w.Fatal("nothing told yet that they are one")
	}
	w.same("told late", w.heard(w.chat("7", retired(bsuid("c.1")), retired(phone("300")), bsuid("c.2"))), ann)
	w.same("merged then", w.counter("merged"), int64(1))
	w.same("by the new number", w.heard(w.chat("8", phone("400"))), ann)

	// Somebody takes a number that was another one's until now: both are on record.
	old := w.heard(w.chat("9", bsuid("d.1"), phone("500")))
	w.later(time.Minute)
	w.same("a change to a known number", w.heard(w.chat("10", retired(bsuid("c.2")), retired(phone("400")), bsuid("c.3"), phone("500"))), ann)
	w.same("the number", w.heard(w.chat("11", phone("500"))), ann)
	w.same("the one before", w.heard(w.chat("12", bsuid("d.1"))), old)
	w.same("merged still", w.counter("merged"), int64(1))
}

// Two people on record with a BSUID each are not made one by a number that went
// from one to the other without a word.
func identityStrangers(w *world) {
	ann := w.heard(w.chat("1", bsuid("b.1"), phone("100")))
	bob := w.heard(w.chat("2", bsuid("b.2")))
	w.later(time.Minute)
	w.same("the number with its new owner", w.heard(w.chat("3", bsuid("b.2"), phone("100"))), bob)
	w.same("the number", w.heard(w.chat("4", phone("100"))), bob)
	w.same("the one before", w.heard(w.chat("5", bsuid("b.1"))), ann)
	w.same("names of the one before", w.names(ann), []gateway.Identity{bsuid("b.1")})
	w.same("merged", w.counter("merged"), int64(0))

	// A replay of the old message belongs where it was.
	p := w.payload(w.chat("1", bsuid("b.1"), phone("100")))
	p.Pos = 1
	made, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now})
	w.must(err)
	w.same("run", made, true)
	r := w.batch(&gateway.RelayBatch{Run: "run_1", OnlyConv: ann, Payloads: []gateway.RelayedPayload{p}})
	if len(r.Pending) != 1 || r.Pending[0].Conv != ann {
		w.Errorf("replay: %+v", r.Pending)
	}
	w.same("the number after a replay", w.heard(w.chat("6", phone("100"))), bob)
	w.balanced()
}

// The answer to a send names the recipient otherwise (Brazil's ninth digit): the
// name leads to the same conversation from then on, and when it led to another one
// the two become one.
func identityByAnswer(w *world) {
	conv := w.say("1", "5511987654321", "1", "2")
	short := gateway.Identity{Kind: "phone", Value: "551187654321"}
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.1", Aliases: []gateway.Identity{short}})
	w.same("the learned name", w.heard(w.chat("2", short)), conv)

	other := w.heard(w.chat("3", phone("5493511234567")))
	m, a := w.begin(conv)
	e := &gateway.AttemptEnd{Attempt: a.ID, Message: m.ID, At: w.now, By: "answer",
		Outcome: gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.2", Aliases: []gateway.Identity{phone("5493511234567")}}}
	w.must(w.l.EndAttempt(w.ctx, e))
	w.same("merged in the middle of a send", e.Merged, []gateway.Merge{{Conv: other, Into: conv}})
	w.same("the other's name", w.heard(w.chat("4", phone("5493511234567"))), conv)

	// The answer names somebody who is on record as another person: the number went
	// to them without a word. Nobody is joined.
	ann, bob := w.heard(w.chat("5", bsuid("b.1"), phone("100"))), w.heard(w.chat("6", bsuid("b.2")))
	w.say("7", "100", "for ann")
	w.send(ann, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.3", Aliases: []gateway.Identity{phone("100"), bsuid("b.2")}})
	w.same("ann", w.heard(w.chat("8", bsuid("b.1"))), ann)
	w.same("bob", w.heard(w.chat("9", bsuid("b.2"))), bob)
	w.same("conflicts", w.counter("alias_conflict"), int64(1))
	w.balanced()
}

func relayObserved(w *world) {
	copied := func(it gateway.ItemRow, how gateway.Observed) gateway.ItemRow {
		it.Observed = how
		it.Event.Content = []byte(`{"type":"text","observed":"` + string(how) + `"}`)
		return it
	}
	r := w.relay(copied(w.message("1", "1"), gateway.ObservedHistory), copied(w.message("2", "1"), gateway.ObservedStandby),
		copied(w.status("3", "1", "x.1", "", gateway.StatusSent), gateway.ObservedStandby), copied(w.echo("4", "1", "x.2", ""), gateway.ObservedStandby))
	w.same("of copies", r, gateway.RelayResult{Events: 4, LastN: r.LastN})
	done, _, _ := w.judge()
	w.same("judged", done, 0)
	conv := w.heard(w.message("5", "1"))
	c, err := w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	w.same("last seq", c.LastSeq, int64(1))
	var seen []gateway.Observed
	for _, e := range c.Events {
		seen = append(seen, e.Observed)
		w.same("origin", e.Origin, gateway.OriginLive)
	}
	w.same("marked", seen, []gateway.Observed{"history", "standby", "standby", "standby", ""})
	un, err := w.l.Unpublished(w.ctx, 10)
	w.must(err)
	w.same("for observers", len(un), 5)
	w.same("out of order", w.counter("out_of_order"), int64(0))

	// They join nobody and change no name.
	a, b := w.heard(w.chat("6", phone("600"))), w.heard(w.chat("7", bsuid("b.7")))
	w.relay(copied(w.chat("8", bsuid("b.7"), phone("600"), phone("601")), gateway.ObservedHistory))
	w.same("merged", w.counter("merged"), int64(0))
	w.same("names", [2][]gateway.Identity{w.names(a), w.names(b)},
		[2][]gateway.Identity{{phone("600")}, {bsuid("b.7"), phone("601")}})

	// Neither are they offered in a replay.
	p := w.payload(copied(w.message("1", "1"), gateway.ObservedHistory), w.message("5", "1"))
	p.Pos = 1
	_, err = w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now})
	w.must(err)
	r = w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{p}})
	w.same("replayed", [2]any{len(r.Pending), r.Pending[0].Event}, [2]any{1, "ev_5"})
	w.balanced()
}
