package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// That a platform said we are too fast is known after a restart: nothing leaves before
// the time it named, then one message alone; the pace has grown back as it would have.
func TestSlowedOverRestart(t *testing.T) {
	for _, pause := range []time.Duration{0, 20 * time.Second, time.Hour} {
		t.Run(pause.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				begin := time.Now()
				r.limits = map[string][]gateway.Limit{"shop": {{N: 20, Per: time.Second, Burst: 20}}}
				r.stop()
				r.retry.MaxAge = 24 * time.Hour
				r.start(begin)
				refused := 0
				r.plays(20*time.Millisecond, func(int, *gateway.Message) gateway.Outcome {
					if refused < 3 {
						refused++
						return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Blame: gateway.BlamePace, Code: "45009", After: time.Minute}
					}
					return gateway.Outcome{Kind: gateway.OutcomeAccepted}
				})
				r.answered("first", "x")
				time.Sleep(2*time.Minute + time.Second) // three refusals, a minute apart
				r.settle()
				for i := range 40 {
					r.answered(fmt.Sprint("c", i), "x")
				}
				before, k := r.sender.Account("shop"), r.kept()
				if len(r.called()) != 3 || before.State != gateway.AccountSlowed || k.State != gateway.AccountSlowed || !k.ProbeAt.Equal(before.ProbeAt) {
					t.Fatalf("after %d calls %+v, kept %+v", len(r.called()), before, k)
				}
				r.stop()
				time.Sleep(pause)
				again := time.Now()
				r.start(begin)
				time.Sleep(time.Second)
				r.settle()
				after, wait := r.sender.Account("shop"), before.ProbeAt.Sub(again)
				if pause < time.Minute {
					if n := len(r.called()); n != 3 || after.State != gateway.AccountSlowed || after.Part >= 1 || !after.ProbeAt.Equal(before.ProbeAt) {
						t.Fatalf("started anew, %d calls, %+v", n, after)
					}
					time.Sleep(wait + 10*time.Millisecond - time.Since(again))
					r.settle()
					if n := len(r.called()); n != 4 {
						t.Errorf("%d calls at the time that was named", n-3)
					}
				}
				time.Sleep(time.Hour)
				r.settle()
				r.answered("last", "x")
				time.Sleep(time.Second)
				r.settle()
				if n := len(r.called()); n != 3+1+40+1 {
					t.Errorf("%d calls in all", n)
				}
				if k := r.kept(); k.State != gateway.AccountHealthy {
					t.Errorf("kept when all is well: %+v", k)
				}
			})
		})
	}
}
