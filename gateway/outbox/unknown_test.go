package outbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// lost answers the first n calls of texts that begin so with nothing.
func lost(text string, n int) func(int, *gateway.Message) gateway.Outcome {
	return func(_ int, m *gateway.Message) gateway.Outcome {
		if m.Reply.Text == text && n > 0 {
			n--
			return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
		}
		return gateway.Outcome{Kind: gateway.OutcomeAccepted}
	}
}

// A conversation that is held waits for a person or a status, and not for ever.
func TestUnknownHolds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.unknown = gateway.OnUnknown{Do: gateway.UnknownHold, HoldFor: 30 * time.Minute}
		r.say = lost("a1", 1)
		r.answered("1", "a1", "a2")
		r.answered("1", "b1")
		time.Sleep(30 * time.Minute)
		r.left("while it is held", "a1")
		time.Sleep(90 * time.Second)
		r.left("when the hold was over", "a1", "b1")
	})
}

// One more call, in its place and before what stands behind it; what that does not
// settle stays unknown. Over a restart there is still only one more.
func TestUnknownIsResentOnce(t *testing.T) {
	for name, c := range map[string]struct {
		lost    int
		restart bool
		calls   []string
		states  []gateway.MessageState
	}{
		"taken":     {lost: 1, calls: []string{"a1", "a1", "a2", "b1"}, states: []gateway.MessageState{"accepted", "accepted", "accepted"}},
		"restarted": {lost: 1, restart: true, calls: []string{"a1", "a1", "a2", "b1"}, states: []gateway.MessageState{"accepted", "accepted", "accepted"}},
		"lost too":  {lost: 9, restart: true, calls: []string{"a1", "a1", "b1"}, states: []gateway.MessageState{"accepted", "cancelled", "unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				begin := time.Now()
				r.unknown = gateway.OnUnknown{Do: gateway.UnknownResend}
				r.say = lost("a1", c.lost)
				r.answered("1", "a1", "a2")
				r.answered("1", "b1")
				time.Sleep(59 * time.Second)
				r.left("before the wait was over", "a1")
				for range 3 {
					if c.restart {
						r.stop()
						r.start(begin)
					}
					time.Sleep(61 * time.Second)
					r.settle()
				}
				var states []gateway.MessageState
				for _, m := range r.states() {
					states = append(states, m.State)
				}
				slices.Sort(states)
				if got := r.texts(); !slices.Equal(got, c.calls) || !slices.Equal(states, c.states) {
					t.Errorf("calls %v, states %v; want %v, %v", got, states, c.calls, c.states)
				}
			})
		})
	}
}

// What is to be sent once more and cannot leave in its time is no expired message: it may
// have arrived. What a code allows once is never sent a second time.
func TestUnknownIsNotResentTooLate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.unknown = gateway.OnUnknown{Do: gateway.UnknownResend}
		r.say = lost("a1", 1)
		r.answered("1", "a1")
		time.Sleep(30 * time.Second)
		r.halted.Store(true)
		time.Sleep(2 * time.Hour) // longer than MaxAge
		r.settle()
		if m := r.states()[0]; m.State != gateway.MessageUnknown || len(r.texts()) != 1 {
			t.Errorf("%s after %v", m.State, r.texts())
		}
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.unknown = gateway.OnUnknown{Do: gateway.UnknownResend}
		r.say = lost("a1", 1)
		until := time.Now().Add(time.Hour)
		out := r.ask("1", func(s *gateway.Submission) { s.Replies[0].Handle = &gateway.Handle{Kind: "welcome", Until: &until} }, "a1")
		time.Sleep(5 * time.Minute)
		m, _, err := r.store.Ledger.Message(t.Context(), out.ID)
		if err != nil {
			t.Fatal(err)
		}
		if m.State != gateway.MessageUnknown || len(r.texts()) != 1 {
			t.Errorf("%s after %v", m.State, r.texts())
		}
	})
}

// The platform told that the first call was taken while we were down, or what it told lies
// in the archive, not read yet: then there is no second call, wherever it stands before it.
func TestProvenIsNotResent(t *testing.T) {
	const customer, halfway = "1", 30 * time.Second
	for name, c := range map[string]struct {
		decided bool // it is to be sent again already, and stands still before the call
		unread  bool // in place of a restart
		proof   bool
		calls   []string
	}{
		"restarted":                   {calls: []string{"a1", "a1"}},
		"restarted, proven":           {proof: true, calls: []string{"a1"}},
		"restarted, decided":          {decided: true, calls: []string{"a1", "a1"}},
		"restarted, decided, proven":  {decided: true, proof: true, calls: []string{"a1"}},
		"not read":                    {unread: true, calls: []string{"a1", "a1"}},
		"not read, proven":            {unread: true, proof: true, calls: []string{"a1"}},
		"not read, decided":           {unread: true, decided: true, calls: []string{"a1", "a1"}},
		"not read, decided, and then": {unread: true, decided: true, proof: true, calls: []string{"a1"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.unknown = gateway.OnUnknown{Do: gateway.UnknownResend}
				r.say = lost("a1", 1)
				r.answered(customer, "a1")
				time.Sleep(halfway)
				marker := r.states()[0].Message
				r.halted.Store(c.decided)
				if c.decided {
					time.Sleep(time.Minute)
				}
				if c.unread {
					came := time.Now()
					r.unread.Store(&came)
				} else {
					r.stop()
				}
				time.Sleep(10 * time.Minute)
				r.halted.Store(false)
				if c.unread {
					r.sender.Wake(r.conv)
				} else {
					r.start(time.Now())
				}
				time.Sleep(halfway)
				r.left("while proof may come", "a1")
				if c.proof {
					r.status(customer, marker, "ext-1", gateway.StatusDelivered)
				}
				r.unread.Store(nil)
				time.Sleep(time.Minute)
				r.left("in the end", c.calls...)
				if m := r.states()[0]; m.State != gateway.MessageAccepted {
					t.Errorf("%s", m.State)
				}
			})
		})
	}
}

// What is stuck in the archive holds a message only while it may be sent at all: then it
// stays unknown.
func TestUnreadHoldsNoMessageForEver(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.unknown = gateway.OnUnknown{Do: gateway.UnknownResend}
		r.say = lost("a1", 1)
		came := time.Now()
		r.unread.Store(&came)
		r.answered("1", "a1")
		r.answered("1", "b1")
		time.Sleep(2 * time.Hour) // longer than MaxAge
		r.settle()
		if m := r.states()[0]; m.State != gateway.MessageUnknown || len(r.called()) != 1 {
			t.Errorf("%s after %v", m.State, r.texts())
		}
	})
}
