package wecom_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

func checkTried(t *testing.T, r handlers.Credentials, state handlers.CredentialState, code string) {
	t.Helper()
	if r.State != state || r.Code != code {
		t.Errorf("got %+v, want %s %q", r, state, code)
	}
	if (r.Do == "") != (state == handlers.CredentialsTaken) || (r.Detail == "") != (state == handlers.CredentialsTaken) {
		t.Errorf("advice or meaning is missing: %+v", r)
	}
	for _, h := range []string{secret, "SECRETMARK", "TOKENMARK", "sandbox-", "corpsecret", "access_token="} {
		if strings.Contains(r.Detail+r.Code+r.Do, h) {
			t.Errorf("the result holds %q: %+v", h, r)
		}
	}
}

func trySandbox(t *testing.T, s *wecomtest.Sandbox, c wecom.ClientConfig) *wecom.Client {
	t.Helper()
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	c.APIBase = s.URL()
	return wecom.NewClient(c, e, nil)
}

func TestTryCredentials(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	good := wecom.ClientConfig{CorpID: corpID, AgentID: agentID, Secret: secret}
	const taken, refused, untried = handlers.CredentialsTaken, handlers.CredentialsRefused, handlers.CredentialsUntried
	for _, tt := range []struct {
		name   string
		change func(*wecom.ClientConfig)
		fault  sandbox.Fault
		state  handlers.CredentialState
		code   string
		do     string
	}{
		{name: "good", state: taken},
		{name: "other secret", change: func(c *wecom.ClientConfig) { c.Secret = "SECRETMARK-other" }, state: refused, code: "40001", do: "Secret"},
		{name: "other corp", change: func(c *wecom.ClientConfig) { c.CorpID = "ww0" }, state: refused, code: "40013", do: "corp_id"},
		{name: "other agent", change: func(c *wecom.ClientConfig) { c.AgentID = 7 }, state: refused, code: "301002", do: "agent_id"},
		{name: "address at gettoken", fault: sandbox.Fault{Op: sandbox.OpToken, Code: 60020}, state: refused, code: "60020", do: "trusted"},
		{name: "address", fault: sandbox.Fault{Op: sandbox.OpRead, Code: 60020}, state: refused, code: "60020", do: "trusted"},
		{name: "token refused twice", fault: sandbox.Fault{Op: sandbox.OpRead, Code: 42001}, state: refused, code: "42001", do: "Secret"},
		{name: "token refused once", fault: sandbox.Fault{Op: sandbox.OpRead, Code: 42001, Next: 1}, state: taken},
		{name: "stopped", fault: sandbox.Fault{Op: sandbox.OpRead, Code: 50003}, state: refused, code: "50003", do: "enable"},
		{name: "unknown code", fault: sandbox.Fault{Op: sandbox.OpRead, Code: 777777}, state: refused, code: "777777", do: "list"},
		{name: "unknown code at gettoken", fault: sandbox.Fault{Op: sandbox.OpToken, Code: 777777}, state: refused, code: "777777", do: "list"},
		{name: "busy", fault: sandbox.Fault{Op: sandbox.OpRead, Code: -1}, state: untried, code: "-1", do: "later"},
		{name: "busy at gettoken", fault: sandbox.Fault{Op: sandbox.OpToken, Code: -1}, state: untried, code: "-1", do: "later"},
		{name: "too often", fault: sandbox.Fault{Op: sandbox.OpToken, Code: 45009}, state: untried, code: "45009", do: "later"},
		{name: "page", fault: sandbox.Fault{Op: sandbox.OpRead, Status: 502}, state: untried, code: "http_502", do: "proxy"},
		{name: "page at gettoken", fault: sandbox.Fault{Op: sandbox.OpToken, Status: 502}, state: untried, code: "http_502", do: "proxy"},
		{name: "reset", fault: sandbox.Fault{Op: sandbox.OpRead, Drop: sandbox.DropReset}, state: untried, code: "reset", do: "HTTPS"},
		{name: "reset at gettoken", fault: sandbox.Fault{Op: sandbox.OpToken, Drop: sandbox.DropReset}, state: untried, code: "reset", do: "HTTPS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := good
			if tt.change != nil {
				tt.change(&c)
			}
			if tt.fault.Op != "" {
				if _, err := s.Faults().Add(tt.fault); err != nil {
					t.Fatal(err)
				}
				defer s.Faults().Remove("")
			}
			r := trySandbox(t, s, c).TryCredentials(t.Context())
			checkTried(t, r, tt.state, tt.code)
			if !strings.Contains(r.Do, tt.do) {
				t.Errorf("advice %q", r.Do)
			}
		})
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	checkTried(t, trySandbox(t, s, good).TryCredentials(t.Context()), untried, "refused")
}

// Questions and sends share one token and one flight.
func TestTryCredentialsSharesTheToken(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpToken, DelayMS: 50}); err != nil {
		t.Fatal(err)
	}
	c := newSender(t, s.URL(), egress.Options{}, nil)
	together := func(want int) {
		t.Helper()
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				if n%2 == 0 {
					if r := c.TryCredentials(t.Context()); r.State != handlers.CredentialsTaken {
						t.Errorf("%+v", r)
					}
					return
				}
				if o := c.Send(t.Context(), outgoing(toMember("a"), "x", 1)); o.Kind != gateway.OutcomeAccepted {
					t.Errorf("%+v", o)
				}
			})
		}
		wg.Wait()
		if n := s.TokenCalls(); n != want {
			t.Errorf("%d tokens fetched, want %d", n, want)
		}
	}
	together(1)
	together(1)
	s.RevokeToken()
	together(2) // the refused one is replaced once, whoever found out
}

// A wrong secret is not tried again and again: WeCom would block the address.
func TestTryCredentialsKeepsThePause(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	c := trySandbox(t, s, wecom.ClientConfig{CorpID: corpID, AgentID: agentID, Secret: "SECRETMARK-other"})
	for range 5 {
		checkTried(t, c.TryCredentials(t.Context()), handlers.CredentialsRefused, "40001")
	}
	if n := s.TokenCalls(); n != 1 {
		t.Errorf("a wrong secret was tried %d times", n)
	}
}

// A platform that says nothing is given up with the context, at either call; the
// token's flight is over then, and the next caller fetches for itself.
func TestTryCredentialsGivesUp(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	c := newSender(t, s.URL(), egress.Options{}, nil)
	for _, op := range []string{sandbox.OpToken, sandbox.OpRead} {
		if _, err := s.Faults().Add(sandbox.Fault{Op: op, Drop: sandbox.DropHang}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		checkTried(t, c.TryCredentials(ctx), handlers.CredentialsUntried, "timeout")
		cancel()
		s.Faults().Remove("")
	}
	checkTried(t, c.TryCredentials(t.Context()), handlers.CredentialsTaken, "")
}

// A stopped app, and an answer about another one.
func TestTryCredentialsReadsTheApp(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct {
		state handlers.CredentialState
		code  string
	}{
		`{"errcode":0,"agentid":1000017,"close":1}`: {handlers.CredentialsRefused, "closed"},
		`{"errcode":0,"agentid":1000003,"close":0}`: {handlers.CredentialsUntried, "unreadable"},
		`{}`: {handlers.CredentialsUntried, "unreadable"},
		`{"errcode":40056,"errmsg":"no SECRETMARK-corp of TOKENMARK-1, from ip: 1.2.3.4"}`: {handlers.CredentialsRefused, "40056"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "gettoken") {
				_, _ = w.Write([]byte(`{"errcode":0,"access_token":"TOKENMARK-1","expires_in":7200}`))
				return
			}
			_, _ = w.Write([]byte(answer))
		}))
		checkTried(t, newSender(t, s.URL, egress.Options{}, nil).TryCredentials(t.Context()), want.state, want.code)
		s.Close()
	}
}
