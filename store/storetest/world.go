package storetest

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// world is a store with the short words the tests use.
type world struct {
	*testing.T
	ctx context.Context
	a   store.Archive
	l   store.Ledger
	now time.Time
	pos int64 // of the last payload relayed
	seq uint64
	// takeover is what every account does when a colleague writes; nothing, to begin with.
	takeover gateway.Takeover
	failed   []gateway.FailedLater // as told by judge
}

func (w *world) rule(string, string) gateway.Takeover { return w.takeover }

func newWorld(t *testing.T, a store.Archive, l store.Ledger) *world {
	return &world{T: t, ctx: t.Context(), a: a, l: l, now: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)}
}

// must fails the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// same compares what is there with what should be. The event that may come with
// a pending row is left out; withRow looks at it.
func (w *world) same(what string, got, want any) {
	w.Helper()
	row := cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().Type() == reflect.TypeFor[*gateway.EventRow]() && p.Last().String() == ".Row"
	}, cmp.Ignore())
	if d := cmp.Diff(want, got, row); d != "" {
		w.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func (w *world) later(d time.Duration) time.Time {
	w.now = w.now.Add(d)
	return w.now
}

func phone(s string) gateway.Identity { return gateway.Identity{Kind: "phone", Value: s} }

// message is an item of somebody who wrote to us, wanted by "bot".
func (w *world) message(id, who string) gateway.ItemRow {
	return gateway.ItemRow{
		State: gateway.ItemEvent,
		Event: gateway.EventRow{ID: "ev_" + id, Platform: "whatsapp", Account: "shop", Kind: gateway.KindMessage, Chat: gateway.ChatSingle,
			ReceivedAt: w.now, OccurredAt: w.now.Add(-time.Second), Content: []byte(`{"type":"text","text":"nul \u0000 ` + "and a real one\x00" + `"}`)},
		Chat:   gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{phone(who)}},
		Wanted: []string{"bot"},
	}
}

func (w *world) status(id, who, external, marker string, state gateway.StatusState) gateway.ItemRow {
	it := w.message(id, who)
	it.Event.Kind, it.Wanted = gateway.KindStatus, nil
	it.Status = &gateway.Status{MessageID: external, Marker: marker, State: state}
	if state == gateway.StatusFailed {
		it.Status.Errors = []gateway.Problem{{Code: 131026, Title: "undeliverable"}}
	}
	return it
}

func (w *world) echo(id, who, external, marker string) gateway.ItemRow {
	it := w.message(id, who)
	it.Event.Kind, it.Wanted = gateway.KindEcho, nil
	it.Echo = &gateway.Echo{MessageID: external, Marker: marker}
	return it
}

// payload makes the next payload of these items.
func (w *world) payload(items ...gateway.ItemRow) gateway.RelayedPayload {
	w.pos++
	for i := range items {
		items[i].Index = i
	}
	return gateway.RelayedPayload{Pos: w.pos, Platform: "whatsapp", Endpoint: "meta", ReceivedAt: w.now, KeyFP: "fp", Items: items, Last: true}
}

// relay relays one payload with these items.
func (w *world) relay(items ...gateway.ItemRow) gateway.RelayResult {
	w.Helper()
	return w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{w.payload(items...)}})
}

func (w *world) batch(b *gateway.RelayBatch) gateway.RelayResult {
	w.Helper()
	r, err := w.l.Relay(w.ctx, b, w.now)
	w.must(err)
	for i := range r.Pending {
		w.withRow(&r.Pending[i])
	}
	return r
}

// withRow checks that the event that came with a pending row is the one of its N.
func (w *world) withRow(p *gateway.Pending) {
	w.Helper()
	if p == nil || p.Row == nil {
		return
	}
	rows, err := w.l.Events(w.ctx, []int64{p.N})
	w.must(err)
	w.same("the event of a pending row", p.Row, rows[p.N])
}

// answer settles one answer with a decision.
func (w *world) answer(p gateway.Pending, d gateway.Decision) gateway.Settled {
	w.Helper()
	w.seq++
	out, err := w.l.Settle(w.ctx, gateway.ReplyPosition{Created: w.now, Seq: w.seq},
		[]gateway.Settlement{{App: p.App, Conv: p.Conv, Answer: gateway.Answer{Event: p.Delivery()}}},
		func(*gateway.Pending, *gateway.Answer) gateway.Decision { return d }, w.now)
	w.must(err)
	if len(out) != 1 {
		w.Fatalf("%d results for one answer", len(out))
	}
	w.withRow(out[0].Head)
	return out[0]
}

func done(texts ...string) gateway.Decision {
	d := gateway.Decision{State: gateway.EventSettled, Reason: "done", Tries: 1}
	for _, t := range texts {
		d.Replies = append(d.Replies, gateway.Reply{Type: "text", Text: t})
	}
	return d
}

// say relays a message of who and answers it with texts; it returns the
// conversation.
func (w *world) say(id, who string, texts ...string) string {
	w.Helper()
	r := w.relay(w.message(id, who))
	if len(r.Pending) != 1 {
		w.Fatalf("%d pending rows for one message", len(r.Pending))
	}
	if s := w.answer(r.Pending[0], done(texts...)); s.Late || s.Messages != len(texts) {
		w.Fatalf("answer: late %v, %d messages", s.Late, s.Messages)
	}
	return r.Pending[0].Conv
}

func (w *world) next(conv string) (*gateway.Message, *gateway.Attempt) {
	w.Helper()
	m, a, err := w.l.NextMessage(w.ctx, conv)
	w.must(err)
	return m, a
}

// begin starts an attempt of the conversation's next message.
func (w *world) begin(conv string) (*gateway.Message, *gateway.Attempt) {
	w.Helper()
	m, _ := w.next(conv)
	if m == nil {
		w.Fatal("nothing to send")
	}
	at := w.now
	if m.DueAt.After(at) { // nothing begins before
		at = m.DueAt
	}
	a := &gateway.Attempt{ID: fmt.Sprintf("at_%s_%d", m.ID, m.Attempts+1), Message: m.ID, N: m.Attempts + 1,
		StartedAt: at, VoidAfter: at.Add(30 * time.Second)}
	w.must(w.l.BeginAttempt(w.ctx, a, conv))
	return m, a
}

func (w *world) end(a *gateway.Attempt, o gateway.Outcome) {
	w.Helper()
	w.must(w.l.EndAttempt(w.ctx, &gateway.AttemptEnd{Attempt: a.ID, Message: a.Message, At: w.now, Outcome: o,
		NextAt: w.now.Add(time.Minute), UnknownUntil: w.now.Add(time.Minute), By: "answer"}))
}

// send sends the conversation's next message with an outcome.
func (w *world) send(conv string, o gateway.Outcome) *gateway.Message {
	w.Helper()
	m, a := w.begin(conv)
	w.end(a, o)
	return m
}

// find returns the message with an id, by its state.
func (w *world) find(id string, state gateway.MessageState) gateway.Message {
	w.Helper()
	ms, err := w.l.Messages(w.ctx, state, 1000)
	w.must(err)
	for _, m := range ms {
		if m.ID == id {
			return m
		}
	}
	w.Fatalf("message is not %s", state)
	return gateway.Message{}
}

func (w *world) judge() (int, []string, time.Time) {
	w.Helper()
	out, err := w.l.Judge(w.ctx, w.now, 100, w.rule)
	w.must(err)
	w.failed = append(w.failed, out.Failed...)
	return out.Done, out.Woken, out.Next
}

func (w *world) changes() []gateway.Change {
	w.Helper()
	out, err := w.l.UnpublishedChanges(w.ctx, 1000)
	w.must(err)
	return out
}

func (w *world) counter(name string) int64 {
	w.Helper()
	m, err := w.l.Counters(w.ctx)
	w.must(err)
	return m[name]
}

// balanced checks that kept counts, rows and equations agree.
func (w *world) balanced() gateway.Sums {
	w.Helper()
	kept, err := w.l.Sums(w.ctx)
	w.must(err)
	counted, err := w.l.Recount(w.ctx)
	w.must(err)
	for name, a := range kept.Apps {
		if a == (gateway.AppSums{}) {
			delete(kept.Apps, name)
		}
	}
	w.same("kept counts against rows", kept, counted)
	kept.Payloads.Archived = kept.Payloads.Relayed + kept.Payloads.Duplicate + kept.Payloads.Ignored + kept.Payloads.Sealed + kept.Payloads.Dead
	if broken := kept.Broken(); len(broken) > 0 {
		w.Errorf("sums do not balance: %q", broken)
	}
	return kept
}
