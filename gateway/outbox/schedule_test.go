package outbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// submit asks for messages to a customer, due in a while; ends is how long from now
// they may be sent, 0 for no end.
func (r *rig) submit(customer string, due, ends time.Duration, texts ...string) gateway.Submitted {
	r.t.Helper()
	s := &gateway.Submission{Platform: "whatsapp", Account: "shop", By: "ops", DueAt: time.Now().Add(due),
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: customer}}}}
	for _, t := range texts {
		s.Replies = append(s.Replies, gateway.Reply{Type: gateway.ReplyText, Text: t})
	}
	if ends > 0 {
		s.ExpiresAt = time.Now().Add(ends)
	}
	out, err := r.store.Ledger.Submit(r.t.Context(), s, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	r.conv = out.Conv
	r.sender.Wake(out.Conv)
	return out
}

// A message for later leaves at its time, once, also when the process was started
// again meanwhile; what is due earlier goes before, and nobody looks at it while it
// waits.
func TestScheduledLeavesAtItsTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		begin := time.Now()
		for _, customer := range []string{"1", "2", "3"} {
			r.submit(customer, 3*time.Hour, 0, "later "+customer)
		}
		r.submit("1", 0, 0, "now")
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"now"}) {
			t.Fatalf("calls %v", got)
		}
		before := r.looks.Load()
		time.Sleep(time.Hour)
		r.settle()
		if n := r.looks.Load() - before; n > 0 {
			t.Errorf("%d looks at conversations with nothing due", n)
		}
		r.stop()
		before = r.looks.Load()
		r.start(begin)
		r.settle()
		if n := r.looks.Load() - before; n > 0 {
			t.Errorf("%d looks after a start at conversations with nothing due", n)
		}
		time.Sleep(3 * time.Hour)
		r.settle()
		calls := r.called()
		if len(calls) != 4 {
			t.Fatalf("calls %v", calls)
		}
		for _, c := range calls[1:] {
			if c.at != 3*time.Hour {
				t.Errorf("%s left after %s", c.text, c.at)
			}
		}
	})
}

// What cannot leave before its end expires at it, with its later parts, and no call
// may begin past it; the next message goes on.
func TestExpiresAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.plays(0, func(_ int, m *gateway.Message) gateway.Outcome {
			if m.Reply.Text == "after" {
				return gateway.Outcome{Kind: gateway.OutcomeAccepted}
			}
			return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, After: 20 * time.Minute, Code: "busy"}
		})
		begin := time.Now()
		r.submit("1", time.Minute, 30*time.Minute, "one", "two")
		time.Sleep(2 * time.Minute)
		r.submit("1", 0, 0, "after")
		time.Sleep(27 * time.Minute)
		r.left("calls before the end", "one", "one")
		time.Sleep(time.Minute)
		r.settle()
		calls := r.called()
		if len(calls) != 3 || calls[2].text != "after" || calls[2].at != 30*time.Minute {
			t.Fatalf("calls %v", calls)
		}
		m := r.states()
		if m[0].State != gateway.MessageExpired || m[1].State != gateway.MessageExpired || m[2].State != gateway.MessageAccepted {
			t.Errorf("messages %+v", m)
		}
		for _, a := range r.attempts(m[0].Message) {
			if a.VoidAfter.After(begin.Add(30 * time.Minute)) {
				t.Errorf("a call could be made until %s", a.VoidAfter.Sub(begin))
			}
		}
		// In the last seconds before its end a call may begin, and not be made later.
		out := r.submit("1", 0, 4*time.Second, "quick")
		r.settle()
		if a := r.attempts(out.ID); len(a) != 1 || a[0].VoidAfter.Sub(a[0].StartedAt) != 4*time.Second {
			t.Errorf("attempts %+v", a)
		}
	})
}

func (r *rig) attempts(id string) []gateway.Attempt {
	r.t.Helper()
	_, list, err := r.store.Ledger.Message(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// A conversation that became part of another one leaves it the messages for later:
// nobody waits for them, and they leave at their time, in order.
func TestScheduledMovesWithAMerge(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.answered("old", "o1")
		r.settle()
		older := r.conv
		r.submit("young", time.Hour, 0, "later 1", "later 2")
		r.settle()
		r.join("old", "young")
		r.sender.Wake(older) // as told by the relay
		r.answered("old", "o2")
		time.Sleep(time.Minute)
		r.left("calls before the hour", "o1", "o2")
		time.Sleep(time.Hour)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"o1", "o2", "later 1", "later 2"}) {
			t.Fatalf("calls %v", got)
		}
	})
}
