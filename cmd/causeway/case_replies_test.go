package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// everyKind is one reply of each kind that needs no file of ours, with the type
// and the words that the platform's log has of it.
func everyKind(id string) (replies []gateway.Reply, seen []string) {
	add := func(as string, list []gateway.Reply) {
		replies, seen = append(replies, list...), append(seen, as)
	}
	add("read ", worker.Typing(id))
	add("reaction 👍", worker.React(id, "👍"))
	add("text look", worker.Quote(id, worker.Text("look")))
	add("image shoes", worker.Image(worker.URL("https://shop.example/a.jpg"), "shoes"))
	add("audio ", worker.Voice(worker.ID("100200300")))
	add("document bill", worker.Document(worker.ID("100200301"), "Rechnung.pdf", "bill"))
	add("location Shop", worker.Location(52.5, 13.4, "Shop", "Street 1"))
	add("contacts Ana", worker.Contacts(gateway.ContactCard{Name: "Ana", Phones: []string{"+15550100077"}}))
	add("template hello_world", worker.Template("hello_world", "en_US", nil))
	add("interactive well?", worker.Buttons("well?", worker.Button("y", "Yes"), worker.Button("n", "No")))
	add("interactive which?", worker.List("which?", "Sizes", worker.Section("", worker.Row("41", "41", "the last pair"))))
	add("interactive more", worker.Link("more", "Look", "https://shop.example"))
	add("interactive form", worker.Flow("form", gateway.FormReply{ID: "5551", Title: "Book", Screen: "FIRST", Data: []byte(`{"n":1}`)}))
	return replies, seen
}

// A worker answers with every kind of reply; the gateway dies before the platform
// can be reached, and the next one sends them all, in order, each once and whole:
// the platform checks what it is sent.
func TestEveryKindOfReply(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{apps: appByWorker})
	w.start("")
	w.up()
	var want []string
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		replies, _ := everyKind(ev.ID)
		return replies, nil
	}, 4)
	if err := w.wa.Refuse(); err != nil {
		t.Fatal(err)
	}
	_, want = everyKind("")
	w.says(customer(1), "everything")
	w.until(20*time.Second, "the replies are in the ledger", func() bool { return w.sums().Messages.Taken == int64(len(want)) })
	// Killed in the middle of an attempt its outcome would be unknown.
	w.until(20*time.Second, "the first one is refused and waits", func() bool { return strings.Contains(w.said(), `"outcome":"retry"`) })
	w.kill()
	if err := w.wa.Listen(""); err != nil {
		t.Fatal(err)
	}
	w.start("")
	w.up()
	w.settled(time.Minute)
	w.until(20*time.Second, "every status came", func() bool {
		c := w.customerConv(customer(1))
		return !slices.ContainsFunc(c.Messages, func(m gateway.ConversationMessage) bool { return m.Delivery != delivered(m.Type) })
	})
	var got []string
	for _, c := range w.wa.Calls() {
		if !c.Accepted {
			t.Errorf("the platform refused %s %q with %s", c.Type, c.Text, c.Code)
			continue
		}
		got = append(got, c.Type+" "+c.Text)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	w.oncePerMessage()
	s := w.sums()
	if s.Messages.Accepted != int64(len(want)) || len(w.deadLetters()) != 0 {
		t.Errorf("%+v, %d dead letters", s.Messages, len(w.deadLetters()))
	}
	for _, secret := range []string{"look", "shoes", "Rechnung", "wamid.", customer(1)} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// delivered is the last status that comes of a message of this kind.
func delivered(t gateway.ReplyType) gateway.StatusState {
	switch t {
	case gateway.ReplyRead:
		return ""
	case gateway.ReplyReaction:
		return gateway.StatusSent
	case gateway.ReplyVoice:
		return gateway.StatusPlayed
	default:
		return gateway.StatusRead
	}
}

// Marking read fails in every way; the answer behind it leaves all the same, once,
// and its task is not unknown.
func TestMarkingReadFails(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Join(worker.Read(ev.ID), worker.Text("answer to "+ev.Text)), nil
	}, 8)
	for i, f := range []sandbox.Fault{
		{Stage: sandbox.After, Drop: sandbox.DropReset},
		{Stage: sandbox.Before, Status: 500},
		{Code: 131009},
		{Code: 131056},
	} {
		name := fmt.Sprint("fault of ", i)
		f.Name, f.Type = name, "read"
		w.fault(f)
		w.says(customer(i), name)
		w.settled(20 * time.Second)
		w.wa.Faults().Remove(name)
		m := w.customerConv(customer(i)).Messages
		if len(m) != 2 || m[1].State != gateway.MessageAccepted || m[1].Attempts != 1 {
			t.Errorf("%s: %+v", name, m)
			continue
		}
		want, tries := gateway.MessageExpired, 2
		if f.Code == 131009 {
			want, tries = gateway.MessageRejected, 1
		}
		if m[0].State != want || m[0].Attempts != tries || m[0].Reason == "" {
			t.Errorf("%s: the mark is %s after %d tries, %q", name, m[0].State, m[0].Attempts, m[0].Reason)
		}
	}
	w.oncePerMessage()
	s := w.sums().Messages
	if s.Taken != 8 || s.Accepted != 4 || s.Expired != 3 || s.Rejected != 1 || s.Unknown != 0 || s.Cancelled != 0 {
		t.Errorf("%+v", s)
	}
	if dl := w.deadLetters(); len(dl) != 1 || dl[0].Kind != "message" || !strings.HasPrefix(dl[0].Detail, "131009") {
		t.Errorf("dead letters: %+v", dl)
	}
}

// A message to a group goes as far as the member it got farthest with; a member
// for whom it failed is seen and spoils nothing.
func TestGroupReceipts(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{apps: "  - {name: echo, chats: [group], ack_wait: 5s, tries: 4, delays: [200ms]}\n"})
	w.start("")
	w.up()
	const group = "Y2FwaV9ncm91cDoxMjM0NTY3ODkwZD"
	member := func(n int) whatsapptest.Customer { return whatsapptest.Customer{Phone: customer(n), Name: "M"} }
	if err := w.wa.SetGroup(group, []whatsapptest.Participant{{Customer: member(1)}, {Customer: member(2)}, {Customer: member(3), FailCode: 131026}}); err != nil {
		t.Fatal(err)
	}
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Join(worker.Text("to all"), worker.Location(1, 2, "not for groups", "")), nil
	}, 4)
	if _, err := w.wa.Simulate(whatsapptest.Event{Kind: "group-text", Group: group, Customer: member(1), Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	w.until(20*time.Second, "the answer is in the ledger", func() bool { return w.sums().Messages.Taken == 2 })
	w.settled(30 * time.Second)
	var m gateway.ConversationMessage
	w.until(20*time.Second, "every receipt came", func() bool {
		m = w.conversation("whatsapp", "shop-a", "group", group).Messages[0]
		return m.Delivery == gateway.StatusRead && len(m.Members) == 3
	})
	if m.State != gateway.MessageAccepted || m.Failed != nil {
		t.Errorf("the message is %s, failed %+v", m.State, m.Failed)
	}
	failed := 0
	for _, g := range m.Members {
		if g.Failed != nil {
			failed++
			if g.Failed.Code != 131026 || g.Delivery != "" {
				t.Errorf("the member it failed for: %+v", g)
			}
		}
	}
	if failed != 1 {
		t.Errorf("it failed for %d members", failed)
	}
	out, code := w.cli("conv", "show", w.conversation("whatsapp", "shop-a", "group", group).Conv)
	if code != 0 || !strings.Contains(out, "131026") || strings.Contains(out, "to all") {
		t.Errorf("conv show: %d\n%s", code, out)
	}
	shown := w.message(m.Message) // the same, by the message
	if d := cmp.Diff(m.Members, shown.Members); d != "" {
		t.Errorf("members of the message: %s", d)
	}
	if d := cmp.Diff(m.Statuses, shown.Statuses); d != "" {
		t.Errorf("statuses of the message: %s", d)
	}
	out, code = w.cli("messages", "show", m.Message)
	if code != 0 || strings.Count(out, "bsuid ") != 3 || !strings.Contains(out, "131026") || strings.Contains(out, "to all") {
		t.Errorf("messages show: %d\n%s", code, out)
	}
	if dl := w.deadLetters(); len(dl) != 1 || !strings.HasPrefix(dl[0].Detail, "unsupported_in_group") {
		t.Errorf("dead letters: %+v", dl)
	}
	w.sums()
}
