package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/admin"
)

// steps are the boundaries beside the way that begin with a word.
func steps(prefix string) []string {
	return slices.DeleteFunc(sideBoundaries(), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

// dies waits for the end of a process that was started to die.
func (w *world) dies(p *process, at string) {
	w.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		w.t.Fatalf("never came to %s", at)
	}
}

// The process dies while rejects are taken back: verified and not archived, or
// archived and out of the rejects while nobody was told yet. Asked again, the rest
// follows. None is lost, none is a second event, though the platform delivers each
// of them once more, and the replies come in the order the callbacks came.
func TestKillWhileReadmitting(t *testing.T) {
	t.Parallel()
	const wrong = "wrong-secret-000000000000000000"
	for _, step := range steps("readmit.") {
		for _, n := range []int{1, 7} {
			t.Run(fmt.Sprintf("%s/%d", step, n), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{secret: wrong})
				w.start("")
				w.up()
				l := &load{w: w, convs: 3, each: 4, acked: map[[32]byte]string{}}
				var bodies [][]byte
				for i := range l.each {
					for c := range l.convs {
						_, body := w.wa.CustomerBody(customer(c), text(i))
						if status, err := w.wa.Post(t.Context(), body); err != nil || status != http.StatusUnauthorized {
							t.Fatalf("status %d, %v", status, err)
						}
						bodies = append(bodies, body)
					}
				}
				w.until(20*time.Second, "the rejects are stored", func() bool { return w.rejected() == len(bodies) })
				w.stop()
				w.edit(wrong, testSecret)
				p := w.start(fmt.Sprintf("%s:%d", step, n))
				w.up()
				if err := w.call(http.MethodPost, "/api/v1/rejects/readmit", nil, nil); err == nil {
					t.Fatal("answered by a process that should have died")
				}
				w.dies(p, step)
				w.start("")
				w.up()
				kept := n - 1
				if step == "readmit.archived" {
					kept = n
				}
				if got := w.rejected(); got != len(bodies)-kept {
					t.Errorf("%d rejects after dying at %s, want %d", got, step, len(bodies)-kept)
				}
				var out admin.Readmitted
				if err := w.call(http.MethodPost, "/api/v1/rejects/readmit", nil, &out); err != nil || out.Readmitted != len(bodies)-kept || out.Refused != 0 {
					t.Errorf("asked again: %+v, %v", out, err)
				}
				for _, body := range bodies {
					w.post(t.Context(), body)
					l.acked[sha256.Sum256(body)] = "a callback"
				}
				w.quiet(time.Minute)
				w.once(len(bodies))
				l.verify()
			})
		}
	}
}

// rejected counts the callbacks in the reject store.
func (w *world) rejected() int {
	w.t.Helper()
	var list struct {
		Rejects []struct {
			ID int64 `json:"id"`
		} `json:"rejects"`
	}
	if err := w.get("/api/v1/rejects?limit=500", &list); err != nil {
		w.t.Fatal(err)
	}
	return len(list.Rejects)
}

// once wants every callback to be one event, settled once, and each of their
// second copies to be a duplicate; no reject is left, and each was taken back by
// somebody.
func (w *world) once(callbacks int) {
	w.t.Helper()
	n := int64(callbacks)
	s := w.sums()
	// A status that was under way at the death is delivered twice as well.
	if s.Apps["echo"].Wanted != n || s.Apps["echo"].Settled != n || s.Payloads.Duplicate < n || s.Messages.Taken != n {
		w.t.Errorf("%+v, want %d events for the bot, each with one duplicate and one reply", s, n)
	}
	if left := w.rejected(); left != 0 {
		w.t.Errorf("%d rejects are left", left)
	}
	var log struct{ Audit []gateway.AuditEntry }
	if err := w.get("/api/v1/audit?limit=100", &log); err != nil {
		w.t.Fatal(err)
	}
	deeds := map[string]bool{}
	for _, e := range log.Audit {
		if e.What == "readmit" && e.By == "test" {
			deeds[e.Target] = true
		}
	}
	if len(deeds) != callbacks {
		w.t.Errorf("%d rejects in the audit, want %d", len(deeds), callbacks)
	}
}

// The process dies between two payloads of a replay of a range of time, before
// the first, or when all are read. The next one goes on with the run by itself and
// ends it. What came meanwhile is live and no part of it; no event of the run is
// there twice, and replies are held until they are released.
func TestKillWhileReplaying(t *testing.T) {
	t.Parallel()
	for _, step := range steps("replay.") {
		for _, n := range []int{1, 7} {
			if step == "replay.ending" && n > 1 {
				continue // a run ends once
			}
			t.Run(fmt.Sprintf("%s/%d", step, n), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{apps: appByWorker})
				w.start("")
				w.up()
				w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) { return worker.Text(ev.Text), nil }, 16)
				begun := time.Now().Add(-time.Minute)
				l := &load{w: w, convs: 3, each: 4}
				l.run(t.Context())
				w.quiet(time.Minute)
				w.stop()
				p := w.start(fmt.Sprintf("%s:%d", step, n))
				w.up()
				var started admin.ReplayStarted
				since, until := begun, time.Now().Add(time.Hour)
				_ = w.call(http.MethodPost, "/api/v1/replays", admin.ReplayRequest{Run: "run_kill", Since: &since, Until: &until}, &started) // it may die before it answers
				w.dies(p, step)
				w.start("")
				w.up()
				l.more(4)
				w.until(30*time.Second, "the run goes on", func() bool { return w.sums().Messages.Held == 12 })
				w.quiet(time.Minute)
				if s := w.sums(); s.Messages.Held != 12 || s.Messages.Taken != 15+12 {
					t.Errorf("messages %+v, want 15 sent and 12 held", s.Messages)
				}
				l.verify()
				w.ended()
				w.start("")
				w.up()
				w.releasesInOrder(l)
			})
		}
	}
}

// more lets every customer write once more.
func (l *load) more(i int) {
	l.each++
	for c := range l.convs {
		_, body := l.w.wa.CustomerBody(customer(c), text(i))
		l.w.post(l.w.t.Context(), body)
		l.acked[sha256.Sum256(body)] = customer(c) + " " + text(i)
	}
}

// ended wants no run to be open in the store of a gateway that was stopped.
func (w *world) ended() {
	w.t.Helper()
	s, err := w.openStore()
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if runs, err := s.Ledger.OpenRuns(w.t.Context(), 10); err != nil || len(runs) != 0 {
		w.t.Errorf("open runs %+v, %v", runs, err)
	}
}

// releasesInOrder lets the held replies of the run go: after the live ones, each
// customer gets the first four once more, in order.
func (w *world) releasesInOrder(l *load) {
	w.t.Helper()
	if out, code := w.cli("replay", "release", "run_kill"); code != exitOK {
		w.t.Fatalf("replay release: %d %s", code, out)
	}
	w.quiet(time.Minute)
	want := []string{text(0), text(1), text(2), text(3), text(4), text(0), text(1), text(2), text(3)}
	for c := range l.convs {
		if got := texts(accepted(w.calls(customer(c)))); !slices.Equal(got, want) {
			w.t.Errorf("%s was answered %v, want %v", customer(c), got, want)
		}
	}
	w.oncePerMessage()
}
