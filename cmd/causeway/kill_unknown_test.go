package main

import (
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// The process dies on the way to the second call of a message whose first answer was lost,
// in it, or behind it. There is no third call ever, and no second one when the platform's
// status of the first, which comes while nobody is there to take it, proves that.
func TestKillWhileSendingOnceMore(t *testing.T) {
	t.Parallel()
	// A boundary of the sender is passed by the first call, and then by the second.
	for step, lost := range map[string]struct {
		calls  int
		states []gateway.MessageState
	}{
		"unknown.resending:1":     {2, []gateway.MessageState{gateway.MessageAccepted}},
		"unknown.resent:1":        {2, []gateway.MessageState{gateway.MessageAccepted}},
		"outbox.attempt_stored:2": {1, []gateway.MessageState{gateway.MessageUnknown}},                          // nobody knows that it was not made
		"outbox.called:2":         {2, []gateway.MessageState{gateway.MessageAccepted, gateway.MessageUnknown}}, // its status may find nobody
		"outbox.outcome_stored:2": {2, []gateway.MessageState{gateway.MessageAccepted}},
	} {
		for _, proven := range []bool{false, true} {
			name := step + "/lost"
			if proven {
				name = step + "/proven"
			}
			t.Run(name, func(t *testing.T) {
				begin(t)
				// Until a status is taken by who starts again, nothing may leave, however slow
				// the machine is.
				w := newWorld(t, worldOptions{account: "on_unknown: resend_once, ", env: []string{unknownEnv + "=10s"}})
				p := w.start(step)
				w.up()
				const who = "16660350001"
				first := sandbox.Fault{Text: "once", Drop: sandbox.DropReset, Next: 1}
				if proven {
					first.Stage, first.NoStatuses = sandbox.After, true
				}
				w.fault(first)
				_, once, _ := w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"once"}}`)
				w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"behind it"}}`)
				w.dies(p, step)
				before := len(w.calls(who))
				w.start("")
				if proven {
					w.post(t.Context(), w.wa.StatusBody("wamid.of-the-first", once.ID, who, "delivered", 0))
				}
				w.up()
				w.until(time.Minute, "the message is settled", func() bool {
					return slices.ContainsFunc(accepted(w.calls(who)), func(c sandbox.Call) bool { return c.Text == "behind it" })
				})
				calls, states := lost.calls, lost.states
				if proven {
					calls, states = before, []gateway.MessageState{gateway.MessageAccepted}
				}
				made := 0
				for _, c := range w.calls(who) {
					if c.Text == "once" {
						made++
					}
				}
				if state := gateway.MessageState(w.message(once.ID).State); made != calls || !slices.Contains(states, state) {
					t.Errorf("%d calls, then %s; want %d and %v", made, state, calls, states)
				}
				if s := w.sums().Messages; s.Taken != 2 || s.Held > 0 {
					t.Errorf("messages %+v", s)
				}
				// What the platform has said is stored a moment later.
				w.until(time.Minute, "nothing waits", func() bool { return w.sums().Messages.Waiting == 0 })
			})
		}
	}
}
