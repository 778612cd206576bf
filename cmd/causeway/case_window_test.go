package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// wroteAt lets a customer have written at a time.
func (w *world) wroteAt(number, text string, at time.Time) {
	w.t.Helper()
	_, body, err := w.wa.Body(whatsapptest.Event{Kind: "text", Customer: whatsapptest.Customer{Phone: number}, Text: text, At: at})
	if err != nil {
		w.t.Fatal(err)
	}
	w.taken(body)
}

// More than a day after the customer's last message WhatsApp takes nothing but
// templates: a reply is a dead letter without a call, a request is refused at once, a
// template leaves; and when the customer wrote again the dead letter is requeued.
func TestWindowOfWhatsApp(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.wa.SetRules(whatsapptest.Rules{Window: true})
	who := customer(81)
	w.wroteAt(who, "long ago", time.Now().Add(-25*time.Hour))
	w.settled(30 * time.Second)
	dead := w.deadLetters()
	if len(dead) != 1 || dead[0].Kind != "message" || dead[0].Reason != gateway.ReasonWindow || !strings.Contains(dead[0].Detail, "24 hours") || len(w.calls(who)) != 0 {
		t.Fatalf("dead letters %+v, %d calls", dead, len(w.calls(who)))
	}
	if m := w.message(dead[0].Message); m.State != string(gateway.MessageRejected) || m.Reason != gateway.ReasonWindow || m.Attempts != 0 {
		t.Errorf("the message: %+v", m)
	}
	for _, to := range []string{`"to":{"kind":"phone","value":"` + who + `"}`, `"conversation":"` + dead[0].Conv + `"`} {
		field := strings.Split(to, `"`)[1]
		status, _, body := w.submit(`{"account":"shop-a",` + to + `,"content":{"text":"hello?"}}`)
		if status != http.StatusUnprocessableEntity || !strings.Contains(body, `"field":"`+field+`"`) || !strings.Contains(body, "template") {
			t.Errorf("%s: %d %s", field, status, body)
		}
	}
	status, _, body := w.submit(`{"account":"shop-a","conversation":"` + dead[0].Conv + `","content":{"type":"template","template":{"name":"hello_world","language":"en_US"}}}`)
	if status != http.StatusAccepted {
		t.Errorf("a template: %d %s", status, body)
	}
	status, _, body = w.submit(`{"account":"shop-a","conversation":"` + dead[0].Conv + `","content":{"text":"later"},"scheduled_at":"` +
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`)
	if status != http.StatusAccepted {
		t.Errorf("for later, when they may have written: %d %s", status, body)
	}
	w.until(30*time.Second, "the template left", func() bool { return len(accepted(w.calls(who))) == 1 })
	w.says(who, "I am back")
	w.until(30*time.Second, "the bot answered", func() bool { return len(accepted(w.calls(who))) == 2 })
	if said, code := w.cli("dead", "requeue", dead[0].ID); code != exitOK {
		t.Fatal(said)
	}
	w.until(30*time.Second, "the requeued reply left", func() bool { return slices.Contains(texts(accepted(w.calls(who))), "long ago") })
	w.sums()
}

// With a template configured, the customer is written that instead, once.
func TestWindowTemplate(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{account: "outside_window: {template: hello_world, language: en_US}, "})
	who := customer(82)
	for i := range 3 {
		w.wroteAt(who, text(i), time.Now().Add(-30*time.Hour+time.Duration(i)*time.Minute))
	}
	w.settled(30 * time.Second)
	calls := w.calls(who)
	if len(calls) != 1 || calls[0].Type != "template" {
		t.Errorf("calls %+v", calls)
	}
	if got := len(w.deadLetters()); got != 3 {
		t.Errorf("%d dead letters, want 3", got)
	}
	s := w.sums()
	if s.Messages.Taken != 4 || s.Messages.Rejected != 3 || s.Messages.Accepted != 1 {
		t.Errorf("messages %+v", s.Messages)
	}
}

// Customer service takes five messages for each of the customer's: the sixth is a dead
// letter without a call, and the customer's next message opens it again.
func TestWindowOfCustomerService(t *testing.T) {
	begin(t)
	w, wc := newKfWorld(t, worldOptions{apps: appByWorker})
	w.start("")
	w.up()
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		var out []gateway.Reply
		for i := range 7 {
			out = append(out, worker.Text(text(i))...)
		}
		return out, nil
	}, 1)
	const who = "wmFive1"
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: "hello"})
	w.until(30*time.Second, "the sixth is refused", func() bool { return w.sums().Messages.Rejected == 1 })
	w.settled(30 * time.Second)
	if got := len(callsTo(wc.Calls(), who)); got != 5 {
		t.Errorf("%d calls, want 5", got)
	}
	dead := w.deadLetters()
	if len(dead) != 1 || dead[0].Reason != gateway.ReasonWindow {
		t.Errorf("dead letters %+v", dead)
	}
	status, _, body := w.submit(`{"account":"desk","conversation":"` + dead[0].Conv + `","content":{"text":"one more"}}`)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a sixth by request: %d %s", status, body)
	}
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: "again"})
	w.until(30*time.Second, "five more", func() bool { return len(callsTo(wc.Calls(), who)) == 10 && w.sums().Messages.Rejected == 2 })
	w.sums()
}

// A request to a pool is refused by the window of the account with which the customer
// talked, not by that of the member whose turn it is.
func TestWindowOfPool(t *testing.T) {
	begin(t)
	w, _ := newSecondNumber(t)
	late, unknown := customer(84), customer(85)
	w.wroteAt(late, "long ago", time.Now().Add(-25*time.Hour))
	w.settled(30 * time.Second)
	for who, want := range map[string]int{late: http.StatusUnprocessableEntity, unknown: http.StatusAccepted} {
		for range 2 { // a turn of each member
			status, _, body := w.submit(`{"account":"pool:shops","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"hello?"}}`)
			if status != want {
				t.Errorf("%d %s, want %d", status, body, want)
			}
		}
	}
}
