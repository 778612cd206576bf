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
