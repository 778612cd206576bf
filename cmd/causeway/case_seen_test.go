package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// A conversation tells what is known of it: each failed try with its error, what it
// waits for, what is with a worker, what stops it; and what was said to those who ask
// for it and may, which the audit knows.
func TestConversationSeen(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: "  - {name: echo, ack_wait: 5s, tries: 4, delays: [100ms, 1h]}\n"})
	busy, free := make(chan struct{}), make(chan struct{})
	defer close(free)
	w.bot(func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Text == "a hard one" {
			return nil, errors.New("the model does not answer")
		}
		if ev.Text == "a long one" {
			close(busy)
			select {
			case <-free:
			case <-ctx.Done():
			}
		}
		return worker.Text("an answer"), nil
	}, 4)
	hard, long := customer(81), customer(82)
	w.says(hard, "a hard one")
	w.says(long, "a long one")
	<-busy
	var c *gateway.Conversation
	w.until(30*time.Second, "two tries failed", func() bool {
		c = w.customerConv(hard)
		return len(c.Events[0].Tries) == 2
	})
	for i, try := range c.Events[0].Tries {
		if try.App != "echo" || try.Try != i+1 || try.Reason != "retry" || !strings.Contains(try.Error, "the model does not answer") || try.At.Before(c.Events[0].ReceivedAt) {
			t.Errorf("try %d: %+v", i+1, try)
		}
	}
	if wait := c.Events[0].Waits["echo"]; wait.Tries != 2 || wait.NextAt == nil || !wait.NextAt.After(time.Now()) || len(c.Offers) != 0 {
		t.Errorf("waits %+v, out %+v", wait, c.Offers)
	}
	w.until(30*time.Second, "the other one is with a worker", func() bool {
		o := w.customerConv(long).Offers
		return len(o) == 1 && o[0].App == "echo" && o[0].With
	})
	w.does("pause", "conversation", c.Conv)
	said := w.does("conv", "show", c.Conv, "--timeline")
	for _, want := range []string{"echo: try 1 failed (retry)", "echo: try 2 failed (retry)", "the model does not answer", "2 tries spent", "stopped: conversation " + c.Conv + ", by test"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, "a hard one") {
		t.Errorf("a text is shown without asking:\n%s", said)
	}
	if said := w.does("conv", "show", w.customerConv(long).Conv, "--timeline"); !strings.Contains(said, "of echo, round 0, with a worker") {
		t.Errorf("nothing is out:\n%s", said)
	}
	if said := w.does("conv", "show", c.Conv, "--timeline", "--text"); !strings.Contains(said, `"a hard one"`) {
		t.Errorf("asked for, the text is not shown:\n%s", said)
	}
	w.audited("read conversation texts", c.Conv)
}
