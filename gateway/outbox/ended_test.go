package outbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// An attempt that somebody ended who thought us dead (a restart, another leader) has
// its outcome: ours comes too late, and must not keep the conversation for ever.
func TestAttemptThatIsEndedAlready(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say = func(n int, m *gateway.Message) gateway.Outcome {
			if n == 1 {
				_, open, err := r.store.Ledger.NextMessage(t.Context(), m.Conv)
				if err != nil || open == nil {
					t.Errorf("no open attempt: %v", err)
					return gateway.Outcome{Kind: gateway.OutcomeAccepted}
				}
				err = r.store.Ledger.EndAttempt(t.Context(), &gateway.AttemptEnd{Attempt: open.ID, Message: m.ID, At: time.Now(), By: "restart",
					Outcome: gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "restart"}, UnknownUntil: time.Now().Add(time.Minute)})
				if err != nil {
					t.Error(err)
				}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		r.answered("1", "first")
		r.answered("1", "second")
		time.Sleep(2 * time.Minute)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"first", "second"}) {
			t.Fatalf("calls %v", got)
		}
		for i, m := range r.states() {
			if want := []gateway.MessageState{gateway.MessageUnknown, gateway.MessageAccepted}[i]; m.State != want {
				t.Errorf("message %d is %s, want %s", i, m.State, want)
			}
		}
	})
}
