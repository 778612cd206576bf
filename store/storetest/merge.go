package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// pair makes two conversations: an older one known by a number, a younger one by a
// BSUID. Each has an event that waits.
func (w *world) pair(name string) (older, younger gateway.Pending) {
	w.Helper()
	older = w.relay(w.chat(name+"old", phone(name))).Pending[0]
	younger = w.relay(w.chat(name+"young", bsuid(name))).Pending[0]
	if older.Conv == younger.Conv {
		w.Fatal("one conversation from the start")
	}
	return older, younger
}

// join relays the event by which the two turn out to be one.
func (w *world) join(name string) gateway.RelayResult {
	w.Helper()
	return w.relay(w.chat(name+"both", bsuid(name), phone(name)))
}

func (w *world) merges() []gateway.Merge {
	w.Helper()
	out, err := w.l.Merges(w.ctx)
	w.must(err)
	return out
}

func mergeEvents(w *world) {
	older, younger := w.pair("a")
	r := w.join("a")
	want := []gateway.Merge{{Conv: younger.Conv, Into: older.Conv}}
	w.same("told", r.Merged, want)
	w.same("listed", w.merges(), want)
	w.same("new events", [2]any{r.Pending[0].Conv, r.Pending[0].Seq}, [2]any{older.Conv, int64(2)})
	w.same("told once", w.relay(w.chat("c", bsuid("a"), phone("a"))).Merged, []gateway.Merge(nil))

	// Events keep the conversation and seq they have.
	e, err := w.l.Events(w.ctx, []int64{younger.N})
	w.must(err)
	w.same("an event of the younger", [2]any{e[younger.N].Conv, e[younger.N].Seq}, [2]any{younger.Conv, int64(1)})

	// Operators see it from both sides.
	c, err := w.l.Conversation(w.ctx, older.Conv, 10)
	w.must(err)
	w.same("part of the older", c.Merged, []gateway.MergedConversation{{Conv: younger.Conv, At: w.now, Draining: true}})
	c, err = w.l.Conversation(w.ctx, younger.Conv, 10)
	w.must(err)
	w.same("into", c.MergedInto, older.Conv)
	w.same("names by the younger", c.Identities, []gateway.Identity{bsuid("a"), phone("a")})
	stuck := func() bool {
		things, err := w.l.Stuck(w.ctx, w.now)
		w.must(err)
		return slices.ContainsFunc(things, func(t store.StuckThing) bool {
			return t == store.StuckThing{What: "merging", Name: younger.Conv, Count: 1, Since: w.now}
		})
	}
	w.same("for doctor", stuck(), true)

	// A retry keeps it waiting; the last answer lets go.
	w.answer(younger, gateway.Decision{State: gateway.EventPending, Tries: 1})
	w.same("after a retry", w.merges(), want)
	w.answer(younger, done())
	w.same("when nothing is left", w.merges(), []gateway.Merge(nil))
	w.same("for doctor afterwards", stuck(), false)
	c, err = w.l.Conversation(w.ctx, older.Conv, 10)
	w.must(err)
	w.same("part of the older afterwards", c.Merged, []gateway.MergedConversation{{Conv: younger.Conv, At: w.now}})

	// Replays of what the younger had belong to the older; both find them.
	for _, conv := range []string{older.Conv, younger.Conv} {
		p := w.payload(w.chat("ayoung", bsuid("a")))
		p.Pos = younger.N
		run := "run_" + conv
		_, err = w.l.StartRun(w.ctx, gateway.ReplayRun{ID: run, By: "ops", At: w.now})
		w.must(err)
		r = w.batch(&gateway.RelayBatch{Run: run, OnlyConv: conv, Payloads: []gateway.RelayedPayload{p}})
		if len(r.Pending) != 1 || r.Pending[0].Conv != older.Conv {
			w.Errorf("replay: %+v", r.Pending)
		}
	}
	pos, err := w.l.ConversationPayloads(w.ctx, older.Conv, 0, 10)
	w.must(err)
	w.same("payloads of both", pos, []int64{1, 2, 3, 4})
	w.balanced()
}

// A merge of conversations with nothing left needs no waiting.
func mergeAtRest(w *world) {
	older := w.say("1", "a")
	r := w.relay(w.chat("2", bsuid("a")))
	younger := r.Pending[0]
	w.answer(younger, done())
	r = w.join("a")
	w.same("told", [2]int{len(r.Merged), len(w.merges())}, [2]int{0, 0})
	w.same("conversation", r.Pending[0].Conv, older)

	// The known event comes again: a duplicate merges nothing, nor is it lost.
	r = w.join("a")
	w.same("again", [2]int{r.Events, r.Duplicates}, [2]int{0, 1})
	w.same("merged", w.counter("merged"), int64(1))
	w.balanced()
}

// Messages of the younger go first, whatever is due; the ledger refuses an attempt
// that overtakes them.
func mergeMessages(w *world) {
	older := w.say("1", "a", "old")
	first := w.relay(w.chat("2", bsuid("a"))).Pending[0]
	w.answer(first, done("one", "two"))
	read, _ := w.next(older)
	w.join("a")
	w.same("merging", len(w.merges()), 1)

	m, _ := w.next(older)
	w.same("behind", m.Behind, first.Conv)
	a := &gateway.Attempt{ID: "at_early", Message: read.ID, StartedAt: w.now, VoidAfter: w.now.Add(time.Minute)}
	if err := w.l.BeginAttempt(w.ctx, a, older); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("an attempt out of turn: %v", err)
	}
	m, _ = w.next(first.Conv)
	w.same("recipient of the younger's", m.To, []gateway.Identity{bsuid("a"), phone("a")})
	w.same("the younger's goes at once", [2]string{m.Reply.Text, m.Behind}, [2]string{"one", ""})

	// An echo of the older while the younger's attempt is open is not judged yet.
	_, sending := w.begin(first.Conv)
	w.relay(w.echo("e", "a", "x.2", ""))
	n, _, _ := w.judge()
	w.same("judged early", n, 0)
	w.end(sending, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.1"})
	n, _, _ = w.judge()
	w.same("judged then", n, 1)

	m, _ = w.next(older)
	w.same("still behind", m.Behind, first.Conv)
	w.send(first.Conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	m, _ = w.next(older)
	w.same("behind an unknown one", m.Behind, first.Conv)
	unknown, _ := w.next(first.Conv)
	w.must(w.l.Conclude(w.ctx, unknown.ID, gateway.MessageUnknown, "no evidence", w.now))
	w.same("nothing left", w.merges(), []gateway.Merge(nil))
	w.same("the older's", w.send(older, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.3"}).Reply.Text, "old")
	w.balanced()
}

// A is merged into B, B into C: C waits for both, also when A is the last with
// something left.
func mergeChain(w *world) {
	c := w.relay(w.chat("1", phone("c"))).Pending[0]
	b := w.relay(w.chat("2", phone("b"))).Pending[0]
	a := w.relay(w.chat("3", phone("a"))).Pending[0]
	w.relay(w.chat("4", phone("b"), phone("a")))
	w.later(time.Second)
	r := w.relay(w.chat("5", phone("a"), phone("c")))
	w.same("the oldest lives", r.Pending[0].Conv, c.Conv)
	w.same("told", r.Merged, []gateway.Merge{{Conv: b.Conv, Into: c.Conv}})
	w.same("listed", w.merges(), []gateway.Merge{{Conv: a.Conv, Into: b.Conv}, {Conv: b.Conv, Into: c.Conv}})
	for _, name := range []string{"a", "b", "c"} {
		w.same("by "+name, w.heard(w.chat("6"+name, phone(name))), c.Conv)
	}
	// B's own and the one that joined A and B.
	heads, err := w.l.Heads(w.ctx, "bot", "", 10)
	w.must(err)
	w.same("heads", len(heads), 3)
	for i := slices.IndexFunc(heads, func(p gateway.Pending) bool { return p.Conv == b.Conv }); i >= 0; {
		s := w.answer(heads[i], done("reply of b"))
		if s.Head == nil {
			break
		}
		heads[i] = *s.Head
	}
	w.same("B has a message, A an event", len(w.merges()), 2)
	w.send(b.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.1"})
	w.send(b.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.2"})
	w.same("B waits for A", len(w.merges()), 2)
	w.answer(a, done("reply of a"))
	w.answer(c, done("reply of c"))
	m, _ := w.next(c.Conv)
	w.same("C behind A", m.Behind, a.Conv)
	w.send(a.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.3"})
	w.same("nothing left", w.merges(), []gateway.Merge(nil))
	m, _ = w.next(c.Conv)
	w.same("C's turn", [2]string{m.Reply.Text, m.Behind}, [2]string{"reply of c", ""})
	w.same("recipient", m.To, w.names(a.Conv))
	w.balanced()
}

// Both directions in one batch: one of them does it, whoever comes first.
func mergeBothWays(w *world) {
	older, younger := w.pair("a")
	r := w.relay(w.chat("1", bsuid("a"), phone("a")), w.chat("2", phone("a"), bsuid("a")), w.chat("3", bsuid("a"), phone("a")))
	w.same("told", r.Merged, []gateway.Merge{{Conv: younger.Conv, Into: older.Conv}})
	for i, p := range r.Pending {
		w.same("in order", [2]any{p.Conv, p.Seq}, [2]any{older.Conv, int64(i + 2)})
	}
	w.same("merged", w.counter("merged"), int64(1))
	w.balanced()
}

// What is requeued into a conversation that became part of another one lets that
// one wait again.
func mergeRequeue(w *world) {
	older, younger := w.pair("a")
	w.answer(younger, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4})
	w.answer(older, done("old"))
	w.join("a")
	w.same("a dead letter holds nobody", len(w.merges()), 0)
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{})
	w.must(err)
	re, err := w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	want := []gateway.Merge{{Conv: younger.Conv, Into: older.Conv}}
	w.same("told", re.Merged, want)
	w.same("listed", w.merges(), want)
	w.answer(*re.Pending, done("young"))
	m, _ := w.next(older.Conv)
	w.same("behind the reply", m.Behind, younger.Conv)

	// The platform refuses it: a dead letter, so the older one goes on.
	w.send(younger.Conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "code"})
	w.same("nothing left", len(w.merges()), 0)
	dl, err = w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	_, err = w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	m, _ = w.next(older.Conv)
	w.same("behind the requeued message", m.Behind, younger.Conv)
	w.send(younger.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.1"})
	w.send(older.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x.2"})
	w.balanced()
}

// Held replies of a replay hold nobody until they are released.
func mergeHeld(w *world) {
	older := w.say("1", "a", "old")
	young := w.relay(w.chat("2", bsuid("a")))
	w.answer(young.Pending[0], done())
	_, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now, HoldReplies: true})
	w.must(err)
	p := w.payload(w.chat("2", bsuid("a")))
	p.Pos--
	r := w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{p}})
	w.answer(r.Pending[0], done("held"))
	w.pos--
	w.join("a")
	w.same("held", len(w.merges()), 0)
	m, _ := w.next(older)
	w.same("not behind what is held", m.Behind, "")
	_, err = w.l.ReleaseRun(w.ctx, "run_1", "ops", w.now)
	w.must(err)
	m, _ = w.next(older)
	w.same("behind what is released", m.Behind, young.Pending[0].Conv)
	w.balanced()
}

// The same message id at two of our numbers is two messages in two conversations.
func mergeTwoNumbers(w *world) {
	a, b := w.chat("", bsuid("b.1"), phone("100")), w.chat("", bsuid("b.1"), phone("100"))
	b.Event.Account = "shop-b"
	for it, account := range map[*gateway.ItemRow]string{&a: "1", &b: "2"} {
		it.Event.ID = gateway.EventID("whatsapp", &gateway.Item{AccountID: account, Kind: gateway.KindMessage, Key: "wamid.same"})
		it.MessageID = "wamid.same"
	}
	r := w.relay(a, b)
	w.same("events", [2]int{r.Events, len(r.Pending)}, [2]int{2, 2})
	if r.Pending[0].Conv == r.Pending[1].Conv {
		w.Error("two numbers of ours share a conversation")
	}
	w.balanced()
}

// The notice about a file of the younger conversation is a new event: it goes to the
// older one.
func mergeMediaNotice(w *world) {
	older := w.heard(w.chat("1", phone("a")))
	file := w.chat("2", bsuid("a"))
	file.Event.Content = []byte(`{"type":"image","media":{"id":"f.1","state":"pending"}}`)
	file.Fetch = &gateway.Fetch{Until: w.now.Add(time.Hour)}
	young := w.relay(file).Pending[0]
	w.join("a")
	r, err := w.l.EndMedia(w.ctx, &gateway.MediaEnd{N: young.N, At: w.now, State: gateway.MediaUnavailable, Reason: gateway.MediaGone, Wanted: []string{"bot"}})
	w.must(err)
	w.same("conversation of the notice", [2]any{r.Pending[0].Conv, r.Pending[0].Seq}, [2]any{older, int64(3)})
	w.balanced()
}
