package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// Case 22: our own message comes back under its id, under other ids in other
// words, and again after a restart. No echo is handed to the bot; a customer who
// says the same words is a customer.
func TestCase22Echo(t *testing.T) {
	begin(t)
	const shown = "*Done* - see page (http://example.test)"
	w := newCase(t, worldOptions{apps: appByWorker})
	var mu sync.Mutex
	var handled []string
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		handled = append(handled, string(ev.Kind)+" "+ev.Text)
		return worker.Text("**Done** - see [page](http://example.test)\n\nsecond paragraph"), nil
	}, 8)
	w.says(customer(22), "please")
	w.settled(30 * time.Second)
	sent := w.calls(customer(22))[0]
	w.wa.Echo(sent.MessageID, customer(22), sent.Text)
	w.wa.Echo("wamid.ANOTHER-1", customer(22), shown)
	w.wa.Echo("wamid.ANOTHER-2", customer(22), "second paragraph")
	judged := func() map[gateway.Judgement]int {
		n := map[gateway.Judgement]int{}
		for _, ev := range w.customerConv(customer(22)).Events {
			if ev.Kind == gateway.KindEcho {
				n[ev.Echo]++
			}
		}
		return n
	}
	// Ours by its id; what nobody here sent was written by somebody else.
	w.until(20*time.Second, "the echoes are judged", func() bool {
		n := judged()
		return n[gateway.JudgedOurs] == 1 && n[gateway.JudgedHuman] == 2
	})
	w.stop()
	w.start("")
	w.up()
	// Two colleagues' messages took the conversation; it is taken back.
	if out, code := w.cli("conv", "release", w.customerConv(customer(22)).Conv); code != exitOK || !strings.Contains(out, "is released") {
		t.Fatalf("release: %d %s", code, out)
	}
	w.wa.Echo(sent.MessageID, customer(22), sent.Text)
	w.says(customer(22), shown)
	w.says(customer(22), sent.Marker) // who types the marker is a customer too
	w.settled(30 * time.Second)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"message please", "message " + shown, "message " + sent.Marker}; !slices.Equal(handled, want) {
		t.Errorf("the bot was handed %q, want %q", handled, want)
	}
	if got := len(w.calls("")); got != 3 {
		t.Errorf("%d sends, want 3", got)
	}
	if strings.Contains(sent.Text, sent.Marker) || sent.Marker == "" {
		t.Error("the customer sees the marker, or there is none")
	}
	if n := judged(); n[gateway.JudgedOurs] != 1 || n[gateway.JudgedHuman] != 2 {
		t.Errorf("echoes judged %v", n)
	}
	w.oncePerMessage()
}

// Case 22, the echo overtakes the answer to the send call: it is ours, not a
// colleague's, as soon as the answer tells its id.
func TestCase22EchoBeforeAnswer(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.fault(sandbox.Fault{Stage: sandbox.After, DelayMS: 1200})
	w.says(customer(23), "hello")
	w.until(20*time.Second, "the platform took the reply", func() bool { return len(accepted(w.calls(customer(23)))) == 1 })
	w.wa.Echo(w.calls(customer(23))[0].MessageID, customer(23), "hello")
	w.settled(30 * time.Second)
	w.until(20*time.Second, "the echo is judged", func() bool { return w.counter("echo_ours")+w.counter("echo_human") == 1 })
	c := w.customerConv(customer(23))
	if w.counter("echo_human") != 0 || c.LastHumanAt != nil {
		t.Errorf("our own message was taken for a colleague's: %v", c.LastHumanAt)
	}
}

// Case 22, two bots of ours: each number's reply reaches the other as a
// customer's message. It is recorded and not answered, and customers go on.
func TestCase22TwoBots(t *testing.T) {
	begin(t)
	const numberA, numberB = "15550100099", "15550100098"
	other, account := secondNumber(t, "900000000000098", numberB)
	w := newCase(t, worldOptions{accounts: account,
		apps: "  - {name: echo, builtin: echo, accounts: [shop-a]}\n  - {name: echo-b, builtin: echo, accounts: [shop-b]}\n"})
	other.SetCallbackURL(w.url)
	playBack(t, w.wa, other, numberA, numberB)
	playBack(t, other, w.wa, numberB, numberA)
	other.Customer(customer(1), "so that its number is known")
	w.until(20*time.Second, "it is known", func() bool { return w.sums().Items.Events >= 1 })
	w.wa.Customer(numberB, "the first word")
	w.until(20*time.Second, "the word is relayed", func() bool { return len(w.customerConv(numberB).Events) > 0 })
	w.settled(20 * time.Second)
	sends := len(w.calls(numberB)) + len(callsTo(other.Calls(), numberA))
	if sends != 0 {
		t.Errorf("the bots sent each other %d messages", sends)
	}
	if c := w.customerConv(numberB); len(c.Events) != 1 || c.Events[0].Observed != gateway.ObservedOwn || c.Events[0].States != nil {
		t.Errorf("what a number of ours wrote: %+v", c.Events)
	}
	w.says(customer(2), "still there?")
	w.settled(20 * time.Second)
	if got := len(accepted(w.calls(customer(2)))); got != 1 {
		t.Errorf("a customer was answered %d times afterwards", got)
	}
	if got := len(w.calls(numberB)) + len(callsTo(other.Calls(), numberA)); got != sends {
		t.Errorf("the bots went on: %d sends, then %d", sends, got)
	}
}

// playBack plays what one number sent to the other as a customer's message there.
func playBack(t *testing.T, from, to *whatsapptest.Sandbox, fromNumber, toNumber string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seen := 0; wait(ctx, 10*time.Millisecond); {
			calls := accepted(callsTo(from.Calls(), toNumber))
			for ; seen < len(calls) && seen < 100; seen++ { // an end also when the limit fails
				to.Customer(fromNumber, fmt.Sprint(calls[seen].Text))
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}
