package outbox_test

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// A reply that goes by a code is tried once, whatever comes of it, and never after
// the code has ended.
func TestByCodeOnce(t *testing.T) {
	for name, c := range map[string]struct {
		until   time.Duration
		outcome gateway.Outcome
		calls   int
		state   gateway.MessageState
		reason  string
	}{
		"accepted":           {20 * time.Second, gateway.Outcome{Kind: gateway.OutcomeAccepted}, 1, gateway.MessageAccepted, ""},
		"certainly not sent": {20 * time.Second, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "-1"}, 1, gateway.MessageRejected, "-1"},
		"account refused":    {20 * time.Second, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, After: time.Second, Code: "45009"}, 1, gateway.MessageRejected, "45009"},
		"unknown":            {20 * time.Second, gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}, 1, gateway.MessageUnknown, "no evidence"},
		"its turn is late":   {-time.Second, gateway.Outcome{Kind: gateway.OutcomeAccepted}, 0, gateway.MessageRejected, gateway.ReasonTooLate},
		"late on the way":    {100 * time.Millisecond, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "void"}, 1, gateway.MessageRejected, gateway.ReasonTooLate},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.plays(200*time.Millisecond, func(int, *gateway.Message) gateway.Outcome { return c.outcome })
				until := time.Now().Add(c.until)
				r.replied("1", gateway.Reply{Type: gateway.ReplyWelcome, Text: "hello", Handle: &gateway.Handle{Kind: "welcome", Code: "k", Until: &until}})
				time.Sleep(30 * time.Minute)
				r.settle()
				if got := len(r.called()); got != c.calls {
					t.Errorf("%d calls, want %d", got, c.calls)
				}
				if m := r.states()[0]; m.State != c.state || m.Reason != c.reason || m.Attempts != 1 {
					t.Errorf("%s %q after %d attempts, want %s %q after 1", m.State, m.Reason, m.Attempts, c.state, c.reason)
				}
			})
		})
	}
}

// While its account waits for longer than the code lives, it does not wait to say so.
func TestByCodeBehindARestingAccount(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.plays(0, func(int, *gateway.Message) gateway.Outcome {
			return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, After: time.Hour, Code: "45009"}
		})
		r.answered("1", "first")
		time.Sleep(time.Second)
		until := time.Now().Add(20 * time.Second)
		r.replied("2", gateway.Reply{Type: gateway.ReplyWelcome, Text: "hello", Handle: &gateway.Handle{Kind: "welcome", Code: "k", Until: &until}})
		time.Sleep(21 * time.Second)
		r.settle()
		if m := r.states()[0]; m.State != gateway.MessageRejected || m.Reason != gateway.ReasonTooLate || len(r.called()) != 1 {
			t.Errorf("%s %q after %d calls", m.State, m.Reason, len(r.called()))
		}
	})
}

// Not one byte leaves after the end of the code, and with much time left not after
// the ordinary bound.
func TestByCodeIsVoidAfterIt(t *testing.T) {
	for _, left := range []time.Duration{3 * time.Second, time.Hour} {
		bubble(t, func(t *testing.T, r *rig) {
			until := time.Now().Add(left)
			var void time.Time
			r.voids = func(at time.Time) { void = at }
			r.replied("1", gateway.Reply{Type: gateway.ReplyText, Text: "hello", Handle: &gateway.Handle{Kind: "welcome", Code: "k", Until: &until}})
			want := time.Now().Add(min(left, 15*time.Second))
			time.Sleep(time.Second)
			r.settle()
			if !void.Equal(want) {
				t.Errorf("void after %v, want %v", void, want)
			}
		})
	}
}
