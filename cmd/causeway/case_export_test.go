package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// What a worker got is exported again byte for byte, by conversation, payload and
// time; a bot is tested on it without a broker; the deed is in the audit.
func TestExportIsWhatWorkersGot(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	var mu sync.Mutex
	got := map[string][]string{} // by conversation
	w.bot(func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		got[ev.Conv] = append(got[ev.Conv], string(worker.Info(ctx).Body))
		return nil, nil
	}, 4)
	for i := range 6 {
		w.says(customer(i%2), fmt.Sprintf("<%d> & \u00e9", i))
	}
	_, body := w.wa.CustomerBody(customer(0), "again") // the same payload twice is one event
	w.taken(body)
	w.taken(body)
	w.settled(30 * time.Second)

	conv := w.customerConv(customer(0)).Conv
	lines := func(args ...string) []string {
		out, code := w.cli(append([]string{"archive", "export"}, args...)...)
		if code != exitOK {
			t.Fatalf("%q: exit code %d, %s", args, code, out)
		}
		return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	}
	mu.Lock()
	defer mu.Unlock()
	if out := lines("--conv", conv); len(out) != 4 || !slices.Equal(out, got[conv]) {
		t.Errorf("the conversation is exported as\n%q\nnot\n%q", out, got[conv])
	}
	all := lines("--since", "-1h", "--endpoint", "meta")
	if len(all) != 7 || !slices.Equal(slices.DeleteFunc(slices.Clone(all), func(l string) bool { return !strings.Contains(l, conv) }), got[conv]) {
		t.Errorf("the last hour is exported as %q", all)
	}
	ids := w.archived()
	if out := lines("--payload", ids[len(ids)-1]); len(out) != 1 || out[0] != got[conv][0] {
		t.Errorf("the first payload is exported as %q", out)
	}

	file := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(all, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	answers := workertest.Run(t, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Text("You wrote: " + ev.Text), nil
	}, workertest.Events(t, file)...)
	if len(answers) != 7 || answers[0].Replies[0].Text != "You wrote: <0> & \u00e9" {
		t.Errorf("answers %+v", answers)
	}

	if out, code := w.cli("archive", "export", "--conv", strings.Repeat("a", 26)); code != exitNotFound {
		t.Errorf("an unknown conversation: %d %s", code, out)
	}
	for _, args := range [][]string{{}, {"--conv", conv, "--since", "-1h"}, {"--conv", "x"}, {"--until", "now", "--conv", conv}, {"--since", "now", "--until", "-1h"}} {
		if out, code := w.cli(append([]string{"archive", "export"}, args...)...); code != exitUsage {
			t.Errorf("%q: exit code %d, %s", args, code, out)
		}
	}
	if status, _ := w.raw(http.MethodGet, "/api/v1/events?conv="+conv, "not-the-token", nil); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	var audit struct{ Audit []gateway.AuditEntry }
	if err := w.get("/api/v1/audit?limit=50", &audit); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(audit.Audit, func(e gateway.AuditEntry) bool {
		return e.What == "export events" && e.Target == "conversation "+conv && e.By == "test"
	}) {
		t.Errorf("audit: %+v", audit.Audit)
	}
}
