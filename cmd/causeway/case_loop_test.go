package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// Case 22, a bot of ours and a bot of somebody else: whatever one says the other
// answers at once. They are stopped after as many turns as configured, visibly, while
// others go on; a person lets them go, and they are stopped again.
func TestCase22StrangersBot(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{loop: "{turns: 5, within: 10s, rest: 0s}"})
	who := customer(91)
	w.wa.Customer(who, "the first word")
	answersAtOnce(t, w.wa, who)
	stopped := func() []gateway.Brake {
		var out struct{ Brakes []gateway.Brake }
		if err := w.get("/api/v1/brakes", &out); err != nil {
			t.Fatal(err)
		}
		return out.Brakes
	}
	w.until(time.Minute, "they are stopped", func() bool { return len(stopped()) == 1 })
	b := stopped()[0]
	if b.Scope != gateway.BrakeConversation || b.Reason != gateway.BrakeLoop || b.Name != w.customerConv(who).Conv {
		t.Errorf("stopped: %+v", b)
	}
	sends := len(w.calls(who))
	if sends < 5 || sends > 6 {
		t.Errorf("%d sends, want 5 turns", sends)
	}
	w.says(customer(92), "still there?")
	w.until(30*time.Second, "others are answered", func() bool { return len(accepted(w.calls(customer(92)))) == 1 })
	if got := len(w.calls(who)); got != sends {
		t.Errorf("they went on: %d sends, then %d", sends, got)
	}
	if said, _ := w.cli("doctor"); !strings.Contains(said, "loop") {
		t.Errorf("doctor: %s", said)
	}
	w.stop()
	w.start("")
	w.up()
	if said, code := w.cli("resume", "conversation", b.Name); code != exitOK {
		t.Fatal(said)
	}
	w.until(time.Minute, "they are stopped again", func() bool { return w.counter("loops") == 2 && len(stopped()) == 1 })
	if got := len(w.calls(who)); got <= sends || got > sends+7 {
		t.Errorf("%d sends, then %d", sends, got)
	}
	w.sums()
}

// A loop that has rested goes on by itself.
func TestLoopRests(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{loop: "{turns: 3, within: 10s, rest: 2s}"})
	who := customer(93)
	w.wa.Customer(who, "the first word")
	answersAtOnce(t, w.wa, who)
	w.until(time.Minute, "it was stopped and let go, twice", func() bool { return w.counter("loops") >= 3 })
}

// answersAtOnce is a customer who is a machine.
func answersAtOnce(t *testing.T, wa *whatsapptest.Sandbox, number string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seen := 0; wait(ctx, 10*time.Millisecond); {
			for n := len(accepted(callsTo(wa.Calls(), number))); seen < n && seen < 100; seen++ { // an end also when nothing stops them
				wa.Customer(number, "and you?")
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}
