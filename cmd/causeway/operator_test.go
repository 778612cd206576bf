package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

//nolint:gochecknoglobals // a flag of the test binary
var updateOperator = flag.Bool("update-operator", false, "write the golden files of the operator commands")

// TestOperatorCommands runs every command against the real admin router and
// compares what a person sees with testdata/operator.
func TestOperatorCommands(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		code  int
		deeds []string
	}{
		{name: "apps", args: []string{"apps"}},
		{name: "tail", args: []string{"tail", "--account", "shop-a"}, code: exitUnreachable},
		{name: "archive-ls", args: []string{"archive", "ls"}},
		{name: "archive-ls-more", args: []string{"archive", "ls", "--limit", "1"}},
		{name: "archive-ls-none", args: []string{"archive", "ls", "--endpoint", "nowhere"}},
		{name: "archive-show", args: []string{"archive", "show", samplePayloadID}},
		{name: "archive-show-sealed", args: []string{"archive", "show", sampleSealedID}},
		{name: "rejects-ls", args: []string{"rejects", "ls"}},
		{name: "rejects-show", args: []string{"rejects", "show", "18"}},
		{name: "rejects-readmit", args: []string{"rejects", "readmit", "17"}, deeds: []string{"readmit 17 by root"}},
		{name: "rejects-readmit-refused", args: []string{"rejects", "readmit", "18"}, code: exitFailed},
		{name: "rejects-readmit-all", args: []string{"rejects", "readmit", "--all", "--endpoint", "meta"}, deeds: []string{`readmit all of "meta" by root`}},
		{name: "replay-payload", args: []string{"replay", "--payload", samplePayloadID, "--run", "run_fix"}, deeds: []string{"replay run_fix by root"}},
		{name: "replay-sealed", args: []string{"replay", "--sealed", "--endpoint", "corp"}, deeds: []string{"replay run_01K2F0000000000000000000AA by root"}},
		{name: "replay-send", args: []string{"replay", "--conv", sampleConv, "--send-replies"}, deeds: []string{"replay run_01K2F0000000000000000000AA by root"}},
		{name: "replay-release-unknown", args: []string{"replay", "release", "run_other"}, code: exitNotFound},
		{name: "dead-ls", args: []string{"dead", "ls"}},
		{name: "dead-show", args: []string{"dead", "show", sampleDead}},
		{name: "dead-show-item", args: []string{"dead", "show", sampleDead2}},
		{name: "dead-requeue", args: []string{"dead", "requeue", sampleDead}, deeds: []string{"requeued " + sampleDead + " by root"}},
		{name: "dead-requeue-some", args: []string{"dead", "requeue", sampleDead2, sampleDead}, code: exitFailed, deeds: []string{"requeued " + sampleDead + " by root"}},
		{name: "dead-requeue-all", args: []string{"dead", "requeue", "--all", "--reason", "no_account"}, deeds: []string{"requeue all by root"}},
		{name: "dead-requeue-dry", args: []string{"dead", "requeue", "--all", "--app", "support", "--limit", "10", "--dry-run"}},
		{name: "dead-stats", args: []string{"dead", "stats"}},
		{name: "dead-drop", args: []string{"dead", "drop", sampleDead, "--reason", "a test"}, deeds: []string{"dropped " + sampleDead + " by root because a test"}},
		{name: "dead-drop-again", args: []string{"dead", "drop", sampleDead2, "--reason", "a test"}, code: exitFailed},
		{name: "dead-drop-why", args: []string{"dead", "drop", "--all", "--app", "support"}, code: exitUsage},
		{name: "dead-drop-all", args: []string{"dead", "drop", "--all", "--dead-reason", "stale", "--reason", "nobody waits"}, deeds: []string{"drop all by root because nobody waits"}},
		{name: "dead-drop-dry", args: []string{"dead", "drop", "--all", "--dry-run"}},
		{name: "pause", args: []string{"pause", "app", "support"}, deeds: []string{"pause app support by root"}},
		{name: "resume", args: []string{"resume", "app", "faq"}, deeds: []string{"resume app faq by root"}},
		{name: "pause-account", args: []string{"pause", "account", "shop-a"}, deeds: []string{"pause account shop-a by root"}},
		{name: "resume-conversation", args: []string{"resume", "conversation", sampleConv}, deeds: []string{"resume conversation " + sampleConv + " by root"}},
		{name: "pause-replies", args: []string{"pause", "replies", "all"}, deeds: []string{"pause replies all by root"}},
		{name: "conv-unanswered", args: []string{"conv", "unanswered"}},
		{name: "pause-ls", args: []string{"pause", "ls"}},
		{name: "pause-unknown", args: []string{"pause", "app", "nobody"}, code: exitNotFound},
		{name: "conv-id", args: []string{"conv", "id", "--platform", "whatsapp", "--account", "shop-a", "+49 (151) 000-0000"}},
		{name: "conv-id-unknown", args: []string{"conv", "id", "--platform", "wecom", "--account", "corp-a", "ZhangSan"}, code: exitNotFound},
		{name: "conv-show", args: []string{"conv", "show", sampleConv}},
		{name: "conv-timeline", args: []string{"conv", "show", sampleConv, "--timeline"}},
		{name: "conv-orders", args: []string{"conv", "show", sampleConv, "--orders", "--app", "support"}},
		{name: "conv-ls-hot", args: []string{"conv", "ls", "--hot"}},
		{name: "conv-ls-waiting", args: []string{"conv", "ls", "--waiting", "--app", "support"}},
		{name: "conv-ls-unanswered", args: []string{"conv", "ls", "--unanswered"}},
		{name: "conv-ls-which", args: []string{"conv", "ls"}, code: exitUsage},
		{name: "conv-release", args: []string{"conv", "release", sampleConv, "--send"}, deeds: []string{"release " + sampleConv + " send by root"}},
		{name: "conv-release-unknown", args: []string{"conv", "release", strings.Repeat("a", 26)}, code: exitNotFound},
		{name: "messages-ls", args: []string{"messages", "ls"}},
		{name: "messages-ls-none", args: []string{"messages", "ls", "--state", "held"}},
		{name: "messages-ls-more", args: []string{"messages", "ls", "--account", "shop-a", "--limit", "1"}},
		{name: "messages-cancel-many", args: []string{"messages", "cancel", "--key", "june"}, deeds: []string{"cancel [] june at  by 0s over 0s priority 0 by root"}},
		{name: "messages-cancel-dry", args: []string{"messages", "cancel", "--key", "june", "--dry-run"}},
		{name: "messages-cancel-all", args: []string{"messages", "cancel"}, code: exitUsage},
		{name: "messages-reschedule", args: []string{"messages", "reschedule", sampleMessage, "--at", "2026-12-01T08:00:00Z"}, deeds: []string{"reschedule [" + sampleMessage + "]  at 2026-12-01T08:00:00Z by 0s over 0s priority 0 by root"}},
		{name: "messages-reschedule-late", args: []string{"messages", "reschedule", "ms_01K2F0000000000000000000ZZ", "--by", "-1d"}, code: exitFailed},
		{name: "messages-set-priority", args: []string{"messages", "set", "--account", "shop-a", "--priority", "0"}, deeds: []string{"priority [] shop-a at  by 0s over 0s priority 0 by root"}},
		{name: "messages-set-spread", args: []string{"messages", "set", "--account", "shop-a", "--spread", "2h"}, deeds: []string{"reschedule [] shop-a at  by 0s over 2h0m0s priority 0 by root"}},
		{name: "messages-set-hold", args: []string{"messages", "set", "--account", "shop-a", "--hold"}, deeds: []string{"hold [] shop-a at  by 0s over 0s priority 0 by root"}},
		{name: "messages-set-two", args: []string{"messages", "set", "--account", "shop-a", "--hold", "--release"}, code: exitUsage},
		{name: "messages-resolve", args: []string{"messages", "resolve", sampleMessage, "--send-again", "--rest"}, deeds: []string{"resolved " + sampleMessage + " again true rest true by root"}},
		{name: "messages-resolve-late", args: []string{"messages", "resolve", "ms_01K2F0000000000000000000ZZ", "--sent"}, code: exitFailed},
		{name: "messages-show", args: []string{"messages", "show", sampleMessage}},
		{name: "messages-show-unknown", args: []string{"messages", "show", "ms_01K2F0000000000000000000ZZ"}, code: exitNotFound},
		{name: "messages-cancel", args: []string{"messages", "cancel", sampleMessage}, deeds: []string{"cancelled " + sampleMessage + " by root"}},
		{name: "messages-cancel-late", args: []string{"messages", "cancel", "ms_01K2F0000000000000000000ZZ"}, code: exitFailed},
		{name: "send", args: []string{"send", "--account", "shop-a", "--to", "phone:+49 151 0000000", "one", "two"},
			deeds: []string{`sent 2 to "" [{phone 491510000000  false}] of shop-a by root`}},
		{name: "send-conv", args: []string{"send", "--account", "shop-a", "--conv", sampleConv, "--content", "testdata/send/parts.json"},
			deeds: []string{`sent 2 to "` + sampleConv + `" [] of shop-a by root`}},
		{name: "send-bad", args: []string{"send", "--account", "Shop", "--to", "fax:1", "--key", "ä", "--content", "testdata/send/bad.json"}, code: exitUsage},
		{name: "sums", args: []string{"sums"}},
		{name: "sums-quick", args: []string{"sums", "--quick"}},
		{name: "doctor", args: []string{"doctor"}, code: exitFailed},
		{name: "doctor-account", args: []string{"doctor", "account", "shop-a"}, code: exitFailed},
		{name: "doctor-account-unknown", args: []string{"doctor", "account", "nobody"}, code: exitNotFound},
		{name: "accounts-ls", args: []string{"accounts", "ls"}},
		{name: "accounts-show", args: []string{"accounts", "show", "shop-a"}},
		{name: "accounts-show-unknown", args: []string{"accounts", "show", "nobody"}, code: exitNotFound},
		{name: "accounts-resume", args: []string{"accounts", "resume", "shop-a"}, deeds: []string{"account shop-a resumed by root"}},
		{name: "adopt-asks", args: []string{"adopt"}, code: exitUsage},
		{name: "conv-show-unknown", args: []string{"conv", "show", strings.Repeat("a", 26)}, code: exitNotFound},
		{name: "dead-show-unknown", args: []string{"dead", "show", "dl_01K2F0000000000000000000ZZ"}, code: exitNotFound},
		{name: "archive-show-bad-id", args: []string{"archive", "show", "../../etc/passwd"}, code: exitNotFound},
		{name: "archive-show-no-id", args: []string{"archive", "show", "nonsense"}, code: exitUsage},
		{name: "archive-ls-bad", args: []string{"archive", "ls", "--endpoint", "NO", "--limit", "-3"}, code: exitUsage},
		{name: "adopt", args: []string{"adopt", "--yes"}, deeds: []string{"adopt by root"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := sampleAPI()
			s := gatewayUnderTest(t, api)
			got := runCommand(t, append(c.args, "--admin", s.URL, "--token", adminRights)...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d; %s", got.code, c.code, got.err)
			}
			if diff := cmp.Diff(c.deeds, api.deeds); diff != "" {
				t.Errorf("deeds (-want +got):\n%s", diff)
			}
			golden(t, c.name, "$ causeway "+strings.Join(c.args, " ")+"\n"+got.out+stderrOf(got))
			for i, line := range strings.Split(got.out, "\n") {
				if n := len([]rune(line)); n > screenWidth {
					t.Errorf("line %d is %d characters wide: %s", i, n, line)
				}
			}
			if strings.Contains(got.out+got.err, "\x1b") || strings.Contains(got.out+got.err, adminRights) || strings.Contains(got.out, "SECRET TEXT") {
				t.Errorf("a control character, the token or a text is shown:\n%s%s", got.out, got.err)
			}
		})
	}
}

func stderrOf(r ran) string {
	if r.err == "" {
		return ""
	}
	return "--- standard error\n" + strings.TrimRight(r.err, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "operator", name+".txt")
	if *updateOperator {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestJSONIsTheAnswer: --json prints valid JSON that equals the API's answer.
func TestJSONIsTheAnswer(t *testing.T) {
	s := gatewayUnderTest(t, sampleAPI())
	for _, args := range [][]string{
		{"apps"}, {"archive", "ls"}, {"archive", "show", samplePayloadID}, {"rejects", "ls"}, {"rejects", "show", "17"},
		{"rejects", "readmit", "17"}, {"replay", "--sealed"}, {"dead", "ls"}, {"dead", "show", sampleDead}, {"dead", "requeue", sampleDead},
		{"pause", "app", "support"}, {"conv", "show", sampleConv}, {"conv", "release", sampleConv}, {"messages", "ls"}, {"messages", "show", sampleMessage}, {"messages", "cancel", sampleMessage},
		{"send", "--account", "a", "text"}, {"sums"}, {"doctor"}, {"doctor", "account", "shop-a"}, {"adopt", "--yes"},
	} {
		got := runCommand(t, append(args, "--json", "--admin", s.URL, "--token", adminRights)...)
		var v map[string]any
		if err := json.Unmarshal([]byte(got.out), &v); err != nil || len(v) == 0 {
			t.Errorf("%v: not a JSON object (%v): %s%s", args, err, got.out, got.err)
		}
	}
	got := runCommand(t, "dead", "show", sampleDead, "--json", "--admin", s.URL, "--token", viewerToken)
	var d gateway.DeadLetter
	if err := json.Unmarshal([]byte(got.out), &d); err != nil || d.ID != sampleDead || d.Tries != 4 {
		t.Errorf("dead show --json = %s (%v)", got.out, err)
	}
}

// TestRawBody: the bytes come out as they are, with nothing around them, and the
// reading is in the audit.
func TestRawBody(t *testing.T) {
	for path, args := range map[string][]string{
		"audit read payload body " + samplePayloadID + " by ops": {"archive", "show", samplePayloadID},
		"audit read reject body 17 by ops":                       {"rejects", "show", "17"},
	} {
		api := sampleAPI()
		s := gatewayUnderTest(t, api)
		got := runCommand(t, append(args, "--body", "--admin", s.URL, "--token", operatorToken)...)
		if got.code != exitOK || got.out != sampleBody {
			t.Errorf("%v --body: %d %q %s", args, got.code, got.out, got.err)
		}
		if !slices.Contains(api.deeds, path) {
			t.Errorf("%v --body: deeds %q", args, api.deeds)
		}
		got = runCommand(t, append(args, "--body", "--json", "--admin", s.URL, "--token", operatorToken)...)
		var v struct{ Body []byte }
		if err := json.Unmarshal([]byte(got.out), &v); err != nil || string(v.Body) != sampleBody {
			t.Errorf("%v --body --json: %v %s", args, err, got.out)
		}
		got = runCommand(t, append(args, "--body", "--admin", s.URL, "--token", viewerToken)...)
		if got.code != exitFailed || got.out != "" || !strings.Contains(got.err, "operator") {
			t.Errorf("a viewer reads %v --body: %d %q %s", args, got.code, got.out, got.err)
		}
	}
}

// TestWhatIsAsked: flags reach the API as what they mean.
func TestWhatIsAsked(t *testing.T) {
	api := sampleAPI()
	s := gatewayUnderTest(t, api)
	do := func(args ...string) {
		t.Helper()
		if got := runCommand(t, append(args, "--admin", s.URL, "--token", adminRights)...); got.code != exitOK {
			t.Fatalf("%v: %d %s", args, got.code, got.err)
		}
	}
	begin := time.Now()
	do("archive", "ls", "--endpoint", "meta", "--since", "-30m", "--until", "2099-01-01", "--before", sampleSealedID, "--limit", "7")
	q := api.query
	if ago := begin.Sub(q.Since); ago > 30*time.Minute || ago < 29*time.Minute {
		t.Errorf("--since -30m is %v", q.Since)
	}
	if q.Endpoint != "meta" || q.Limit != 7 || q.Before != 43 || !q.Until.Equal(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("query %+v", q)
	}
	do("dead", "ls", "--app", "support", "--account", "shop-a", "--platform", "whatsapp", "--conv", sampleConv, "--kind", "event", "--state", "dropped",
		"--reason", "tries", "--since", "2026-07-01", "--until", "2026-07-02", "--before", sampleDead, "--limit", "9")
	wantDead := store.DeadQuery{App: "support", Account: "shop-a", Platform: "whatsapp", Conv: sampleConv, Kind: "event", State: "dropped", Reason: "tries",
		Since: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 7, 2, 0, 0, 0, 0, time.UTC), Before: sampleDead, Limit: 9}
	if diff := cmp.Diff(wantDead, api.deadQ); diff != "" {
		t.Errorf("dead query (-want +got):\n%s", diff)
	}
	do("replay", "--since", "2026-07-01", "--until", "2026-07-02T00:00:00+08:00", "--endpoint", "meta", "--run", "run_r", "--send-replies")
	want := admin.ReplayRequest{Run: "run_r", Endpoint: "meta", SendReplies: true}
	since, until := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 16, 0, 0, 0, time.UTC)
	want.Since, want.Until = &since, &until
	if diff := cmp.Diff(want, api.runs["run_r"]); diff != "" {
		t.Errorf("replay request (-want +got):\n%s", diff)
	}
	again := runCommand(t, "replay", "--payload", samplePayloadID, "--run", "run_r", "--admin", s.URL, "--token", adminRights)
	if again.code != exitOK || !strings.Contains(again.out, "was started before") {
		t.Errorf("the same run again: %d %s%s", again.code, again.out, again.err)
	}
	do("replay", "release", "run_r")
	do("conv", "id", "--platform", "whatsapp", "--account", "shop-a", "--kind", "bsuid", "DE.1234567890")
	if api.identity != (gateway.Identity{Kind: "bsuid", Value: "DE.1234567890"}) {
		t.Errorf("identity %+v", api.identity)
	}
	for typed, want := range map[[2]string]gateway.Identity{ // as send --to has it; "S" is the vendor's
		{"whatsapp", "phone:+49 151 000"}: {Kind: "phone", Value: "49151000"}, {"whatsapp", "group:G1"}: {Kind: "group", Value: "G1"},
		{"unified", "S:1688_7881"}: {Kind: "conversation", Value: "S:1688_7881"},
	} {
		runCommand(t, "conv", "id", "--platform", typed[0], "--account", "shop-a", typed[1], "--admin", s.URL, "--token", adminRights)
		if api.identity != want {
			t.Errorf("%s: identity %+v", typed, api.identity)
		}
	}
}

// TestBrokenSums: an equation that does not hold is named, and the exit code says
// so, also in JSON.
func TestBrokenSums(t *testing.T) {
	for name, breakIt := range map[string]func(*memoryAPI){
		"kept":      func(m *memoryAPI) { m.kept.Items.Events-- },
		"recounted": func(m *memoryAPI) { m.recounted.Messages.Taken++ },
	} {
		api := sampleAPI()
		breakIt(api)
		s := gatewayUnderTest(t, api)
		for _, extra := range [][]string{nil, {"--json"}} {
			got := runCommand(t, append([]string{"sums", "--admin", s.URL, "--token", viewerToken}, extra...)...)
			if got.code != exitFailed || !strings.Contains(got.err, "does not hold: "+name) {
				t.Errorf("%s broken: %d %s", name, got.code, got.err)
			}
			if len(extra) == 0 && !strings.Contains(got.out, "BROKEN") {
				t.Errorf("%s broken: %s", name, got.out)
			}
		}
	}
	api := sampleAPI()
	api.recounted.Payloads.Archived++
	api.recounted.Payloads.Pending++
	s := gatewayUnderTest(t, api)
	got := runCommand(t, "sums", "--admin", s.URL, "--token", viewerToken)
	if got.code != exitOK || !strings.Contains(got.out, "differs by what moved") {
		t.Errorf("moved meanwhile: %d %s%s", got.code, got.out, got.err)
	}
}
