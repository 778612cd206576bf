package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// startSandbox runs the command and returns what it printed as JSON and how to
// end it; ending checks the exit code.
func startSandbox(t *testing.T, args ...string) sandboxCredentials {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	pipe := newJSONPipe()
	var errs bytes.Buffer
	done := make(chan int, 1)
	args = append([]string{"sandbox", "--json", "--whatsapp-listen", "127.0.0.1:0", "--wecom-listen", "127.0.0.1:0", "--unified-listen", "127.0.0.1:0", "--aibot-listen", "127.0.0.1:0"}, args...)
	go func() {
		code := run(ctx, stdio{in: strings.NewReader(""), out: pipe.w, err: &errs}, args)
		_ = pipe.w.Close()
		done <- code
	}()
	t.Cleanup(func() {
		stop()
		select {
		case code := <-done:
			if code != exitOK {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
		case <-time.After(leastLimit):
			t.Error("did not stop")
		}
	})
	var cred sandboxCredentials
	if err := pipe.r.Decode(&cred); err != nil {
		t.Fatalf("printed no credentials: %v; %s", err, errs.String())
	}
	return cred
}

// TestSandbox: the credentials make a configuration that loads, and the commands
// reach the control endpoints.
func TestSandbox(t *testing.T) {
	cred := startSandbox(t)
	cfg, err := config.Parse("printed", []byte(cred.yaml()+"applications:\n  - {name: trial, builtin: echo}\n"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newDirectory(cfg, time.Now); err != nil {
		t.Fatal(err)
	}
	at := []string{"--at", cred.WhatsApp.APIBase}
	steps := []struct {
		args []string
		says string
	}{
		{append([]string{"fault", "add", "--name", "slow", "--delay", "20ms", "--to", "15550100001", "--next", "2"}, at...), "slow is in force"},
		{append([]string{"fault", "add", "--stage", "after", "--drop", "reset", "--no-statuses"}, at...), "fault-1 is in force"},
		{append([]string{"fault", "ls"}, at...), "answer lost (reset), no statuses"},
		{append([]string{"fault", "add", "--stage", "after", "--fail-code", "131049", "--fail-after-sent"}, at...), "fault-2 is in force"},
		{append([]string{"fault", "ls"}, at...), "fails after sent with 131049"},
		{append([]string{"fault", "rm", "slow"}, at...), "fault-1"},
		{append([]string{"fault", "rm"}, at...), "no faults"},
		{append([]string{"calls"}, at...), "no calls"},
		{append([]string{"calls", "--summary"}, at...), "taken twice  0"},
		{[]string{"calls", "--platform", "wecom", "--at", cred.WeCom.APIBase}, "no calls"},
	}
	for _, s := range steps {
		code, out, errs := execute(t.Context(), "", append([]string{"sandbox"}, s.args...)...)
		if code != exitOK || !strings.Contains(out, s.says) {
			t.Errorf("%q: exit code %d, printed %q, said %q", s.args, code, out, errs)
		}
	}
}

// TestSandboxOfConfig: started again with the configuration it printed, it has
// the same credentials.
func TestSandboxOfConfig(t *testing.T) {
	cred := newSandboxCredentials()
	cred.Unified, cred.Robot = newUnifiedCredentials(), newRobotCredentials()
	cred.WhatsApp.APIBase, cred.WeCom.APIBase, cred.Unified.APIBase, cred.Robot.APIBase = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3", "http://127.0.0.1:4"
	path := filepath.Join(t.TempDir(), "causeway.yaml")
	if err := os.WriteFile(path, []byte(cred.yaml()), 0o600); err != nil {
		t.Fatal(err)
	}
	again := startSandbox(t, "-c", path)
	again.WhatsApp.APIBase, again.WeCom.APIBase, again.Unified.APIBase = cred.WhatsApp.APIBase, cred.WeCom.APIBase, cred.Unified.APIBase
	again.Robot.APIBase = cred.Robot.APIBase
	cred.Unified.CallbackToken, cred.Unified.APIToken = "", "" // where a configuration's stand is its own matter
	if !reflect.DeepEqual(again, cred) {
		t.Errorf("%+v instead of %+v", again, cred)
	}
}

func TestSandboxErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"open to others": {[]string{"--wecom-listen", "0.0.0.0:0"}, exitUsage, "--wecom-listen must be a loopback address"},
		"no address":     {[]string{"--whatsapp-listen", "9081"}, exitUsage, "loopback"},
		"nothing to run": {[]string{"--whatsapp-listen", "", "--wecom-listen", ""}, exitUsage, "nothing to run"},
		"none there":     {[]string{"calls", "--at", "127.0.0.1:1"}, exitUnreachable, "causeway sandbox"},
		"what platform":  {[]string{"calls", "--platform", "x"}, exitUsage, "--platform must be"},
		"no limit":       {[]string{"calls", "--limit", "0"}, exitUsage, "--limit"},
		"a stray word":   {[]string{"faults"}, exitUsage, "faults"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := execute(t.Context(), "", append([]string{"sandbox"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.says) {
				t.Errorf("exit code %d, said %q", code, errs)
			}
		})
	}
	cred := startSandbox(t)
	code, _, errs := execute(t.Context(), "", "sandbox", "fault", "add", "--stage", "after", "--fail-after-sent", "--no-statuses", "--at", cred.WhatsApp.APIBase)
	if code != exitUsage || !strings.Contains(errs, "fail_after_sent needs fail_code") {
		t.Errorf("exit code %d, said %q", code, errs)
	}
	code, _, errs = execute(t.Context(), "", "sandbox", "fault", "add", "--stage", "during", "--at", cred.WeCom.APIBase)
	if code != exitUsage || !strings.Contains(errs, "stage must be before or after") {
		t.Errorf("exit code %d, said %q", code, errs)
	}
}

// TestSandboxPage is what a reader sees; the configuration in it must load as it
// is printed.
func TestSandboxPage(t *testing.T) {
	cred := newSandboxCredentials()
	cred.WhatsApp.APIBase, cred.WeCom.APIBase = "http://"+sandboxWhatsApp, "http://"+sandboxWeCom
	var b bytes.Buffer
	writeSandbox(&b, sandboxOptions{callback: "http://127.0.0.1:8080"}, &cred)
	page := b.String()
	_, rest, _ := strings.Cut(page, "causeway serve):\n")
	text, _, found := strings.Cut(rest, "\nNext,")
	if !found {
		t.Fatalf("the page has no configuration:\n%s", page)
	}
	cfg, err := config.Parse("printed", []byte(text), os.LookupEnv)
	if err != nil || len(cfg.Endpoints) != 2 || len(cfg.Accounts) != 4 || len(cfg.Applications) != 1 {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestSandboxHelp: the help names every path of the control endpoint.
func TestSandboxHelp(t *testing.T) {
	_, help, _ := execute(t.Context(), "", "sandbox", "--help")
	cred := startSandbox(t)
	base := cred.WhatsApp.APIBase
	for _, line := range strings.Split(help, "\n") {
		if strings.Contains(line, "of the fake WeCom") {
			base = cred.WeCom.APIBase
		}
		if strings.Contains(line, "of the fake vendor's gateway") {
			base = cred.Unified.APIBase
		}
		if strings.Contains(line, "of the fake robot") {
			base = cred.Robot.APIBase
		}
		method, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if method != http.MethodPost && method != http.MethodPut {
			continue
		}
		path, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		req, err := http.NewRequest(method, base+sandbox.ControlPrefix+path, strings.NewReader("["))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s %s: %d; the help names what there is not", method, path, res.StatusCode)
		}
	}
	for _, path := range []string{"simulate", "move", "group", "statuses", "callbacks", "customer", "colleague", "member", "plays"} {
		if !strings.Contains(help, " "+path+" ") {
			t.Errorf("the help does not name %s", path)
		}
	}
}
