package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

func newCustomer(seq int64, until time.Time) *gateway.Event {
	ev := workertest.Text(conv, seq, "")
	ev.Kind, ev.Chat, ev.Content = gateway.KindState, gateway.ChatAccount, gateway.Content{Type: "event.change_external_contact.add_external_contact",
		Handle: &gateway.Handle{Kind: gateway.HandleWelcome, Code: "k", Until: &until}}
	return ev
}

// The handler is told until when its answer counts, its context ends then, and what
// comes too late is not handled at all.
func TestDeadlineOfAnEvent(t *testing.T) {
	b := workertest.Start(t, bot())
	seen := make(chan time.Duration, 3)
	b.Run(t.Context(), b.Options(), func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		info := worker.Info(ctx)
		if !info.Deadline.Equal(*ev.Handle.Until) {
			t.Errorf("deadline %v, want %v", info.Deadline, *ev.Handle.Until)
		}
		seen <- time.Until(info.Deadline)
		if ev.Seq == 1 {
			return worker.Welcome(ev.Handle, "hello"), nil
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), worker.ErrTooLate) {
			t.Errorf("the context ended because of %v", context.Cause(ctx))
		}
		return nil, ctx.Err()
	})
	offerWhenFree(t, b, newCustomer(1, time.Now().Add(time.Minute)))
	if a := b.Answer(); a.Verdict != gateway.VerdictDone || len(a.Replies) != 1 || a.Replies[0].Handle.Code != "k" {
		t.Errorf("in time: %+v", a)
	}
	offerWhenFree(t, b, newCustomer(2, time.Now().Add(500*time.Millisecond)))
	if a := b.Answer(); a.Verdict != gateway.VerdictDead || a.Error != worker.ErrTooLate.Error() {
		t.Errorf("a slow handler: %+v", a)
	}
	offerWhenFree(t, b, newCustomer(3, time.Now().Add(-time.Second)))
	if a := b.Answer(); a.Verdict != gateway.VerdictDead || a.Error != worker.ErrTooLate.Error() {
		t.Errorf("too late: %+v", a)
	}
	if n := len(seen); n != 2 {
		t.Errorf("%d were handled, want 2", n)
	}
}
