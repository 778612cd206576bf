package outbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// join relays the event by which customers turn out to be one.
func (r *rig) join(customers ...string) {
	r.t.Helper()
	r.next++
	e := r.event(gateway.KindMessage, customers[0], fmt.Sprintf("j%d", r.next))
	for _, c := range customers[1:] {
		e.Chat.Identities = append(e.Chat.Identities, gateway.Identity{Kind: "phone", Value: c})
	}
	r.relay(e)
}

// Messages of the younger conversation go before those of the older one, which
// goes on at once when none of them is left.
func TestYoungerConversationSendsFirst(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.answered("old") // the older one by its first event
		held := r.say
		r.plays(0, func(int, *gateway.Message) gateway.Outcome {
			return gateway.Outcome{Kind: gateway.OutcomeRetry, After: 5 * time.Second, Code: "130429"}
		})
		r.answered("young", "y1", "y2")
		r.settle()
		r.join("old", "young")
		r.answered("old", "o1")
		r.plays(time.Second, held)
		time.Sleep(10 * time.Second)
		r.settle()
		c := r.called()
		if got := r.texts(); !slices.Equal(got, []string{"y1", "y1", "y2", "o1"}) {
			t.Fatalf("calls %v", got)
		}
		if wait := c[3].at - c[2].at; wait != time.Second { // as long as the call took
			t.Errorf("the older one went on %s after the younger's last began", wait)
		}
	})
}

// The answer to a send shows that two conversations are one: the gates are told,
// and the older one's next message waits for what the younger has.
func TestMergeInTheMiddleOfASend(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		begun := make(chan struct{})
		r.say = func(n int, m *gateway.Message) gateway.Outcome {
			switch m.Reply.Text {
			case "o1":
				<-begun // until the younger one's first is on its way
				return gateway.Outcome{Kind: gateway.OutcomeAccepted, Aliases: []gateway.Identity{{Kind: "phone", Value: "young"}}}
			case "y1":
				close(begun)
				time.Sleep(3 * time.Second)
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: fmt.Sprintf("e-%d", n)}
		}
		r.answered("old", "o1", "o2")
		older := r.conv
		r.settle()
		r.answered("young", "y1", "y2")
		younger := r.conv
		time.Sleep(10 * time.Second)
		r.settle()
		if got := r.texts(); !slices.Equal(got, []string{"o1", "y1", "y2", "o2"}) {
			t.Errorf("calls %v", got)
		}
		if want := []gateway.Merge{{Conv: younger, Into: older}}; !slices.Equal(r.merged, want) {
			t.Errorf("told %v, want %v", r.merged, want)
		}
	})
}

// Nothing waits for ever: not for a message whose outcome stays unknown, and not for
// one that the platform refuses for so long that it expires.
func TestOlderConversationIsNotHeldForEver(t *testing.T) {
	for name, c := range map[string]struct {
		outcome gateway.Outcome
		least   time.Duration
		most    time.Duration
	}{
		"unknown":  {gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}, 60 * time.Second, 62 * time.Second},
		"rejected": {gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026"}, 0, 2 * time.Second},
		"expires":  {gateway.Outcome{Kind: gateway.OutcomeRetry, Code: "130429"}, time.Hour, time.Hour + 3*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.say = func(_ int, m *gateway.Message) gateway.Outcome {
					if m.Reply.Text == "young" {
						return c.outcome
					}
					return gateway.Outcome{Kind: gateway.OutcomeAccepted}
				}
				r.answered("old")
				r.answered("young", "young")
				r.join("old", "young")
				r.settle()
				var at time.Duration
				for range 130 { // minutes; a new answer each, so that what expires is not the older one's
					r.answered("old", "old")
					time.Sleep(time.Minute)
					r.settle()
					if i := slices.IndexFunc(r.called(), func(c call) bool { return c.text == "old" }); i >= 0 {
						at = r.called()[i].at
						break
					}
				}
				if at < c.least || at > c.most || !slices.Contains(r.texts(), "old") {
					t.Errorf("the older one went on after %s", at)
				}
			})
		})
	}
}
