package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

func TestUnreachableGateway(t *testing.T) {
	addr := freePort(t)
	for _, args := range [][]string{
		{"apps"}, {"archive", "ls"}, {"dead", "requeue", sampleDead, sampleDead2}, {"replay", "--sealed"}, {"sums"}, {"adopt", "--yes"},
		{"send", "--account", "a", "--to", "phone:491510000000", "hello"},
	} {
		got := runCommand(t, append(args, "--admin", "http://"+addr, "--token", adminRights)...)
		if got.code != exitUnreachable || got.out != "" {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.out)
		}
		for _, want := range []string{addr, "causeway serve", "--admin", "refused"} {
			if !strings.Contains(got.err, want) {
				t.Errorf("%v: %q does not say %q", args, got.err, want)
			}
		}
		if args[0] == "send" != strings.Contains(got.err, "repeated with --key cli_") || strings.Contains(got.err, "491510000000") {
			t.Errorf("%v: %q", args, got.err)
		}
		if strings.Contains(got.err, adminRights) || strings.Contains(got.err, "/api/v1") {
			t.Errorf("%v: %q says too much", args, got.err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, token string
		err         error
		args        []string
		code        int
		want, never string
	}{
		{name: "no token", args: []string{"apps"}, code: exitUsage, want: "--token"},
		{name: "unknown token", token: "of-another-gateway-00", args: []string{"apps"}, code: exitFailed, want: "does not know this admin token", never: "of-another"},
		{name: "viewer asks the platform", token: viewerToken, args: []string{"doctor", "account", "shop-a"}, code: exitFailed, want: "needs the role operator"},
		{name: "viewer requeues", token: viewerToken, args: []string{"dead", "requeue", sampleDead}, code: exitFailed, want: "needs the role operator"},
		{name: "operator drops", token: operatorToken, args: []string{"dead", "drop", sampleDead, "--reason", "spam"}, code: exitFailed, want: "needs the role admin"},
		{name: "operator releases", token: operatorToken, args: []string{"replay", "release", "run_x"}, code: exitFailed, want: "needs the role admin"},
		{name: "not now", token: adminRights, err: gateway.ErrUnavailable, args: []string{"apps"}, code: exitFailed, want: "try again"},
		{name: "fault", token: adminRights, err: errors.New("the table of secrets"), args: []string{"apps"}, code: exitFailed, want: "HTTP 500", never: "secrets"},
		{name: "moved in part", token: adminRights, err: gateway.ErrUnavailable, code: exitFailed,
			args: []string{"messages", "reschedule", "--key", "june's", "--due-until", "2026-12-01T08:00:00Z", "--limit", "7", "--by", "-1d", "--once", "k 1"},
			want: `this goes on: causeway messages reschedule --due-until 2026-12-01T08:00:00Z --key 'june'\''s' --limit 7 --by -24h0m0s --once 'k 1'`},
		{name: "moved in part, a name of its own", token: adminRights, err: gateway.ErrUnavailable, args: []string{"messages", "set", sampleMessage, "--spread", "2h"}, code: exitFailed,
			want: "causeway messages set " + sampleMessage + " --spread 2h0m0s --once cli_"},
		{name: "no move", token: adminRights, err: gateway.ErrUnavailable, args: []string{"messages", "cancel", "--key", "june"}, code: exitFailed, want: "try again", never: "goes on"},
		{name: "a key of another change", token: adminRights, err: gateway.ErrConflict, args: []string{"messages", "set", sampleMessage, "--spread", "2h"}, code: exitFailed, want: "not possible", never: "goes on"},
		{name: "adopted already", token: adminRights, err: gateway.ErrConflict, args: []string{"adopt", "--yes"}, code: exitFailed, want: "this store's already"},
		{name: "bad state", token: viewerToken, args: []string{"messages", "ls", "--state", "lost"}, code: exitUsage, want: "state must be one of waiting"},
		{name: "bad run", token: operatorToken, args: []string{"replay", "--sealed", "--run", "run_a b"}, code: exitUsage, want: "run must be"},
		{name: "bad application", token: operatorToken, args: []string{"pause", "app", "No/Such?x=1"}, code: exitNotFound, want: "no such path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := sampleAPI()
			api.err = c.err
			s := gatewayUnderTest(t, api)
			t.Chdir(t.TempDir()) // no configuration, no token
			args := append(c.args, "--admin", s.URL)
			if c.token != "" {
				args = append(args, "--token", c.token)
			}
			got := runCommand(t, args...)
			if got.code != c.code || !strings.Contains(got.err, c.want) {
				t.Errorf("%d %q, want %d and %q", got.code, got.err, c.code, c.want)
			}
			if got.out != "" || strings.Count(got.err, "\n") > 0 || (c.never != "" && strings.Contains(got.err, c.never)) {
				t.Errorf("printed %q, %q", got.out, got.err)
			}
		})
	}
}

// TestUsageErrors: what is wrong with a command line is found before the gateway
// is asked.
func TestUsageErrors(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(s.Close)
	for line, want := range map[string]string{
		"pause":                                       "needs one of the commands",
		"pause everything x":                          "is not a command of `causeway pause`",
		"pause app":                                   "accepts 1 arg",
		"apps extra":                                  "unknown command",
		"archive":                                     "needs one of the commands",
		"archive show":                                "accepts 1 arg",
		"archive show ..":                             "not an id",
		"archive ls --since yesterday":                "--since",
		"archive ls --until 25h":                      "--until",
		"rejects readmit":                             "--all",
		"rejects readmit 17 --all":                    "--all",
		"rejects readmit 17 --endpoint meta":          "goes with --all",
		"replay":                                      "exactly one of",
		"replay --sealed --conv x":                    "exactly one of",
		"replay --since -1h":                          "go together",
		"replay --since -1h --until -2h":              "before --until",
		"replay --since -1h --until later":            "--until",
		"replay --payload pl_x --endpoint meta":       "--endpoint goes with",
		"replay --sealed --run mine":                  "run_",
		"replay --sealed --send-replies":              "--send-replies",
		"replay everything":                           "is not a command",
		"dead requeue":                                "--all",
		"dead requeue dl_x --all":                     "not both",
		"dead requeue dl_x --app support":             "go with --all",
		"conv id 123":                                 "required flag",
		"conv id --platform wa --account a 1":         "--kind is needed",
		"conv id --platform wecom --account a ''":     "empty",
		"conv id --platform whatsapp --account a Ann": "not a phone number",
		"conv id --platform wecom --account a --kind telex Ann": "--kind must be",
		"messages ls --limit 0":                                 "--limit",
		"send hello":                                            "required flag",
		"send --account a":                                      "texts or --content",
		"send --account a hello --content x":                    "texts or --content",
		"send --account a --content nowhere":                    "--content",
		"send --account a --to 4915 hello":                      "KIND:NAME",
		"send --account a --to phone:Ann hello":                 "not a phone number",
		"send --account a hello --at tomorrow":                  "--at",
		"send --account a hello --expires 25:00":                "--expires",
		"messages show":                                         "accepts 1 arg",
		"messages cancel":                                       "give the ids",
		"messages cancel ms_1 --key june":                       "not both",
		"messages reschedule ms_1":                              "--at or --by",
		"messages reschedule ms_1 --by soon":                    "--by",
		"messages set ms_1":                                     "give one of",
		"messages set ms_1 --hold --once k":                     "give one of",
		"messages reschedule ms_1 --at +2h --once k":            "--once goes with --by",
		"messages set ms_1 --hold --at +2h":                     "give one of",
		"messages resolve ms_1":                                 "--sent or --send-again",
		"messages ls --due-from tomorrow":                       "--due-from",
		"send --account a --window 9-18 hello":                  "--window",
		"adopt":                                                 "--yes",
		"doctor --nonsense":                                     "unknown flag",
		"doctor account":                                        "accepts 1 arg",
		"doctor nonsense":                                       "unknown command",
		"messages ls --limit x":                                 "invalid argument",
	} {
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		got := runCommand(t, append(args, "--admin", s.URL, "--token", adminRights)...)
		if got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%q: %d %q, want %q", line, got.code, got.err, want)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the gateway was asked %d times", n)
	}
}

// TestUsageLine: arguments that cannot be used are answered with what could be.
func TestUsageLine(t *testing.T) {
	for line, want := range map[string]string{
		"archive show":   "write causeway archive show ID [flags]; causeway archive show --help says more",
		"pause app a b":  "write causeway pause app NAME [flags]",
		"nothing":        "write causeway COMMAND",
		"apps --colours": "write causeway apps [flags]",
	} {
		var errs bytes.Buffer
		code := run(t.Context(), stdio{in: strings.NewReader(""), out: io.Discard, err: &errs}, strings.Fields(line))
		if code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: %d %q, want %q", line, code, errs.String(), want)
		}
	}
}

// TestStrangers: something else answers at the address.
func TestStrangers(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"page":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"not here": http.NotFound,
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) },
		"proxy":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) },
	} {
		s := httptest.NewServer(answer)
		got := runCommand(t, "apps", "--admin", s.URL, "--token", adminRights)
		s.Close()
		if got.code != exitFailed || got.out != "" || !strings.Contains(got.err, "not the admin API") {
			t.Errorf("%s: %d %q %q", name, got.code, got.out, got.err)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"apps": "many"}`)) }))
	t.Cleanup(s.Close)
	got := runCommand(t, "apps", "--admin", s.URL, "--token", adminRights)
	if got.code != exitFailed || !strings.Contains(got.err, "another shape") {
		t.Errorf("another shape: %d %q", got.code, got.err)
	}
	if got := runCommand(t, "apps", "--json", "--admin", s.URL, "--token", adminRights); got.code != exitOK || !strings.Contains(got.out, "many") {
		t.Errorf("another shape with --json: %d %q %q", got.code, got.out, got.err)
	}
}

// TestInterrupted: Ctrl-C while the gateway works is not "unreachable".
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the end of a connection is seen once the body is read
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	got := runCommandIn(ctx, "replay", "--sealed", "--admin", s.URL, "--token", adminRights)
	if got.code != exitFailed || !strings.Contains(got.err, "may still be done") {
		t.Errorf("%d %q", got.code, got.err)
	}
}

// TestIDsAreEscaped: whatever an id holds, it stays one element of the path.
func TestIDsAreEscaped(t *testing.T) {
	var path string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.RequestURI
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	for id, want := range map[string]string{
		"../../etc/passwd": "/base/api/v1/dead/..%2F..%2Fetc%2Fpasswd",
		"a?b=c#d":          "/base/api/v1/dead/a%3Fb=c%23d",
		"a b%2e":           "/base/api/v1/dead/a%20b%252e",
		"企":                "/base/api/v1/dead/%E4%BC%81",
	} {
		if got := runCommand(t, "dead", "show", id, "--admin", s.URL+"/base/", "--token", adminRights); got.code != exitOK || path != want {
			t.Errorf("%q asked %s, want %s (%d %s)", id, path, want, got.code, got.err)
		}
	}
}

// TestEveryCommandHelps: each command that does something says what, with an example.
func TestEveryCommandHelps(t *testing.T) {
	everyCommand(func(words []string, cmd *cobra.Command) {
		line := strings.Join(words, " ")
		got := runCommand(t, append(words, "--help")...)
		if got.code != exitOK || !strings.Contains(got.out, cmd.Short) && !strings.Contains(got.out, cmd.Long) {
			t.Errorf("%s --help: %d\n%s", line, got.code, got.out)
		}
		if !cmd.HasSubCommands() && !strings.Contains(cmd.Example, "causeway "+line) {
			t.Errorf("%s has no example: %q", line, cmd.Example)
		}
	})
}
