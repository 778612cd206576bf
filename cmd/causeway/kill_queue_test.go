package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

const resultSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// resultReceiver takes results, as a customer's system does: it checks the signature and
// leaves out what it has by webhook-id.
type resultReceiver struct {
	*httptest.Server
	mu      sync.Mutex
	ids     map[string]bool
	results map[string][]string // by message, in order
	again   int
}

func newResultReceiver(t *testing.T) *resultReceiver {
	t.Helper()
	keys, err := gateway.ParseWebhookKeys(resultSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := &resultReceiver{ids: map[string]bool{}, results: map[string][]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || keys.Verify(req.Header.Get, body, time.Now()) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var e struct{ Data gateway.Change }
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("not JSON: %s", body)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		id := req.Header.Get(gateway.WebhookHeaderID)
		if r.ids[id] {
			r.again++
		} else {
			r.ids[id] = true
			r.results[e.Data.Message] = append(r.results[e.Data.Message], e.Data.Result)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *resultReceiver) told(message string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.results[message])
}

func (r *resultReceiver) config() string {
	return fmt.Sprintf("results:\n  - {name: crm, url: %q, secret: %s}\n", r.URL+"/results", resultSecret)
}

// The process dies while it posts a result, or before it notes that it did. After the
// restart the receiver has every result of every message, in order.
func TestKillWhileTellingResults(t *testing.T) {
	t.Parallel()
	for _, step := range steps("results.") {
		t.Run(step, func(t *testing.T) {
			begin(t)
			r := newResultReceiver(t)
			w := newWorld(t, worldOptions{extra: r.config()})
			p := w.start(step + ":7")
			w.up()
			const customers = 8 // each has a result, so that the step comes often enough
			died := false
			ids := make([]string, customers)
			for i := range ids {
				body := fmt.Sprintf(`{"account":"shop-a","to":{"kind":"phone","value":"1666032%04d"},"content":{"text":"hello"},"idempotency_key":"k%d"}`, i, i)
				w.until(30*time.Second, "the message is taken", func() bool { // by one of the processes
					var out gateway.Submitted
					if w.call(http.MethodPost, "/api/v1/messages", json.RawMessage(body), &out) != nil {
						if !died && p.ended() {
							w.start("")
							w.up()
							died = true
						}
						return false
					}
					ids[i] = out.ID
					return true
				})
			}
			if !died {
				w.dies(p, step)
				w.start("")
				w.up()
			}
			w.quiet(60 * time.Second)
			for _, id := range ids {
				// Statuses may be lost while the gateway is away, which the sandbox asks
				// twice only.
				w.until(60*time.Second, "the receiver knows what the gateway does", func() bool {
					got := r.told(id)
					return len(got) > 0 && got[len(got)-1] == w.message(id).Result
				})
				// A status may come before the answer of the call: then accepted is no news.
				if got := r.told(id); !slices.IsSortedFunc(got, func(a, b string) int { return rankOf(a) - rankOf(b) }) {
					t.Errorf("told %v", got)
				}
			}
		})
	}
}

// rankOf orders results as they follow one another.
func rankOf(result string) int {
	return slices.Index([]string{"unknown", "accepted", "sent", "delivered", "read"}, result) // -1 for what cannot be
}

// The process dies between two slices of a change of many, or right after one. What is
// done is done and in the audit; the same command does the rest, and nothing leaves.
func TestKillWhileChangingTheQueue(t *testing.T) {
	t.Parallel()
	for _, step := range steps("queue.") {
		t.Run(step, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{})
			p := w.start(step + ":2")
			w.up()
			const parts = 250 // three slices
			for i := range parts / 10 {
				texts := make([]gateway.Reply, 10)
				for j := range texts {
					texts[j].Text = "x"
				}
				raw, err := json.Marshal(texts)
				if err != nil {
					t.Fatal(err)
				}
				body := fmt.Sprintf(`{"account":"shop-a","to":{"kind":"phone","value":"1666033%04d"},"parts":%s,"idempotency_key":"june-%d","scheduled_at":%q}`,
					i, raw, i, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
				if err := w.call(http.MethodPost, "/api/v1/messages", json.RawMessage(body), nil); err != nil {
					t.Fatal(err)
				}
			}
			if said, code := w.cli("messages", "cancel", "--key", "june-"); code == exitOK {
				t.Fatalf("answered by a process that should have died: %s", said)
			}
			w.dies(p, step)
			w.start("")
			w.up()
			before := w.sums().Messages
			if before.Cancelled == 0 || before.Waiting == 0 || before.Cancelled+before.Waiting != parts {
				t.Errorf("after the death: %+v", before)
			}
			if said, code := w.cli("messages", "cancel", "--key", "june-"); code != exitOK {
				t.Errorf("%d %s", code, said)
			}
			if s := w.sums().Messages; s.Cancelled != parts {
				t.Errorf("messages %+v", s)
			}
			var log struct{ Audit []gateway.AuditEntry }
			if err := w.get("/api/v1/audit?limit=100", &log); err != nil {
				t.Fatal(err)
			}
			audited := 0
			for _, e := range log.Audit {
				n := 0
				if _, err := fmt.Sscanf(e.Target, "%d messages", &n); err == nil && e.What == "cancel" {
					audited += n
				}
			}
			if audited != parts {
				t.Errorf("%d messages are in the audit", audited)
			}
		})
	}
}

// The process dies between two slices of a change that counts from where the messages
// stand. The command says how to go on, and that, however often, moves each once: by just
// so much, or over a time in the order in which they were due.
func TestKillWhileMovingTheQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want func(i int, began time.Time) (from, to time.Time)
	}{
		"by": {[]string{"reschedule", "--by", "1d"}, func(i int, began time.Time) (from, to time.Time) {
			at := began.Add(time.Hour + time.Duration(i)*time.Minute + 24*time.Hour)
			return at, at
		}},
		"sooner": {[]string{"reschedule", "--by", "-30m"}, func(i int, began time.Time) (from, to time.Time) {
			at := began.Add(30*time.Minute + time.Duration(i)*time.Minute)
			return at, at
		}},
		"spread": {[]string{"set", "--spread", "25h"}, func(i int, began time.Time) (from, to time.Time) {
			return began.Add(time.Duration(i) * time.Hour), began.Add(time.Duration(i)*time.Hour + 3*time.Minute) // from when it began
		}},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{})
			p := w.start("queue.changed:2")
			w.up()
			began := time.Now().UTC().Truncate(time.Second)
			const tasks = 25 // of ten parts: three slices
			ids := make([]string, tasks)
			for i := range ids {
				raw, err := json.Marshal(slices.Repeat([]gateway.Reply{{Text: "x"}}, 10))
				if err != nil {
					t.Fatal(err)
				}
				body := fmt.Sprintf(`{"account":"shop-a","to":{"kind":"phone","value":"1666034%04d"},"parts":%s,"idempotency_key":"june-%d","scheduled_at":%q}`,
					i, raw, i, began.Add(time.Hour+time.Duration(i)*time.Minute).Format(time.RFC3339))
				var out gateway.Submitted
				if err := w.call(http.MethodPost, "/api/v1/messages", json.RawMessage(body), &out); err != nil {
					t.Fatal(err)
				}
				ids[i] = out.ID
			}
			said, code := w.cli(append(append([]string{"messages"}, c.args...), "--key", "june-", "--due-until", "+90m")...)
			_, again, found := strings.Cut(said, "this goes on: causeway ")
			if code == exitOK || !found {
				t.Fatalf("%d %s", code, said)
			}
			w.dies(p, "queue.changed:2")
			w.start("")
			w.up()
			for range 2 {
				if said, code := w.cli(strings.Fields(again)...); code != exitOK {
					t.Errorf("%s: %d %s", again, code, said)
				}
			}
			for i, id := range ids {
				if from, to := c.want(i, began); w.message(id).DueAt.Before(from) || w.message(id).DueAt.After(to) {
					t.Errorf("task %d is due %s, want from %s to %s", i, w.message(id).DueAt, from, to)
				}
			}
		})
	}
}
