package whatsapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const (
	accessToken = "TOKENMARK-a1b2c3"
	numberID    = "417700000000101"
	markerID    = "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA"
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

func newSender(t *testing.T, base string, o egress.Options) *whatsapp.Client {
	t.Helper()
	e := egress.New(o)
	t.Cleanup(e.Close)
	return whatsapp.NewClient(whatsapp.ClientConfig{APIBase: base, PhoneNumberID: numberID, AccessToken: accessToken}, e)
}

func toPhone(number string) []gateway.Identity {
	return []gateway.Identity{{Kind: "phone", Value: number}}
}

func outgoing(to []gateway.Identity, text string, attempt int) gateway.Outgoing {
	return gateway.Outgoing{Message: gateway.Message{
		ID: markerID, Reply: gateway.Reply{Type: "text", Text: text}, To: to, Attempts: attempt,
	}, VoidAfter: time.Now().Add(time.Minute)}
}

// checkQuiet fails when an outcome tells a secret, the text or the number.
func checkQuiet(t *testing.T, o gateway.Outcome, hidden ...string) {
	t.Helper()
	for _, h := range append(hidden, accessToken) {
		if strings.Contains(o.Detail, h) || strings.Contains(o.Code, h) {
			t.Errorf("the outcome holds %q: %+v", h, o)
		}
	}
}

func TestSendRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		to   []gateway.Identity
		text string
		want string
	}{
		{"phone", toPhone("5511955550187"), "<b>&\u2028é😀", `{"messaging_product":"whatsapp","recipient_type":"individual","to":"+5511955550187","type":"text","text":{"body":"<b>&\u2028é😀","preview_url":false},"biz_opaque_callback_data":"` + markerID + `"}`},
		{"phone goes before BSUID", []gateway.Identity{{Kind: "bsuid", Value: "US.1"}, {Kind: "phone", Value: "15550100025", As: "+15550100025"}}, "x", `{"messaging_product":"whatsapp","recipient_type":"individual","to":"+15550100025","type":"text","text":{"body":"x","preview_url":false},"biz_opaque_callback_data":"` + markerID + `"}`},
		{"BSUID alone", []gateway.Identity{{Kind: "bsuid", Value: "US.40917755238106644215"}}, "x", `{"messaging_product":"whatsapp","recipient_type":"individual","recipient":"US.40917755238106644215","type":"text","text":{"body":"x","preview_url":false},"biz_opaque_callback_data":"` + markerID + `"}`},
		{"group", []gateway.Identity{{Kind: "phone", Value: "15550100025"}, {Kind: "group", Value: "abc=="}}, "x", `{"messaging_product":"whatsapp","recipient_type":"group","to":"abc==","type":"text","text":{"body":"x","preview_url":false},"biz_opaque_callback_data":"` + markerID + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var path, auth, body string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				path, auth, body = r.Method+" "+r.URL.RequestURI(), r.Header.Get("Authorization"), string(b)
				_, _ = fmt.Fprint(w, `{"contacts":[{"input":"i","wa_id":"w","user_id":"US.9"}],"messages":[{"id":"wamid.X"}]}`)
			}))
			defer s.Close()
			o := newSender(t, s.URL+"/", egress.Options{}).Send(t.Context(), outgoing(tt.to, tt.text, 1))
			if o.Kind != gateway.OutcomeAccepted || o.ExternalID != "wamid.X" {
				t.Fatalf("got %+v", o)
			}
			wantAliases := []gateway.Identity{{Kind: "bsuid", Value: "US.9"}, {Kind: "phone", Value: "w"}}
			if tt.name == "group" {
				wantAliases = nil
			}
			if d := cmp.Diff(wantAliases, o.Aliases); d != "" {
				t.Error(d)
			}
			if path != "POST /v26.0/"+numberID+"/messages" || auth != "Bearer "+accessToken {
				t.Errorf("got %s, authorization right: %v", path, auth == "Bearer "+accessToken)
			}
			var want, got any
			if json.Unmarshal([]byte(tt.want), &want) != nil || json.Unmarshal([]byte(body), &got) != nil {
				t.Fatalf("not JSON: %s", body)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if strings.Contains(body, `\u003c`) || strings.Contains(body, `\u0026`) {
				t.Errorf("HTML was escaped: %s", body)
			}
		})
	}
}

func TestRefusedByUs(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a call was made") }))
	defer s.Close()
	c := newSender(t, s.URL, egress.Options{})
	tests := map[string]gateway.Outgoing{
		"too_long":     outgoing(toPhone("1"), strings.Repeat("é", 4097), 1),
		"empty":        outgoing(toPhone("1"), "", 1),
		"no_recipient": outgoing([]gateway.Identity{{Kind: "userid", Value: "x"}}, "x", 1),
	}
	for code, out := range tests {
		o := c.Send(t.Context(), out)
		if o.Kind != gateway.OutcomeRejected || o.Code != code {
			t.Errorf("%s: got %+v", code, o)
		}
	}
}

// answering is a server that gives one answer to all calls.
func answering(t *testing.T, status int, header http.Header, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Every code of the table, under three HTTP statuses: the code decides.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	const text, number = "the whole text of it", "15550100025"
	for _, code := range whatsapp.Codes() {
		for _, status := range []int{400, 500, 200} {
			body := fmt.Sprintf(`{"error":{"message":"(#%d) token %s to %s","type":"OAuthException","code":%d,"error_data":{"messaging_product":"whatsapp","details":"about %s and %s, %s"},"fbtrace_id":"AbC"}}`,
				code.Code, accessToken, number, code.Code, text, number, accessToken)
			c := newSender(t, answering(t, status, nil, body), egress.Options{})
			o := c.Send(t.Context(), outgoing(toPhone(number), text, 1))
			checkQuiet(t, o, text, number)
			if o.Code != strconv.Itoa(code.Code) || !strings.Contains(o.Detail, code.Meaning) {
				t.Errorf("%d: got code %q detail %q", code.Code, o.Code, o.Detail)
			}
			var want gateway.Outcome
			switch code.Class {
			case whatsapp.ClassThrottle, whatsapp.ClassMaintenance, whatsapp.ClassCredential, whatsapp.ClassPolicy, whatsapp.ClassBusy, whatsapp.ClassTemplates:
				want = gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: code.Scope, After: code.Wait}
			case whatsapp.ClassTransient:
				want.Kind = gateway.OutcomeUnknown
			case whatsapp.ClassPermanent:
				want.Kind = gateway.OutcomeRejected
			default:
				t.Fatalf("%d: class %q", code.Code, code.Class)
			}
			if o.Kind != want.Kind || o.Scope != want.Scope || o.After != want.After {
				t.Errorf("%d under %d: got %+v, want %+v", code.Code, status, o, want)
			}
			if (code.Class == whatsapp.ClassCredential || code.Class == whatsapp.ClassPolicy) && o.After < 30*time.Second {
				t.Errorf("%d: waits %v only", code.Code, o.After)
			}
		}
	}
}

func TestCodeTable(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for _, c := range whatsapp.Codes() {
		if seen[c.Code] {
			t.Errorf("%d is in the table twice", c.Code)
		}
		seen[c.Code] = true
		if c.Meaning == "" {
			t.Errorf("%d has no meaning", c.Code)
		}
	}
}

func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	graph := func(fields string) string { return `{"error":{` + fields + `}}` }
	type want = gateway.Outcome
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   want
	}{
		{"500 without a body", 500, nil, "", want{Kind: gateway.OutcomeUnknown, Code: "http_500"}},
		{"502 of a proxy", 502, nil, "<html>", want{Kind: gateway.OutcomeUnknown, Code: "http_502"}},
		{"408", 408, nil, "", want{Kind: gateway.OutcomeUnknown, Code: "http_408"}},
		{"200 that cannot be read", 200, nil, "<html>", want{Kind: gateway.OutcomeUnknown, Code: "unreadable"}},
		{"200 without an id", 200, nil, `{"messages":[]}`, want{Kind: gateway.OutcomeUnknown, Code: "unreadable"}},
		{"500 with a code nobody knows", 500, nil, graph(`"code":999999`), want{Kind: gateway.OutcomeUnknown, Code: "other"}},
		{"400 with a code nobody knows", 400, nil, graph(`"code":999999`), want{Kind: gateway.OutcomeRejected, Code: "other"}},
		{"transient, unknown code", 400, nil, graph(`"code":999999,"is_transient":true`), want{Kind: gateway.OutcomeUnknown, Code: "other"}},
		{"throttle that calls itself transient", 400, nil, graph(`"code":130429,"is_transient":true`), want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "130429", Blame: gateway.BlamePace, After: time.Second}},
		{"permission range", 403, nil, graph(`"code":299`), want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Share: gateway.ShareAccess, Code: "299", Blame: gateway.BlameCredential, After: 30 * time.Second}},
		{"own id is gone", 400, nil, graph(`"code":100,"error_subcode":33`), want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "33", Blame: gateway.BlameCredential, After: 30 * time.Second}},
		{"error without a code", 400, nil, graph(`"message":"x"`), want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "http_400", Blame: gateway.BlameReach, After: 30 * time.Second}},
		{"429 of a proxy", 429, http.Header{"Retry-After": {"9"}}, "", want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "http_429", Blame: gateway.BlamePace, After: 9 * time.Second}},
		{"130429 with Retry-After", 429, http.Header{"Retry-After": {"5"}}, graph(`"code":130429`), want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "130429", Blame: gateway.BlamePace, After: 5 * time.Second}},
		{"80007 with a usage header", 400, http.Header{"X-Business-Use-Case-Usage": {`{"1":[{"type":"whatsapp","estimated_time_to_regain_access":3}]}`}}, graph(`"code":80007`), want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Share: gateway.ShareWABA, Code: "80007", Blame: gateway.BlamePace, After: 3 * time.Minute}},
		{"redirect", 302, http.Header{"Location": {"/x"}}, "", want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "http_302", Blame: gateway.BlameReach, After: 30 * time.Second}},
		{"401 of a proxy", 401, nil, "", want{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "http_401", Blame: gateway.BlameReach, After: 30 * time.Second}},
		{"413", 413, nil, "", want{Kind: gateway.OutcomeRejected, Code: "http_413"}},
		{"no contacts", 200, nil, `{"messages":[{"id":"wamid.1"}]}`, want{Kind: gateway.OutcomeAccepted, ExternalID: "wamid.1"}},
		{"hidden phone", 200, nil, `{"contacts":[{"input":"i","user_id":"US.1"}],"messages":[{"id":"wamid.1"}]}`, want{Kind: gateway.OutcomeAccepted, ExternalID: "wamid.1", Aliases: []gateway.Identity{{Kind: "bsuid", Value: "US.1"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newSender(t, answering(t, tt.status, tt.header, tt.body), egress.Options{}).Send(t.Context(), outgoing(toPhone("15550100025"), "x", 1))
			o.Detail = ""
			if d := cmp.Diff(tt.want, o); d != "" {
				t.Error(d)
			}
		})
	}
}

// 131056 waits 1, 4, 16, 64 s by try, this conversation only; attempts refused
// for the whole account are no tries.
func TestPairWaitGrows(t *testing.T) {
	t.Parallel()
	c := newSender(t, answering(t, 400, nil, `{"error":{"code":131056}}`), egress.Options{})
	for attempt, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 4 * time.Second, 3: 16 * time.Second, 4: 64 * time.Second, 5: 256 * time.Second, 50: 256 * time.Second} {
		o := c.Send(t.Context(), outgoing(toPhone("15550100025"), "x", attempt))
		if o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopePair || o.After != want {
			t.Errorf("attempt %d: got %+v, want %v", attempt, o, want)
		}
		spared := outgoing(toPhone("15550100025"), "x", attempt+7)
		spared.Message.Spared = 7
		if o := c.Send(t.Context(), spared); o.After != want {
			t.Errorf("attempt %d, 7 of them spared: got %+v, want %v", attempt+7, o, want)
		}
	}
}

func TestUnhealthyGrows(t *testing.T) {
	t.Parallel()
	clk := &movable{t: time.Now()}
	c := newSender(t, answering(t, 401, nil, `{"error":{"code":190}}`), egress.Options{Now: clk.now})
	out := outgoing(toPhone("15550100025"), "x", 1)
	out.VoidAfter = time.Time{}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute} {
		if o := c.Send(t.Context(), out); o.Scope != gateway.ScopeAccount || o.After != want {
			t.Fatalf("got %+v, want %v", o, want)
		}
		clk.move(want)
	}
}

// The sandbox plays the recorded script of the pair limit.
func TestPairRateCase(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/pair_rate.json")
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		To map[string][]struct {
			HTTP    int               `json:"http"`
			Headers map[string]string `json:"headers"`
			Body    json.RawMessage   `json:"body"`
		} `json:"to"`
	}
	if err := json.Unmarshal(raw, &script); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	next := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b struct{ To string }
		_ = json.NewDecoder(r.Body).Decode(&b)
		to := strings.TrimPrefix(b.To, "+")
		mu.Lock()
		step := script.To[to][next[to]]
		next[to]++
		mu.Unlock()
		for k, v := range step.Headers {
			w.Header().Set(k, v)
		}
		w.WriteHeader(step.HTTP)
		if step.HTTP == 200 {
			step.Body = json.RawMessage(`{"messages":[{"id":"wamid.ok"}]}`)
		}
		_, _ = w.Write(step.Body)
	}))
	defer s.Close()
	c := newSender(t, s.URL, egress.Options{})
	send := func(to string, attempt int) string {
		o := c.Send(t.Context(), outgoing(toPhone(to), "x", attempt))
		return fmt.Sprintf("%s %s %v", o.Kind, o.Scope, o.After)
	}
	got := []string{
		send("15550100025", 1), send("15550100025", 2), send("15550100026", 1), send("15550100025", 3), send("15550100025", 4),
		send("15550100027", 1), send("15550100027", 2), send("15550100028", 1),
	}
	want := []string{
		"retry pair 1s", "retry pair 4s", "accepted  0s", "retry pair 16s", "accepted  0s",
		"retry account 5s", "accepted  0s", "rejected  0s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Answers lost on the way: unknown when the request may have arrived, retry when
// it certainly did not.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s, err := whatsapptest.New(whatsapptest.Options{AppSecret: "app", AccessToken: accessToken, PhoneNumberID: numberID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, f := range []sandbox.Fault{
		{Text: "t1", Stage: sandbox.After, Drop: sandbox.DropHang},
		{Text: "t2", Stage: sandbox.After, Drop: sandbox.DropReset},
		{Text: "t4", Stage: sandbox.Before, Status: 500},
		{Text: "t5", Stage: sandbox.After, Status: 503},
	} {
		if _, err := s.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
	}
	c := newSender(t, s.URL(), egress.Options{})
	impatient := newSender(t, s.URL(), egress.Options{Timeout: 2 * time.Second})
	send := func(text string, ctx context.Context) gateway.Outcome {
		sender := c
		if strings.HasSuffix(text, "-hang") {
			sender = impatient
		}
		o := sender.Send(ctx, outgoing(toPhone("15550100024"), text, 1))
		checkQuiet(t, o, "15550100024", text)
		return o
	}
	for text, want := range map[string]gateway.Outcome{
		"t1-hang":  {Kind: gateway.OutcomeUnknown, Code: "timeout"},
		"t2-reset": {Kind: gateway.OutcomeUnknown, Code: "reset"},
		"t4-500":   {Kind: gateway.OutcomeUnknown, Code: "http_500"},
		"t5-after": {Kind: gateway.OutcomeUnknown, Code: "http_503"},
	} {
		if o := send(text, t.Context()); o.Kind != want.Kind || o.Code != want.Code {
			t.Errorf("%s: got %+v", text, o)
		}
	}
	taken := s.CallLog().Accepted()
	if taken[markerID] != 3 { // t1, t2 and t5 were taken under one marker
		t.Errorf("taken: %v", taken)
	}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	if o := send("t3-refused", t.Context()); o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.Code != "refused" || o.After != time.Second {
		t.Errorf("refused: got %+v", o)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	if o := send("t3-again", t.Context()); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("after the server came back: %+v", o)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if o := send("t6", gone); o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopePair || o.Code != "canceled" {
		t.Errorf("canceled before the call: %+v", o)
	}
	late := outgoing(toPhone("15550100024"), "t7", 1)
	late.VoidAfter = time.Now().Add(-time.Second)
	if o := c.Send(t.Context(), late); o.Kind != gateway.OutcomeRetry || o.Code != "void" {
		t.Errorf("void: %+v", o)
	}
}
