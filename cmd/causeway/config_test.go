package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/config"
)

func TestConfigInit(t *testing.T) {
	code, out, _ := execute(t.Context(), "", "config", "init")
	if code != exitOK || out != config.Example() {
		t.Fatalf("exit code %d, printed %d bytes", code, len(out))
	}
	code, out, _ = execute(t.Context(), "", "config", "init", "--json")
	var v map[string]string
	if err := json.Unmarshal([]byte(out), &v); code != exitOK || err != nil || v["yaml"] != config.Example() {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// exampleFile writes the example where its variables are set, and returns the
// values, which nothing may print.
func exampleFile(t *testing.T) (path string, secrets []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\$\{env:(\w+)\}`).FindAllStringSubmatch(config.Example(), -1) {
		value := "secret-of-" + strings.ToLower(m[1]) + "-0123456789abcdef"
		if strings.Contains(m[1], "AES") {
			value = newAESKey()
		}
		if m[1] == "WECOM_TOKEN" {
			value = "secretToken0123456789"
		}
		t.Setenv(m[1], value)
		secrets = append(secrets, value)
	}
	path = filepath.Join(t.TempDir(), "causeway.yaml")
	if err := os.WriteFile(path, []byte(config.Example()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, secrets
}

func TestConfigCheck(t *testing.T) {
	path, secrets := exampleFile(t)
	code, out, errs := execute(t.Context(), "", "config", "check", "-c", path)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "config", "check.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(out, path, "FILE"); got != string(golden) {
		t.Errorf("printed\n%s\ninstead of\n%s", got, golden)
	}
	_, asJSON, _ := execute(t.Context(), "", "config", "check", "-c", path, "--json")
	var s configSummary
	if err := json.Unmarshal([]byte(asJSON), &s); err != nil || !s.OK || len(s.Endpoints) != 2 || len(s.Accounts) != 2 || len(s.Applications) != 2 {
		t.Errorf("%v: %s", err, asJSON)
	}
	for _, secret := range secrets {
		if strings.Contains(out+asJSON, secret) {
			t.Errorf("it printed a secret")
		}
	}
}

// TestConfigCheckNotes: what is allowed and probably not meant is said.
func TestConfigCheckNotes(t *testing.T) {
	cred := newSandboxCredentials()
	cred.WhatsApp.APIBase, cred.WeCom.APIBase = "http://127.0.0.1:1", "http://127.0.0.1:2"
	path := filepath.Join(t.TempDir(), "causeway.yaml")
	text := cred.yaml() + "applications:\n  - {name: one, accounts: [corp]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := execute(t.Context(), "", "config", "check", "-c", path)
	if code != exitOK || !strings.Contains(out, "note: no application takes the messages of shop") || strings.Contains(out, "messages of corp") || strings.Contains(out, "messages of alarm") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
}

func TestConfigCheckErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "causeway.yaml")
	text := "listen: nowhere\nport: 1\nendpoints:\n  - {name: meta, platform: whatsapp, app_secret: hidden-in-the-file}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := execute(t.Context(), "", "config", "check", "-c", path)
	for _, want := range []string{path + ":1: listen", path + ":2: port", "endpoints[0].verify_token"} {
		if !strings.Contains(errs, want) {
			t.Errorf("it does not say %q: %s", want, errs)
		}
	}
	if code != exitUsage || out != "" || strings.Contains(errs, "hidden-in-the-file") {
		t.Errorf("exit code %d, printed %q, said %q", code, out, errs)
	}
	code, out, _ = execute(t.Context(), "", "config", "check", "-c", path, "--json")
	var m configMistakes
	if err := json.Unmarshal([]byte(out), &m); err != nil || code != exitUsage || m.OK || m.File != path || strings.Contains(out, "hidden-in-the-file") {
		t.Errorf("%d %v: %s", code, err, out)
	}
	for field, line := range map[string]int{"listen": 1, "port": 2, "endpoints[0].verify_token": 4} {
		if !slices.ContainsFunc(m.Mistakes, func(one mistake) bool { return one.Field == field && one.Line == line && one.Problem != "" }) {
			t.Errorf("%s in line %d is not among %+v", field, line, m.Mistakes)
		}
	}
	code, out, _ = execute(t.Context(), "", "config", "check", "-c", path+".missing", "--json")
	if err := json.Unmarshal([]byte(out), &m); err != nil || code != exitUsage || len(m.Mistakes) != 1 {
		t.Errorf("%d %v: %s", code, err, out)
	}
	code, _, errs = execute(t.Context(), "", "config", "check", "-c", path+".missing")
	if code != exitUsage || !strings.Contains(errs, "causeway config init") {
		t.Errorf("exit code %d, said %q", code, errs)
	}
}
