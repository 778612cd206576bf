package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// The process dies when an application is found to be down as a whole, before that is
// kept and right after. No event becomes a dead letter by it, and when the bot works
// again everything is answered, once and in order.
func TestKillWhenTheBreakerTrips(t *testing.T) {
	for _, step := range steps("breaker.") {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 2s, tries: 8, delays: [300ms, 1s, 2s, 4s, 8s]}\n"})
			p := w.start(step + ":1")
			w.up()
			var down atomic.Bool
			down.Store(true)
			w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
				if down.Load() {
					return nil, errors.New("the model does not answer")
				}
				return worker.Text(ev.Text), nil
			}, 16)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			l := &load{w: w, convs: 10, each: 2}
			l.run(ctx)
			w.dies(p, step)
			w.start("")
			w.up()
			if step == "breaker.kept" && !w.appNamed("echo").Tripped {
				t.Error("it is not tripped, though that was kept")
			}
			down.Store(false)
			w.quiet(2 * time.Minute)
			if w.appNamed("echo").Tripped || len(w.deadLetters()) > 0 {
				t.Errorf("%+v, %d dead letters", w.appNamed("echo"), len(w.deadLetters()))
			}
			if unknown := l.verify(); unknown > l.convs { // one attempt of each may have been open
				t.Errorf("%d unknown messages after one death", unknown)
			}
		})
	}
}

// The process dies when the platform refused an account's token: before that is kept
// with the account, or between that and the outcome of the attempt that told it. The
// account is found stopped, or found out again by one more call; the message whose call
// was cut is unknown and not sent again, all others leave once the token is mended.
func TestKillBetweenAccountAndOutcome(t *testing.T) {
	for _, step := range steps("account.") {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w, wb := newSecondNumber(t)
			w.stop()
			p := w.start(step + ":1")
			w.up()
			asks := func(who string) (id string, err error) {
				var out gateway.Submitted
				err = w.call(http.MethodPost, "/api/v1/messages", json.RawMessage(`{"account":"shop-b","to":{"kind":"phone","value":"`+who+`"},"content":{"text":"waits"}}`), &out)
				return out.ID, err
			}
			var ids []string
			for i := 0; i < 4 && !p.ended(); i++ {
				if id, err := asks(fmt.Sprint("1666031010", i)); err == nil { // it may die before it answers
					ids = append(ids, id)
				}
			}
			w.dies(p, step)
			w.start("")
			w.up()
			for i := range 4 { // whatever came before the death, some come after it
				id, err := asks(fmt.Sprint("1666031020", i))
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			w.until(30*time.Second, "the account is paused and no call runs", func() bool {
				a := w.fares("shop-b")
				return a.State == gateway.AccountPaused && a.InFlight == 0
			})
			// The attempts that were open at the death, and others whose outcome is just stored.
			cut := map[string]bool{}
			for _, id := range ids {
				if s := w.message(id).State; s != string(gateway.MessageWaiting) {
					cut[id] = true
				}
			}
			if len(cut) == 0 || len(accepted(wb.Calls())) > 0 {
				t.Errorf("%d attempts are open, %d messages were taken with a revoked token", len(cut), len(accepted(wb.Calls())))
			}
			w.stop()
			w.edit("token-revoked", "token-right")
			w.start("")
			w.up()
			w.until(60*time.Second, "all the others leave", func() bool {
				return !slices.ContainsFunc(ids, func(id string) bool { return !cut[id] && w.message(id).State != string(gateway.MessageAccepted) })
			})
			open := 0 // of those that ran at the pause some were no more than retried
			for id := range cut {
				if s := w.message(id).State; s == string(gateway.MessageSending) || s == string(gateway.MessageUnknown) {
					open++
				}
			}
			if open == 0 {
				t.Error("the message whose call was cut was sent again")
			}
			for marker, n := range wb.CallLog().Accepted() {
				if n > 1 {
					t.Errorf("message %s was taken %d times", marker, n)
				}
			}
		})
	}
}

// The process dies in the middle of a bulk requeue, after the commit of a slice: what
// was moved is moved, and its gate begins with it; the rest is open still, the audit
// says how many went. Asked again the rest follows; each is answered once, in order.
func TestKillWhileRequeuingMany(t *testing.T) {
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 2s}\n"})
			w.fault(sandbox.Fault{Name: "no statuses", Stage: sandbox.After, NoStatuses: true})
			at := fmt.Sprintf("requeue.committed:%d", n)
			p := w.start(at)
			w.up()
			var broken atomic.Bool
			broken.Store(true)
			w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
				if broken.Load() {
					return nil, worker.Dead(errors.New("no model"))
				}
				return worker.Text(ev.Text), nil
			}, 16)
			l := &load{w: w, convs: 8, each: 10}
			l.run(t.Context())
			w.until(time.Minute, "all are dead letters", func() bool { return len(w.deadLetters()) == 80 })
			broken.Store(false)
			if out, code := w.cli("dead", "requeue", "--all"); code == exitOK {
				t.Fatalf("answered by a process that should have died: %s", out)
			}
			w.dies(p, at)
			w.start("")
			w.up()
			open := len(w.deadLetters())
			if open == 0 || open >= 80 {
				t.Errorf("%d dead letters are open after dying in the middle", open)
			}
			w.quiet(time.Minute)
			if got := w.sums().Apps["echo"]; got.Settled != int64(80-open) || got.Dead != int64(open) {
				t.Errorf("of 80, with %d open: %+v", open, got)
			}
			if out, code := w.cli("dead", "requeue", "--all"); code != exitOK {
				t.Fatalf("%d %s", code, out)
			}
			w.quiet(time.Minute)
			var log struct{ Audit []gateway.AuditEntry }
			if err := w.get("/api/v1/audit?limit=100", &log); err != nil {
				t.Fatal(err)
			}
			var moved []int64
			for _, e := range log.Audit {
				if e.What == "requeue" {
					moved = append(moved, e.Count)
				}
			}
			slices.Sort(moved)
			want := []int64{int64(open), int64(80 - open)}
			slices.Sort(want)
			if !slices.Equal(moved, want) {
				t.Errorf("the audit says %v, want %v", moved, want)
			}
			if unknown := l.verify(); unknown > l.convs { // one attempt of each may have been open
				t.Errorf("%d unknown messages after one death", unknown)
			}
		})
	}
}
