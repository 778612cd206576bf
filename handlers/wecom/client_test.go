package wecom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

const (
	corpID  = "ww1a2b3c4d5e6f7a8b"
	agentID = 1000017
	secret  = "SECRETMARK-corp"
)

// movable is a clock that tests move.
type movable struct {
	mu sync.Mutex
	t  time.Time
}

func (m *movable) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.t
}

func (m *movable) move(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.t = m.t.Add(d)
}

func newSender(t *testing.T, base string, o egress.Options, now func() time.Time) *wecom.Client {
	t.Helper()
	e := egress.New(o)
	t.Cleanup(e.Close)
	return wecom.NewClient(wecom.ClientConfig{APIBase: base, CorpID: corpID, AgentID: agentID, Secret: secret}, e, now)
}

func startSandbox(t *testing.T, o wecomtest.Options) *wecomtest.Sandbox {
	t.Helper()
	o.CorpID, o.AgentID, o.Secret = corpID, agentID, secret
	o.Token, o.EncodingAESKey = "tok", "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
	s, err := wecomtest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func toMember(userID string) []gateway.Identity {
	return []gateway.Identity{{Kind: "userid", Value: strings.ToLower(userID), As: userID}}
}

func outgoing(to []gateway.Identity, text string, attempt int) gateway.Outgoing {
	return gateway.Outgoing{Message: gateway.Message{
		ID: "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA", Reply: gateway.Reply{Type: "text", Text: text}, To: to, Attempts: attempt,
	}}
}

// api is a WeCom whose token and answers a test writes.
type api struct {
	*httptest.Server
	mu     sync.Mutex
	tokens int
	bodies []string
	urls   []string
}

// newAPI answers gettoken with T1, T2 ... and message/send by answer.
func newAPI(t *testing.T, answer func(n int, w http.ResponseWriter)) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		if r.URL.Path == "/cgi-bin/gettoken" {
			a.tokens++
			_, _ = fmt.Fprintf(w, `{"errcode":0,"errmsg":"ok","access_token":"TOKENMARK-%d","expires_in":7200}`, a.tokens)
			a.mu.Unlock()
			return
		}
		a.bodies, a.urls = append(a.bodies, string(body)), append(a.urls, r.Method+" "+r.URL.RequestURI())
		n := len(a.bodies)
		a.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(a.Close)
	return a
}

func says(status int, header http.Header, body string) func(int, http.ResponseWriter) {
	return func(_ int, w http.ResponseWriter) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// checkQuiet fails when an outcome tells a secret, the text or the member.
func checkQuiet(t *testing.T, o gateway.Outcome, hidden ...string) {
	t.Helper()
	for _, h := range append(hidden, secret, "TOKENMARK", "access_token", "corpsecret") {
		if strings.Contains(o.Detail, h) || strings.Contains(o.Code, h) {
			t.Errorf("the outcome holds %q: %+v", h, o)
		}
	}
}

func TestSendRequest(t *testing.T) {
	t.Parallel()
	a := newAPI(t, says(200, nil, `{"errcode":0,"errmsg":"ok","msgid":"M1"}`))
	o := newSender(t, a.URL+"/", egress.Options{}, nil).Send(t.Context(), outgoing(toMember("LinXiaoyu"), `<a href="x">&好</a>`, 1))
	if d := cmp.Diff(gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "M1"}, o); d != "" {
		t.Error(d)
	}
	want := `{"touser":"LinXiaoyu","agentid":1000017,"msgtype":"text","text":{"content":"<a href=\"x\">&好</a>"},"safe":0,"enable_id_trans":0,"enable_duplicate_check":0}`
	if a.bodies[0] != want || a.urls[0] != "POST /cgi-bin/message/send?access_token=TOKENMARK-1" {
		t.Errorf("got %s\n%s", a.urls[0], a.bodies[0])
	}
}

func TestRefusedByUs(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a call was made") }))
	defer s.Close()
	c := newSender(t, s.URL, egress.Options{}, nil)
	for _, tt := range []struct {
		code string
		out  gateway.Outgoing
	}{
		{"too_long", outgoing(toMember("a"), strings.Repeat("好", 683), 1)},
		{"empty", outgoing(toMember("a"), "", 1)},
		{"no_recipient", outgoing([]gateway.Identity{{Kind: "phone", Value: "1"}}, "x", 1)},
		{"bad_recipient", outgoing(toMember("@all"), "x", 1)},
		{"bad_recipient", outgoing(toMember("a|b"), "x", 1)},
	} {
		if o := c.Send(t.Context(), tt.out); o.Kind != gateway.OutcomeRejected || o.Code != tt.code {
			t.Errorf("%s: got %+v", tt.code, o)
		}
	}
}

// Every code of the table, with the token, the text and the member played back.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	const text, member = "the whole text of it", "LinXiaoyu"
	for _, code := range wecom.Codes() {
		for _, attempt := range []int{1, 9} {
			a := newAPI(t, func(n int, w http.ResponseWriter) { // call n uses token n
				_, _ = fmt.Fprintf(w, `{"errcode":%d,"errmsg":"about %s to %s by TOKENMARK-%d %s, from ip: 1.2.3.4"}`, code.Code, text, member, n, secret)
			})
			o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), outgoing(toMember(member), text, attempt))
			checkQuiet(t, o, text, member)
			if o.Code != strconv.Itoa(code.Code) || !strings.Contains(o.Detail, code.Meaning) {
				t.Errorf("%d: code %q detail %q", code.Code, o.Code, o.Detail)
			}
			var want gateway.Outcome
			sends := 1
			switch code.Class {
			case wecom.ClassBusy:
				want = gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, After: code.Wait}
				switch {
				case code.Tries > 0 && attempt >= code.Tries:
					want = gateway.Outcome{Kind: gateway.OutcomeRejected}
				case attempt == 9:
					want.After = time.Minute
				}
			case wecom.ClassRate:
				want = gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, After: code.Wait}
			case wecom.ClassToken:
				sends = 2
				want = gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, After: 30 * time.Second}
			case wecom.ClassCredential, wecom.ClassPolicy:
				want = gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, After: 30 * time.Second}
			case wecom.ClassNotNow, wecom.ClassPermanent:
				want = gateway.Outcome{Kind: gateway.OutcomeRejected}
			default:
				t.Fatalf("%d: class %q", code.Code, code.Class)
			}
			if o.Kind != want.Kind || o.Scope != want.Scope || o.After != want.After || len(a.bodies) != sends || a.tokens != sends {
				t.Errorf("%d, attempt %d: got %+v after %d calls and %d tokens, want %+v after %d", code.Code, attempt, o, len(a.bodies), a.tokens, want, sends)
			}
		}
	}
}

// Attempts that were refused for the whole account do not count towards the bound
// of class busy, nor towards its growing wait.
func TestSparedAttemptsAreNoTries(t *testing.T) {
	t.Parallel()
	for _, code := range wecom.Codes() {
		if code.Class != wecom.ClassBusy {
			continue
		}
		a := newAPI(t, says(200, nil, fmt.Sprintf(`{"errcode":%d}`, code.Code)))
		c := newSender(t, a.URL, egress.Options{}, nil)
		out := outgoing(toMember("LinXiaoyu"), "x", 100)
		out.Message.Spared = 99
		want := gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, After: code.Wait}
		if o := c.Send(t.Context(), out); o.Kind != want.Kind || o.Scope != want.Scope || o.After != want.After {
			t.Errorf("%d, the first try: %+v, want %+v", code.Code, o, want)
		}
		out.Message.Spared = 100 - code.Tries
		if o := c.Send(t.Context(), out); code.Tries > 0 && o.Kind != gateway.OutcomeRejected {
			t.Errorf("%d, try %d: %+v", code.Code, code.Tries, o)
		}
	}
}

func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	type want = gateway.Outcome
	account := func(code string, after time.Duration, why gateway.Blame) want {
		return want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: code, After: after, Blame: why}
	}
	tests := []struct {
		name    string
		attempt int
		status  int
		header  http.Header
		body    string
		want    want
	}{
		{"500", 1, 500, nil, "", want{Kind: gateway.OutcomeUnknown, Code: "http_500"}},
		{"502 with errcode 0", 1, 502, nil, `{"errcode":0,"msgid":"m"}`, want{Kind: gateway.OutcomeUnknown, Code: "http_502"}},
		{"500 with an errcode", 1, 500, nil, `{"errcode":81013}`, want{Kind: gateway.OutcomeRejected, Code: "81013"}},
		{"200 that cannot be read", 1, 200, nil, "<html>", want{Kind: gateway.OutcomeUnknown, Code: "unreadable"}},
		{"200 without errcode", 1, 200, nil, `{"errmsg":"ok"}`, want{Kind: gateway.OutcomeUnknown, Code: "unreadable"}},
		{"408", 1, 408, nil, "", want{Kind: gateway.OutcomeUnknown, Code: "http_408"}},
		{"unknown code, first", 1, 200, nil, `{"errcode":777777}`, want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "other", Tries: 2, After: time.Second}},
		{"unknown code, second", 2, 200, nil, `{"errcode":777777}`, want{Kind: gateway.OutcomeRejected, Code: "other"}},
		{"busy, second", 2, 200, nil, `{"errcode":-1}`, want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "-1", Tries: 3, After: 2 * time.Second}},
		{"busy, third", 3, 200, nil, `{"errcode":-1}`, want{Kind: gateway.OutcomeRejected, Code: "-1"}},
		{"429 of a proxy", 1, 429, http.Header{"Retry-After": {"9"}}, "", account("http_429", 9*time.Second, gateway.BlamePace)},
		{"redirect", 1, 302, http.Header{"Location": {"/x"}}, "", account("http_302", 30*time.Second, gateway.BlameReach)},
		{"404", 1, 404, nil, "", account("http_404", 30*time.Second, gateway.BlameReach)},
		{"413", 1, 413, nil, "", want{Kind: gateway.OutcomeRejected, Code: "http_413"}},
		{"our member is invalid", 1, 200, nil, `{"errcode":0,"errmsg":"ok","invaliduser":"linxiaoyu","msgid":"m"}`, want{Kind: gateway.OutcomeRejected, Code: "invaliduser"}},
		{"no license", 1, 200, nil, `{"errcode":0,"errmsg":"ok","unlicenseduser":"linxiaoyu","msgid":"m"}`, want{Kind: gateway.OutcomeRejected, Code: "unlicenseduser"}},
		{"our member in a list", 1, 200, nil, `{"errcode":0,"errmsg":"ok","invaliduser":["linxiaoyu"]}`, want{Kind: gateway.OutcomeRejected, Code: "invaliduser"}},
		{"nobody in a list", 1, 200, nil, `{"errcode":0,"errmsg":"ok","invaliduser":[]}`, want{Kind: gateway.OutcomeAccepted}},
		{"another's department", 1, 200, nil, `{"errcode":0,"errmsg":"ok","invalidparty":"7","invalidtag":"8","msgid":"m"}`, want{Kind: gateway.OutcomeAccepted, ExternalID: "m"}},
		{"taken", 1, 200, nil, `{"errcode":0,"errmsg":"ok","invaliduser":"","msgid":"m"}`, want{Kind: gateway.OutcomeAccepted, ExternalID: "m"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, says(tt.status, tt.header, tt.body))
			o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), outgoing(toMember("LinXiaoyu"), "x", tt.attempt))
			o.Detail = ""
			if d := cmp.Diff(tt.want, o); d != "" {
				t.Error(d)
			}
		})
	}
	warned := newAPI(t, says(200, nil, `{"errcode":0,"errmsg":"ok. Warning: wrong json format.","msgid":"m"}`))
	if o := newSender(t, warned.URL, egress.Options{}, nil).Send(t.Context(), outgoing(toMember("a"), "x", 1)); o.Kind != gateway.OutcomeAccepted || o.Detail == "" {
		t.Errorf("a warning: %+v", o)
	}
}

// Answers lost on the way: unknown when the request may have arrived, retry when
// it certainly did not; and no URL in any detail.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	for _, f := range []sandbox.Fault{
		{Text: "t1", Stage: sandbox.After, Drop: sandbox.DropHang},
		{Text: "t2", Stage: sandbox.After, Drop: sandbox.DropReset},
		{Text: "t4", Stage: sandbox.Before, Status: 500},
	} {
		if _, err := s.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
	}
	c := newSender(t, s.URL(), egress.Options{}, nil)
	impatient := newSender(t, s.URL(), egress.Options{Timeout: 2 * time.Second}, nil)
	send := func(text string, ctx context.Context) gateway.Outcome {
		sender := c
		if strings.HasSuffix(text, "-hang") {
			sender = impatient
		}
		o := sender.Send(ctx, outgoing(toMember("LinXiaoyu"), text, 1))
		checkQuiet(t, o, "LinXiaoyu", text)
		return o
	}
	for text, code := range map[string]string{"t1-hang": "timeout", "t2-reset": "reset", "t4-500": "http_500"} {
		if o := send(text, t.Context()); o.Kind != gateway.OutcomeUnknown || o.Code != code {
			t.Errorf("%s: got %+v", text, o)
		}
	}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	if o := send("t3-refused", t.Context()); o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.Code != "refused" || o.After != time.Second {
		t.Errorf("refused: %+v", o)
	}
	fresh := newSender(t, s.URL(), egress.Options{}, nil)
	if o := fresh.Send(t.Context(), outgoing(toMember("a"), "x", 1)); o.Kind != gateway.OutcomeRetry || o.Code != "token_refused" || o.After != time.Second {
		t.Errorf("no token: %+v", o)
	} else {
		checkQuiet(t, o)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	if o := send("t3-again", t.Context()); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("after the server came back: %+v", o)
	}
	late := outgoing(toMember("a"), "t7", 1)
	late.VoidAfter = time.Now().Add(-time.Second)
	if o := c.Send(t.Context(), late); o.Kind != gateway.OutcomeRetry || o.Code != "void" || o.Scope != gateway.ScopePair {
		t.Errorf("void: %+v", o)
	}
	for _, base := range []string{"://" + secret, "http://127.0.0.1:1/" + secret, "http://[::1/" + secret} {
		o := newSender(t, base, egress.Options{}, nil).Send(t.Context(), outgoing(toMember("a"), "x", 1))
		checkQuiet(t, o)
		if o.Kind != gateway.OutcomeRetry {
			t.Errorf("%+v", o)
		}
	}
}

func decodeCase(t *testing.T, raw []byte) []tokenRun {
	t.Helper()
	var c struct{ Runs []tokenRun }
	if err := json.Unmarshal(raw, &c); err != nil || len(c.Runs) != 4 {
		t.Fatalf("%v, %d runs", err, len(c.Runs))
	}
	return c.Runs
}
