package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// tells posts a callback of any kind and wants 200 at once.
func (w *world) tells(e whatsapptest.Event) {
	w.t.Helper()
	_, body, err := w.wa.Body(e)
	if err != nil {
		w.t.Fatal(err)
	}
	w.taken(body)
}

// answered waits until so many messages were accepted, and returns to whom the
// last one went.
func (w *world) answered(n int64) string {
	w.t.Helper()
	w.until(30*time.Second, "every question has its answer", func() bool {
		s := w.sums()
		return s.Payloads.Pending == 0 && s.Messages.Accepted == n
	})
	calls := w.calls("")
	return calls[len(calls)-1].To
}

// hears waits until every callback is relayed and settled.
func (w *world) hears() {
	w.t.Helper()
	w.until(30*time.Second, "every callback is relayed", func() bool { return w.sums().Payloads.Pending == 0 })
	w.settled(30 * time.Second)
}

// Case 15: the number written to is not the wa_id. The answer to the send call
// tells the other one; nothing is ever made of digits.
func TestCase15PhoneAlias(t *testing.T) {
	begin(t)
	aliases := map[string]string{"5511900000001": "551100000001", "525500000001": "5215500000001"}
	w := newCase(t, worldOptions{waID: func(number string) string { return aliases[number] }})
	says := func(number string) {
		w.tells(whatsapptest.Event{Kind: "text", Customer: whatsapptest.Customer{Phone: number, NoUserID: true}, Text: "hello"})
	}
	answers := int64(0)
	for typed, known := range aliases {
		says(typed)
		answers++
		if to := w.answered(answers); to != typed {
			t.Errorf("the answer to %s went to %s", typed, to)
		}
		before := w.customerConv(typed)
		says(known)
		answers++
		w.answered(answers)
		if after := w.customerConv(known); after.Conv != before.Conv || after.LastSeq != 2 {
			t.Errorf("%s and %s are two conversations", typed, known)
		}
	}
	// A landline and a number of Argentina keep their digits, and a BSUID that
	// begins like a country is no number.
	brazil := w.customerConv("5511900000001").Conv
	for _, number := range []string{"551130000001", "5491100000001"} {
		says(number)
		answers++
		if to := w.answered(answers); to != number || w.customerConv(number).Conv == brazil {
			t.Errorf("the answer to %s went to %s", number, to)
		}
	}
	const user = "MX.10000000000000000009"
	w.tells(whatsapptest.Event{Kind: "text", Customer: whatsapptest.Customer{UserID: user}})
	answers++
	if to := w.answered(answers); to != user {
		t.Errorf("the answer to %s went to %s", user, to)
	}
	w.oncePerMessage()
}

// A customer without a number is one conversation through everything: seen by
// the BSUID, with the number for a while, with a new BSUID, with a new number.
// What is answered goes to the name that is good now; who gets the old number is
// somebody else.
func TestOneConversationThroughAllNames(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.wa.Faults().Remove("no statuses")
	const phone, next = "447700900518", "447700900599"
	const user = "GB.8fQ2mXw07LrTzK41vBnC"
	show := func(hidden bool) {
		t.Helper()
		if err := w.wa.SetCustomer(whatsapptest.Customer{Phone: phone, UserID: user, Username: "ines.k", HidePhone: hidden}); err != nil {
			t.Fatal(err)
		}
	}
	says := func(who, text string) {
		w.tells(whatsapptest.Event{Kind: "text", Customer: whatsapptest.Customer{Phone: who}, Text: text})
	}
	find := func(kind, value string) *gateway.Conversation {
		t.Helper()
		return w.conversation("whatsapp", "shop-a", kind, value)
	}

	show(true)
	says(phone, "no number")
	if to := w.answered(1); to != user {
		t.Fatalf("answered to %s", to)
	}
	conv := find("bsuid", user).Conv
	w.until(20*time.Second, "the statuses without a number are joined", func() bool {
		m := find("bsuid", user).Messages
		return len(m) == 1 && m[0].Delivery == gateway.StatusRead
	})

	show(false)
	says(phone, "the number shows")
	w.answered(2)
	show(true)
	says(phone, "and is hidden again")
	w.answered(3)

	moved := func(to string) {
		t.Helper()
		if _, err := w.wa.Move(phone, to); err != nil {
			t.Fatal(err)
		}
		if err := w.wa.Courier().Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.hears()
	}
	moved("") // the id alone
	says(phone, "another id")
	// The number known is in doubt: a new id comes of a new number.
	if to := w.answered(4); to != whatsapptest.BSUID("after "+user) {
		t.Errorf("after the change of id answered to %s", to)
	}
	moved(next)
	says(next, "another number")
	if to := w.answered(5); to != whatsapptest.BSUID(next) {
		t.Errorf("after the change of number answered to %s", to)
	}
	c := find("bsuid", whatsapptest.BSUID(next))
	if c.Conv != conv || len(c.Merged) != 0 {
		t.Errorf("one customer in two conversations: %+v", c)
	}
	questions := slices.DeleteFunc(ordered(c), func(e gateway.ConversationEvent) bool { return e.Kind != gateway.KindMessage })
	if len(questions) != 5 {
		t.Errorf("%d questions in it, want 5", len(questions))
	}
	for i, ev := range ordered(c) {
		if ev.Seq != int64(i+1) {
			t.Errorf("event %d has seq %d", i, ev.Seq)
		}
	}

	says(phone, "I have this number now")
	if to := w.answered(6); to != phone {
		t.Errorf("the next owner was answered at %s", to)
	}
	w.hears()
	if other := find("phone", phone); other.Conv == conv || other.LastSeq != 1 {
		t.Errorf("the next owner of a number is in the conversation of the one before")
	}
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("dead letters %+v", dead)
	}
	w.oncePerMessage()
	w.sums()
}

// Changes that come before their message, and the gateway is killed in between: the newest by the platform's time
// wins whatever came first, and a revoke is final. What is out of date is
// recorded and never offered.
func TestChangesOverAKill(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: "  - {name: echo, ack_wait: 5s, tries: 4, delays: [200ms], kinds: [message, change]}\n"})
	heard := make(chan string, 100)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		word := ev.Type + " " + ev.ID
		if ev.Target != nil {
			word += " of " + ev.Target.MessageID
		}
		heard <- word
		return worker.Text("ok"), nil
	}, 4)
	who := whatsapptest.Customer{Phone: customer(70)}
	noon := time.Unix(1_795_900_000, 0)
	event := func(kind, id, target string, second int) {
		w.tells(whatsapptest.Event{Kind: kind, Customer: who, ID: id, Target: target, At: noon.Add(time.Duration(second) * time.Second), Text: id})
	}
	event("revoke", "wamid.R1", "wamid.M1", 30)
	event("edit", "wamid.E2b", "wamid.M2", 20)
	w.hears()
	w.kill()
	w.start("")
	w.up()
	event("text", "wamid.M1", "", 1)           // revoked already
	event("edit", "wamid.E1", "wamid.M1", 40)  // nothing to edit any more
	event("edit", "wamid.E2a", "wamid.M2", 10) // older than the one that came
	event("text", "wamid.M2", "", 2)           // edited, still a question
	event("reaction", "wamid.A2", "wamid.M2", 50)
	event("reaction-removed", "wamid.A1", "wamid.M2", 45) // taken back before that
	event("edit", "wamid.E2c", "wamid.M2", 60)
	w.hears()
	close(heard)
	got := []string{}
	for word := range heard {
		got = append(got, word)
	}
	want := []string{"revoke wamid.R1 of wamid.M1", "edit wamid.E2b of wamid.M2", "text wamid.M2", "reaction wamid.A2 of wamid.M2", "edit wamid.E2c of wamid.M2"}
	if !slices.Equal(got, want) {
		t.Errorf("the bot heard %q, want %q", got, want)
	}
	superseded := map[string]int{}
	for _, ev := range w.customerConv(customer(70)).Events {
		if ev.Superseded != "" {
			superseded[ev.Superseded]++
			if len(ev.States) != 0 {
				t.Errorf("what is out of date was offered: %+v", ev)
			}
		}
	}
	if superseded["revoked"] != 2 || superseded["newer"] != 2 || len(superseded) != 2 {
		t.Errorf("out of date: %v, want 2 revoked and 2 newer", superseded)
	}
	if s := w.sums(); s.Items.Dead != 0 || s.Items.Events != 9 {
		t.Errorf("items %+v", s.Items)
	}
}
