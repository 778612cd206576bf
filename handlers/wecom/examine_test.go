package wecom_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

func factsText(t *testing.T, facts []handlers.Fact) string {
	t.Helper()
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%s: %s", f.Level, f.What)
		for _, more := range []string{f.Detail, f.Do} {
			if more != "" {
				b.WriteString(" | " + more)
			}
		}
		b.WriteString("\n")
		if f.Level != "info" && f.Do == "" {
			t.Errorf("%s without advice", f.What)
		}
	}
	out := b.String()
	for _, h := range []string{secret, "SECRETMARK", "sandbox-", "access_token", corpID, fmt.Sprint(agentID), "member0"} {
		if strings.Contains(out, h) {
			t.Errorf("%q is told:\n%s", h, out)
		}
	}
	return out
}

func TestExamine(t *testing.T) {
	t.Parallel()
	with := wecom.Callbacks{Names: map[string][]string{corpID: {"corp", "corp-2"}}}
	many := make([]string, 50)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}).String()
	}
	for _, tt := range []struct {
		name  string
		cb    wecom.Callbacks
		agent wecomtest.Agent
		ips   []string
		fault sandbox.Fault
		want  []string // parts of it, in order
		not   string
	}{
		{name: "well", cb: with, agent: wecomtest.Agent{Users: 2, Parties: 1, Entering: true}, ips: []string{"203.0.113.9", "198.51.100.0/24", "101.226.103.*"},
			want: []string{"info: the platform takes", "info: the app is visible to members: 2, departments: 1, tags: 0", "info: members who open the app are reported",
				"info: endpoints that take callbacks of this corp: corp, corp-2", "come from: 3", "203.0.113.9, 198.51.100.0/24, 101.226.103.*"}, not: "warning"},
		{name: "seen by nobody, no endpoint", agent: wecomtest.Agent{}, ips: many,
			want: []string{"error: the app is visible to nobody", "set whom it is visible to", "warning: no endpoint takes callbacks", "/webhooks/wecom/NAME",
				"come from: 50", "198.51.100.19 and 30 more"}},
		{name: "hostile addresses", cb: with, agent: wecomtest.Agent{Tags: 1}, ips: []string{"<script>", "1.2.3.4; rm", strings.Repeat("1", 99)},
			want: []string{"tags: 1", "come from: 3"}, not: "script"},
		{name: "no addresses", cb: with, agent: wecomtest.Agent{Tags: 1}, want: []string{"warning: WeCom names no addresses"}},
		{name: "addresses refused", cb: with, agent: wecomtest.Agent{Tags: 1}, fault: sandbox.Fault{Op: sandbox.OpRead, Type: "callbackip", Code: 48002},
			want: []string{"warning: the addresses that callbacks come from could not be read | 48002"}},
		{name: "visibility not told", cb: with, agent: wecomtest.Agent{Tags: 1}, fault: sandbox.Fault{Op: sandbox.OpRead, Type: "agent", Skip: 1, Status: 502},
			want: []string{"info: the platform takes", "warning: who can see the app could not be read | http_502", "come from"}},
		{name: "token refused in between", cb: with, agent: wecomtest.Agent{Tags: 1}, ips: many, fault: sandbox.Fault{Op: sandbox.OpRead, Type: "callbackip", Code: 42001, Next: 1},
			want: []string{"come from"}, not: "warning"},
		{name: "address not trusted", cb: with, agent: wecomtest.Agent{Tags: 1}, fault: sandbox.Fault{Op: sandbox.OpRead, Code: 60020},
			want: []string{"error: the platform refuses", "WeCom sees this machine as 203.0.113.7", "trusted"}, not: "visible"},
		{name: "stopped", cb: with, agent: wecomtest.Agent{Closed: true}, want: []string{"error: the platform refuses", "the app is stopped"}, not: "visible"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t, wecomtest.Options{})
			s.SetAgent(tt.agent)
			s.SetCallbackIPs(tt.ips)
			if tt.fault.Op != "" {
				if _, err := s.Faults().Add(tt.fault); err != nil {
					t.Fatal(err)
				}
			}
			got := factsText(t, wecom.Examine(t.Context(), newSender(t, s.URL(), egress.Options{}, nil), tt.cb))
			rest := got
			for _, w := range tt.want {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Fatalf("%q is missing, or in another order:\n%s", w, got)
				}
				rest = after
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%q is told:\n%s", tt.not, got)
			}
			if n := len(s.Calls()); n != 0 {
				t.Errorf("%d messages were sent", n)
			}
		})
	}
}

// What answers in WeCom's place, or nobody.
func TestExamineReachesNobody(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	c := newSender(t, s.URL(), egress.Options{}, nil)
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	facts := wecom.Examine(t.Context(), c, wecom.Callbacks{})
	if len(facts) != 1 || facts[0].Level != "warning" || !strings.HasPrefix(facts[0].Detail, "refused") {
		t.Errorf("%s", factsText(t, facts))
	}
}
