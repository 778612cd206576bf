package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/outbox"
)

func byPart(t *testing.T, r *rig) map[string]gateway.ConversationMessage {
	t.Helper()
	out := map[string]gateway.ConversationMessage{}
	for _, m := range r.states() {
		out[fmt.Sprintf("%s/%d", m.Event[:6], m.Part)] = m
	}
	return out
}

// Parts leave one after another; the next one only when the one before has its
// outcome. Other conversations do not wait.
func TestOneAtATimePerConversation(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.takes = 2 * time.Second
		r.answered("1", "a1", "a2", "a3")
		r.answered("2", "b1")
		time.Sleep(7 * time.Second)
		r.settle()
		at := map[string]time.Duration{}
		for _, c := range r.called() {
			at[c.text] = c.at
		}
		if at["a2"]-at["a1"] < 2*time.Second || at["a3"]-at["a2"] < 2*time.Second || at["b1"] > at["a1"]+time.Second {
			t.Errorf("calls at %v", at)
		}
	})
}

// What was certainly not sent is tried again after a growing pause and keeps its
// place in front of what follows.
func TestRetryKeepsItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say = func(n int, _ *gateway.Message) gateway.Outcome {
			if n <= 3 {
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "refused"}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		r.answered("1", "first")
		r.answered("1", "second")
		time.Sleep(time.Minute)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"first", "first", "first", "first", "second"}) {
			t.Fatalf("calls %v", got)
		}
		c := r.called()
		for i := 1; i <= 3; i++ {
			gap, least := c[i].at-c[i-1].at, time.Duration(3<<(i-1))*time.Second/4
			if gap < least || gap > 2*least {
				t.Errorf("retry %d after %v, want about %v", i, gap, 4*least/3)
			}
		}
	})
}

// A platform that says "later" is obeyed; one that says "this account" stops the
// account's other conversations too.
func TestPausesOfThePlatform(t *testing.T) {
	for _, scope := range []gateway.Scope{gateway.ScopePair, gateway.ScopeAccount} {
		t.Run(string(scope), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.say = func(n int, _ *gateway.Message) gateway.Outcome {
					if n == 1 {
						return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: scope, After: 30 * time.Second, Code: "130429"}
					}
					return gateway.Outcome{Kind: gateway.OutcomeAccepted}
				}
				r.answered("1", "a")
				time.Sleep(time.Second)
				r.answered("2", "b")
				time.Sleep(time.Minute)
				r.settle()
				at := map[string]time.Duration{}
				for _, c := range r.called() {
					at[c.text] = c.at
				}
				if at["a"] < 30*time.Second {
					t.Errorf("a again at %v", at["a"])
				}
				if held := at["b"] >= 30*time.Second; held != (scope == gateway.ScopeAccount) {
					t.Errorf("b at %v", at["b"])
				}
			})
		})
	}
}

// A throttle that several accounts share stops all of them; one of the account alone
// stops no other.
func TestPausesThatAccountsShare(t *testing.T) {
	for _, share := range []gateway.Share{"", gateway.ShareWABA} {
		t.Run(string(share), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.shares = []string{"shop", "sister"}
				r.say = func(n int, _ *gateway.Message) gateway.Outcome {
					if n == 1 {
						return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Share: share, After: 30 * time.Second, Code: "80007"}
					}
					return gateway.Outcome{Kind: gateway.OutcomeAccepted}
				}
				r.answered("1", "a")
				time.Sleep(time.Second)
				for i, account := range []string{"sister", "stranger"} {
					r.account = account
					r.answered(fmt.Sprint(i+2), account)
				}
				time.Sleep(time.Minute)
				r.settle()
				at := map[string]time.Duration{}
				for _, c := range r.called() {
					at[c.text] = c.at
				}
				if at["a"] < 30*time.Second || at["stranger"] >= 30*time.Second {
					t.Errorf("calls at %v", at)
				}
				if held := at["sister"] >= 30*time.Second; held != (share != "") {
					t.Errorf("the account beside left at %v", at["sister"])
				}
			})
		})
	}
}

// A platform that bounds the tries of a message (as the clients do) counts only
// what refused this message: hours of a refused account before, between and after
// neither use them up nor make this conversation's own pause longer.
func TestWaitingForTheAccountSpendsNoTry(t *testing.T) {
	const bound = 3
	bubble(t, func(t *testing.T, r *rig) {
		var tries []int
		r.say = func(n int, m *gateway.Message) gateway.Outcome {
			tries = append(tries, m.Tries()) // one call at a time
			switch {
			case m.Tries() >= bound:
				return gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "busy"}
			case n == 7 || n == 13:
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "busy"}
			default:
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "45009", After: 2 * time.Minute}
			}
		}
		r.answered("1", "a")
		time.Sleep(50 * time.Minute)
		r.settle()
		// Eleven refusals of the account do not reach the bound; three tries do.
		if want := []int{1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3}; !slices.Equal(tries, want) {
			t.Fatalf("tries %v, want %v", tries, want)
		}
		c := r.called()
		if gap := c[7].at - c[6].at; gap > 1200*time.Millisecond {
			t.Errorf("the pause after the first refusal of the message is %v", gap)
		}
		if gap := c[13].at - c[12].at; gap > 2400*time.Millisecond {
			t.Errorf("the pause after the second is %v", gap)
		}
		if m := r.states()[0]; m.State != gateway.MessageRejected || m.Attempts != 14 {
			t.Errorf("%+v", m)
		}
	})
}

// An unknown message is never sent again; the next task waits for evidence and
// then leaves, the rest of its own task is cancelled.
func TestUnknownWithoutEvidence(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say = func(n int, _ *gateway.Message) gateway.Outcome {
			if n == 1 {
				return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		r.answered("1", "a1", "a2")
		r.answered("1", "b1")
		time.Sleep(59 * time.Second)
		r.left("before the wait was over", "a1")
		time.Sleep(2 * time.Second)
		r.left("after the wait", "a1", "b1")
		var states []gateway.MessageState
		for _, m := range r.states() {
			states = append(states, m.State)
		}
		slices.Sort(states)
		if !slices.Equal(states, []gateway.MessageState{"accepted", "cancelled", "unknown"}) {
			t.Errorf("states %v", states)
		}
	})
}

// A status with our marker proves an unknown message; its task goes on at once.
func TestUnknownProvenByItsStatus(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say = func(n int, _ *gateway.Message) gateway.Outcome {
			if n == 1 {
				return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "reset"}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		r.answered("1", "a1", "a2")
		time.Sleep(5 * time.Second)
		r.settle()
		r.status("1", r.called()[0].message, "wamid.1", gateway.StatusDelivered)
		time.Sleep(time.Second)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"a1", "a2"}) {
			t.Fatalf("calls %v", got)
		}
		for _, m := range r.states() {
			if m.State != gateway.MessageAccepted {
				t.Errorf("%+v", m)
			}
		}
	})
}

// A status that comes before the answer of the call settles it, whatever the
// answer turns out to be (case 21).
func TestStatusBeforeTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.takes = 3 * time.Second
		r.say = func(int, *gateway.Message) gateway.Outcome {
			return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
		}
		r.answered("1", "a")
		time.Sleep(time.Second)
		r.settle()
		r.status("1", r.called()[0].message, "wamid.1", gateway.StatusSent)
		time.Sleep(5 * time.Second)
		r.settle()
		m := r.states()[0]
		if m.State != gateway.MessageAccepted || m.Delivery != gateway.StatusSent || len(r.called()) != 1 {
			t.Errorf("%+v after %d calls", m, len(r.called()))
		}
	})
}

// A refusal for good is a dead letter, and the later parts of its task are
// cancelled; the conversation goes on.
func TestRejected(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say = func(n int, _ *gateway.Message) gateway.Outcome {
			if n == 1 {
				return gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131047"}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		r.answered("1", "a1", "a2")
		r.answered("1", "b1")
		time.Sleep(time.Second)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"a1", "b1"}) {
			t.Fatalf("calls %v", got)
		}
		c, err := r.store.Ledger.Sums(t.Context())
		if err != nil || c.Messages.Rejected != 1 || c.Messages.Cancelled != 1 || c.Messages.Accepted != 1 {
			t.Errorf("%+v, %v", c.Messages, err)
		}
	})
}

// What could not be sent for too long expires and makes room.
func TestExpires(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say = func(_ int, m *gateway.Message) gateway.Outcome {
			if m.Reply.Text == "a" {
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "refused"}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		r.answered("1", "a")
		time.Sleep(30 * time.Minute)
		r.answered("1", "b")
		time.Sleep(2 * time.Hour)
		r.settle()
		c, err := r.store.Ledger.Sums(t.Context())
		if err != nil || c.Messages.Expired != 1 || c.Messages.Accepted != 1 {
			t.Errorf("%+v, %v", c.Messages, err)
		}
	})
}

// An attempt that an earlier process left open is judged only when its call
// cannot run any more, as unknown, and is not repeated.
func TestOrphanedAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		lost := make(chan struct{})
		died := outbox.NewSender(outbox.SenderOptions{ // dies in the middle of its call
			Ledger: dying{r.store.Ledger}, Queue: r.store.Ledger, Accounts: r.store.Ledger, Retry: func(string) gateway.Retry { return r.retry }, UnknownWait: func(string, string) time.Duration { return time.Minute },
			Client: func(string, string) outbox.Client { return hanging{lost} },
			NewID:  func() string { return "at_first" }, CallTimeout: 15 * time.Second, Now: time.Now, Log: zap.NewNop(),
		})
		r.sender.Wake() // the rig's own sender has nothing yet
		done := make(chan struct{})
		r.say = func(int, *gateway.Message) gateway.Outcome { return gateway.Outcome{Kind: gateway.OutcomeAccepted} }
		quiet := r.sender
		r.sender = died
		r.answered("1", "a")
		go func() { _ = died.Run(ctx); close(done) }()
		<-lost
		cancel()
		begin := time.Now()
		r.sender = quiet
		quiet.Wake(r.conv)
		time.Sleep(19 * time.Second)
		r.settle()
		if m := r.states()[0]; m.State != gateway.MessageSending {
			t.Errorf("judged after %v: %+v", time.Since(begin), m)
		}
		time.Sleep(2 * time.Second)
		r.settle()
		if m := r.states()[0]; m.State != gateway.MessageUnknown || len(r.called()) != 0 {
			t.Errorf("%+v, %d calls", m, len(r.called()))
		}
		<-done
	})
}

// dying never stores the end of an attempt, as a process that is gone.
type dying struct{ outbox.SendLedger }

// EndAttempt is what a dead process does.
func (dying) EndAttempt(context.Context, *gateway.AttemptEnd) error { return errors.New("gone") }

type hanging struct{ lost chan struct{} }

// Send is a call whose answer nobody takes.
func (h hanging) Send(ctx context.Context, _ gateway.Outgoing) gateway.Outcome {
	close(h.lost)
	return gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x"}
}

// Echoes: ours by id, a colleague's at once, undecided while a call is open.
func TestEchoes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.answered("1", "a")
		time.Sleep(time.Second)
		r.settle()
		echo := func(external string) {
			r.next++
			e := r.event(gateway.KindEcho, "1", fmt.Sprintf("e%d", r.next))
			e.Echo = &gateway.Echo{MessageID: external}
			r.relay(e)
			r.judge.Kick()
		}
		count := func(name string, want int64) {
			t.Helper()
			time.Sleep(100 * time.Millisecond)
			r.settle()
			c, err := r.store.Ledger.Counters(t.Context())
			if err != nil || c[name] != want {
				t.Errorf("%s is %d, want %d (%v)", name, c[name], want, err)
			}
		}
		echo("ext-1")
		count("echo_ours", 1)
		echo("wamid.colleague")
		count("echo_human", 1)
		r.takes = 3 * time.Second
		r.answered("1", "b")
		time.Sleep(time.Second)
		echo("ext-2") // before the answer of its call
		count("echo_ours", 1)
		time.Sleep(3 * time.Second)
		count("echo_ours", 2)
		if c := byPart(t, r); len(c) == 0 {
			t.Error("no messages")
		}
	})
}
