package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/outbox"
)

func mark() gateway.Reply {
	return gateway.Reply{Type: gateway.ReplyRead, Quote: "wamid.q", Text: "mark", Typing: true}
}

func text(s string) gateway.Reply { return gateway.Reply{Type: gateway.ReplyText, Text: s} }

// Whatever becomes of marking read, the answer behind it leaves without a wait,
// and the sums hold.
func TestMarkingReadHoldsUpNothing(t *testing.T) {
	for name, c := range map[string]struct {
		outcomes []gateway.Outcome // of the mark's attempts, the last one again and again
		calls    int
		state    gateway.MessageState
	}{
		"accepted":           {[]gateway.Outcome{{Kind: gateway.OutcomeAccepted}}, 1, gateway.MessageAccepted},
		"unknown, then well": {[]gateway.Outcome{{Kind: gateway.OutcomeUnknown, Code: "timeout"}, {Kind: gateway.OutcomeAccepted}}, 2, gateway.MessageAccepted},
		"unknown for ever":   {[]gateway.Outcome{{Kind: gateway.OutcomeUnknown, Code: "http_500"}}, 2, gateway.MessageExpired},
		"retry of the pair":  {[]gateway.Outcome{{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, After: time.Hour, Code: "131056"}}, 2, gateway.MessageExpired},
		"rejected":           {[]gateway.Outcome{{Kind: gateway.OutcomeRejected, Code: "131009"}}, 1, gateway.MessageRejected},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				n := 0
				r.say = func(_ int, m *gateway.Message) gateway.Outcome {
					if m.Reply.Type != gateway.ReplyRead {
						return gateway.Outcome{Kind: gateway.OutcomeAccepted}
					}
					n++
					return c.outcomes[min(n, len(c.outcomes))-1]
				}
				r.replied("1", mark(), text("answer"), text("more"))
				time.Sleep(time.Second)
				r.settle()
				want := append(slices.Repeat([]string{"mark"}, c.calls), "answer", "more")
				if got := r.texts(); !slices.Equal(got, want) {
					t.Errorf("calls %v, want %v", got, want)
				}
				for _, call := range r.called() {
					if call.at > 10*time.Millisecond {
						t.Errorf("%s left at %v", call.text, call.at)
					}
				}
				var states []gateway.MessageState
				for _, m := range r.states() {
					states = append(states, m.State)
				}
				if want := []gateway.MessageState{c.state, gateway.MessageAccepted, gateway.MessageAccepted}; !slices.Equal(states, want) {
					t.Errorf("states %v, want %v", states, want)
				}
				sums, err := r.store.Ledger.Sums(t.Context())
				if err != nil || sums.Messages.Taken != 3 || sums.Messages.Unknown != 0 || sums.Messages.Cancelled != 0 {
					t.Errorf("%+v, %v", sums.Messages, err)
				}
				for _, broken := range sums.Broken() {
					if broken[:8] == "messages" {
						t.Error(broken)
					}
				}
			})
		})
	}
}

// What stops the account stops the mark too, and it keeps its place.
func TestMarkingReadWaitsWithItsAccount(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say = func(n int, _ *gateway.Message) gateway.Outcome {
			if n <= 3 {
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, After: 30 * time.Second, Code: "130429"}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		r.replied("1", mark(), text("answer"))
		time.Sleep(5 * time.Minute)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"mark", "mark", "mark", "mark", "answer"}) {
			t.Errorf("calls %v", got)
		}
	})
}

// patient answers when the call's context ends, as a client does whose platform
// hangs.
type patient struct{ ended chan time.Duration }

func (p patient) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	begin := time.Now()
	if out.Message.Reply.Type == gateway.ReplyRead {
		<-ctx.Done()
		p.ended <- time.Since(begin)
		return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
	}
	return gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "ext-" + out.Message.ID}
}

// A platform that hangs holds the answer up for two short calls.
func TestMarkingReadIsShort(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := patient{make(chan time.Duration, 10)}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		s := outbox.NewSender(outbox.SenderOptions{
			Ledger: r.store.Ledger, Queue: r.store.Ledger, Accounts: r.store.Ledger, Retry: func(string) gateway.Retry { return r.retry },
			UnknownWait: func(string, string) time.Duration { return time.Minute }, Client: func(string, string) outbox.Client { return p },
			NewID: func() string { n++; return fmt.Sprint("at_", n) }, CallTimeout: 15 * time.Second, Now: time.Now, Log: zap.NewNop(),
		})
		quiet := r.sender
		r.sender = s
		r.replied("1", mark(), text("answer"))
		done := make(chan struct{})
		go func() { _ = s.Run(ctx); close(done) }()
		time.Sleep(11 * time.Second)
		r.settle()
		cancel()
		<-done
		r.sender = quiet
		if a, b := <-p.ended, <-p.ended; a != 5*time.Second || b != 5*time.Second {
			t.Errorf("calls of %v and %v", a, b)
		}
		if m := r.states(); m[0].State != gateway.MessageExpired || m[0].Reason != "timeout" || m[1].State != gateway.MessageAccepted {
			t.Errorf("%+v", m)
		}
	})
}

// A mark whose process died in the middle of its call is made again at once: the
// conversation does not wait for the call to be over.
func TestMarkingReadAfterADeath(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.settle() // the rig's own sender has nothing to do yet
		quiet := r.sender
		r.sender = outbox.NewSender(outbox.SenderOptions{Now: time.Now, Log: zap.NewNop()}) // takes the wake
		r.replied("1", mark(), text("answer"))
		m, _, err := r.store.Ledger.NextMessage(t.Context(), r.conv)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		err = r.store.Ledger.BeginAttempt(t.Context(), &gateway.Attempt{ID: "at_died", Message: m.ID, N: 1, StartedAt: now, VoidAfter: now.Add(5 * time.Second)}, r.conv)
		if err != nil {
			t.Fatal(err)
		}
		r.sender = quiet
		quiet.Wake(r.conv)
		time.Sleep(time.Millisecond)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"mark", "answer"}) {
			t.Errorf("calls %v", got)
		}
		for _, m := range r.states() {
			if m.State != gateway.MessageAccepted {
				t.Errorf("%+v", m)
			}
		}
	})
}
