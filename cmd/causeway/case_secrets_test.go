package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// What must be found nowhere. The platform's token begins with "sandbox-".
func secretsOfWorld() []string {
	return []string{testSecret, testToken, "verify-me", "access-token-1", "bot-password", testWCSecret, testWCToken, testWCKey,
		"sandbox-", "LEAKMARK", "access_token="}
}

const leakText = "what the customer wrote 7741"

// Case 38: failures of every kind, at the most talkative log level: wrong verify
// and admin tokens, forged callbacks, sends answered by errors, resets, hangs and
// nobody, a token refused, a handler that fails. No secret, no text and no phone
// number is in what the process said, in its metrics, or in an operator's answers.
func TestCase38Secrets(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{extra: "log: {level: debug}\n",
		apps: "  - {name: echo, ack_wait: 5s, tries: 1}\n"})
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.From.Identities[0].Value == "fails" {
			return nil, fmt.Errorf("no answer today")
		}
		return worker.Text(ev.Text), nil
	}, 16)
	w.strangers()
	fail := func(i int, f sandbox.Fault) {
		f.To = customer(i)
		w.fault(f)
		w.says(customer(i), leakText)
	}
	fail(1, sandbox.Fault{Status: http.StatusBadGateway})
	fail(2, sandbox.Fault{Status: http.StatusInternalServerError})
	fail(3, sandbox.Fault{Code: 131056, Next: 1})
	fail(4, sandbox.Fault{Drop: sandbox.DropHang})
	fail(5, sandbox.Fault{Drop: sandbox.DropReset})
	fail(6, sandbox.Fault{Code: 131026})
	fail(7, sandbox.Fault{Code: 131000})
	member := func(i int, f sandbox.Fault) {
		f.To = fmt.Sprint("member", i)
		if _, err := wc.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
		wc.Member(f.To, leakText)
	}
	tried := func(wanted int64, wecom int) {
		t.Helper()
		w.until(30*time.Second, "all were tried", func() bool {
			s := w.sums()
			return s.Apps["echo"].Pending == 0 && s.Apps["echo"].Wanted == wanted && len(w.wa.Calls()) >= 6 && len(wc.Calls()) >= wecom
		})
	}
	for i, f := range []sandbox.Fault{{Drop: sandbox.DropReset}, {Status: http.StatusBadGateway}, {Drop: sandbox.DropHang}} {
		member(i, f)
	}
	wc.Member("fails", leakText)
	tried(11, 3)
	member(3, sandbox.Fault{Code: 40014, Next: 2})
	tried(12, 4)
	member(4, sandbox.Fault{Code: 45009, Next: 1}) // the account rests
	tried(13, 5)
	if err := w.wa.Refuse(); err != nil {
		t.Fatal(err)
	}
	w.says(customer(8), leakText)
	w.until(30*time.Second, "a refused connection is logged", func() bool { return strings.Contains(w.said(), `"code":"refused"`) })
	if err := w.wa.Listen(""); err != nil {
		t.Fatal(err)
	}
	// These two stop the whole account, until somebody says otherwise.
	for i, f := range []sandbox.Fault{{Status: http.StatusFound, Next: 1}, {Status: http.StatusUnauthorized, Next: 1}} {
		fail(9+i, f)
		code := fmt.Sprintf(`"code":"http_%d"`, f.Status)
		w.until(30*time.Second, code+" is logged", func() bool { return strings.Contains(w.said(), code) })
		w.stop()
		w.start("")
		w.up()
		if out, status := w.cli("accounts", "resume", "shop-a"); status != exitOK {
			t.Fatalf("resume: %d %s", status, out)
		}
	}
	w.leaks("an operator's answers", w.everyAnswer())
	w.stop()
	w.leaks("what the process said", w.said())
	for _, word := range []string{"wamid.", "api.weixin", "graph.facebook", "@"} {
		if strings.Contains(w.said(), word) {
			t.Errorf("the process said %q", word)
		}
	}
}

// strangers knock with secrets that are wrong.
func (w *world) strangers() {
	w.t.Helper()
	q := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {"LEAKMARK-verify"}, "hub.challenge": {"1"}}
	resp, err := http.Get(w.url + "?" + q.Encode()) //nolint:noctx,gosec // a test on loopback
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	_, body := w.wa.CustomerBody(customer(38), leakText)
	resp, err = http.Post(w.url+"?token=LEAKMARK-query", "application/json", bytes.NewReader(body)) //nolint:noctx,gosec // a test on loopback
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, path := range []string{"/api/v1/dead", "/api/v1/LEAKMARK", "/metrics?x=LEAKMARK"} {
		if status, _ := w.raw(http.MethodGet, path, "LEAKMARK-admin-wrong", nil); status/100 != 4 {
			w.t.Errorf("%s with a wrong token was answered %d", path, status)
		}
	}
}

// everyAnswer is all that an operator can read but conversations, which name
// people, and raw bodies.
func (w *world) everyAnswer() string {
	w.t.Helper()
	var all strings.Builder
	paths := []string{"/metrics", "/readyz", "/healthz", "/api/v1/payloads", "/api/v1/rejects", "/api/v1/rejects/1", "/api/v1/dead", "/api/v1/apps",
		"/api/v1/sums?recount=1", "/api/v1/doctor", "/api/v1/audit", "/api/v1/dead?state=bad"}
	for _, s := range []string{"waiting", "sending", "accepted", "rejected", "unknown", "held"} {
		paths = append(paths, "/api/v1/messages?state="+s)
	}
	for _, id := range w.archived() {
		paths = append(paths, "/api/v1/payloads/"+id)
	}
	dead := w.deadLetters()
	if len(dead) == 0 {
		w.t.Error("no dead letter: nothing was tested")
	}
	for _, d := range dead {
		paths = append(paths, "/api/v1/dead/"+d.ID)
	}
	for _, p := range paths {
		_, body := w.raw(http.MethodGet, p, testToken, nil)
		all.WriteString(body + "\n")
	}
	for _, args := range [][]string{{"doctor"}, {"apps"}, {"sums"}, {"dead", "ls"}, {"dead", "show", dead[0].ID}, {"messages", "ls"},
		{"archive", "ls"}, {"rejects", "ls"}, {"rejects", "show", "1"}, {"config", "check"}, {"version"}} {
		out, _ := w.cli(args...)
		all.WriteString(out)
	}
	return all.String()
}

// leaks looks for what must not be there. The platform's ids hold the number in
// base64; they are looked for where they may not be.
func (w *world) leaks(where, said string) {
	w.t.Helper()
	if len(said) < 100 {
		w.t.Fatalf("%s: only %q", where, said)
	}
	for _, word := range append(secretsOfWorld(), leakText, "what the customer", customer(0)[:7], "+"+customer(0)[:4]) {
		if at := strings.Index(said, word); at >= 0 {
			w.t.Errorf("%s: %q is in …%s…", where, word, said[max(at-150, 0):min(at+60, len(said))])
		}
	}
}

// Case 38, before anything runs: a wrong configuration is told by file, line and
// field, and the value is not repeated.
func TestCase38BadConfiguration(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{})
	good, err := os.ReadFile(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"short token":      {testToken, "LEAKMARK-short"},
		"unknown field":    {"access_token: access-token-1", "acces_token: LEAKMARK-token"},
		"secret as a list": {`app_secret: "` + testSecret + `"`, "app_secret: [LEAKMARK]"},
		"short password":   {"bot-password", "LEAKM"},
		"bad address":      {"api_base: \"http://", "api_base: \"ftp://user:LEAKMARK@"},
		"broken YAML":      {"verify_token: verify-me}", "verify_token: 'LEAKMARK}"},
		"unset variable":   {"access-token-1", "${env:LEAKMARK_NOT_SET}"},
	} {
		if !strings.Contains(string(good), change[0]) {
			t.Fatalf("%s: the configuration has no %q", name, change[0])
		}
		path := filepath.Join(t.TempDir(), "bad.yaml")
		if err := os.WriteFile(path, []byte(strings.Replace(string(good), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"serve", "-c", path}, {"config", "check", "-c", path}} {
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this test binary
			cmd.Env = append(os.Environ(), childEnv+"=1")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != exitUsage {
				t.Errorf("%s: %v ended with %v: %s", name, args[0], err, out)
			}
			// The name of a variable is no secret, its value would be.
			said := strings.ReplaceAll(string(out), "LEAKMARK_NOT_SET", "")
			if strings.Contains(said, "LEAKM") || strings.Contains(said, testSecret) || !strings.Contains(said, "bad.yaml") {
				t.Errorf("%s: %v said %s", name, args[0], out)
			}
		}
	}
}
