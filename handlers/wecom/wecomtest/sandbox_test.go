package wecomtest_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

const (
	corpID = "ww1a2b3c4d5e6f7a8b"
	secret = "corp-secret"
	token  = "tok"
	aesKey = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
)

// gatewayStub takes callbacks with the product's own endpoint, so that what the
// sandbox signs and encrypts is checked by the other side's code.
type gatewayStub struct {
	*httptest.Server
	mu    sync.Mutex
	tries int
	items chan gateway.Item
}

func newGateway(t *testing.T, status func(n int) int) *gatewayStub {
	t.Helper()
	e, err := wecom.NewEndpoint(wecom.EndpointConfig{ReceiveIDs: []string{corpID}, Ring: []wecom.Credential{{Token: token, EncodingAESKey: aesKey}}})
	if err != nil {
		t.Fatal(err)
	}
	g := &gatewayStub{items: make(chan gateway.Item, 100)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req := &handlers.Request{RawQuery: r.URL.RawQuery, Header: r.Header, Body: body}
		if r.Method == http.MethodGet {
			echo, err := e.Challenge(req)
			if err != nil {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			_, _ = w.Write(echo)
			return
		}
		g.mu.Lock()
		g.tries++
		n := g.tries
		g.mu.Unlock()
		if status != nil && status(n) != http.StatusOK {
			w.WriteHeader(status(n))
			return
		}
		if _, err := e.Verify(req); err != nil {
			t.Errorf("callback not verified: %v", err)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		items, _, err := e.Decode(&gateway.Payload{RequestLine: "POST " + r.URL.RequestURI() + " HTTP/1.1", Body: body})
		if err != nil {
			t.Errorf("callback not readable: %v", err)
			return
		}
		for _, it := range items {
			g.items <- it
		}
	}))
	t.Cleanup(g.Close)
	return g
}

func start(t *testing.T, o wecomtest.Options) *wecomtest.Sandbox {
	t.Helper()
	o.CorpID, o.AgentID, o.Secret, o.Token, o.EncodingAESKey = corpID, 1000017, secret, token, aesKey
	s, err := wecomtest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type reply struct {
	Code        int    `json:"errcode"`
	Token       string `json:"access_token"`
	Life        int64  `json:"expires_in"`
	ID          string `json:"msgid"`
	InvalidUser string `json:"invaliduser"`
}

func do(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}

func read(t *testing.T, req *http.Request) reply {
	t.Helper()
	status, body := do(t, req)
	var r reply
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	return r
}

func getToken(t *testing.T, s *wecomtest.Sandbox, corp, secret string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		s.URL()+"/cgi-bin/gettoken?"+url.Values{"corpid": {corp}, "corpsecret": {secret}}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, req)
}

func send(t *testing.T, s *wecomtest.Sandbox, accessToken, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		s.URL()+"/cgi-bin/message/send?access_token="+accessToken, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, req)
}

func text(to, content string) string {
	return fmt.Sprintf(`{"touser":%q,"msgtype":"text","agentid":1000017,"text":{"content":%q}}`, to, content)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	s := start(t, wecomtest.Options{TokenLife: time.Hour, TokenQuota: 8, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	if r := getToken(t, s, "other", secret); r.Code != 40013 {
		t.Errorf("other corp: %+v", r)
	}
	if r := getToken(t, s, corpID, "wrong"); r.Code != 40001 || r.Token != "" {
		t.Errorf("wrong secret: %+v", r)
	}
	first := getToken(t, s, corpID, secret)
	if first.Code != 0 || first.Token == "" || first.Life != 3600 {
		t.Fatalf("got %+v", first)
	}
	if again := getToken(t, s, corpID, secret); again.Token != first.Token {
		t.Error("another token within the life of the first")
	}
	check := func(accessToken string, want int) {
		t.Helper()
		if r := send(t, s, accessToken, text("a", "x")); r.Code != want {
			t.Errorf("got %d, want %d", r.Code, want)
		}
	}
	check(first.Token, 0)
	check("", 41001)
	check("nonsense", 40014)
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	check(first.Token, 42001)
	second := getToken(t, s, corpID, secret)
	check(first.Token, 42001)
	check(second.Token, 0)
	s.RevokeToken()
	check(second.Token, 40014)
	third := getToken(t, s, corpID, secret)
	check(third.Token, 0)
	s.ExpireToken()
	check(third.Token, 42001)
	if getToken(t, s, corpID, secret).Code != 0 || s.TokenCalls() != 7 {
		t.Errorf("%d calls", s.TokenCalls())
	}
	getToken(t, s, corpID, secret)
	if r := getToken(t, s, corpID, secret); r.Code != 45009 {
		t.Errorf("over the quota: %+v", r)
	}
}

func TestSendChecks(t *testing.T) {
	t.Parallel()
	s := start(t, wecomtest.Options{Unknown: []string{"Ghost"}})
	access := getToken(t, s, corpID, secret).Token
	for _, tt := range []struct {
		name, body string
		code       int
		invalid    string
	}{
		{"taken", text("LinXiaoyu", "hello"), 0, ""},
		{"not JSON", `{`, 47001, ""},
		{"other agent", `{"touser":"a","msgtype":"text","agentid":1,"text":{"content":"x"}}`, 40056, ""},
		{"agent as text", `{"touser":"a","msgtype":"text","agentid":"1000017","text":{"content":"x"}}`, 0, ""},
		{"other type", `{"touser":"a","msgtype":"dance","agentid":1000017}`, 40008, ""},
		{"no text", `{"touser":"a","msgtype":"text","agentid":1000017}`, 44004, ""},
		{"nobody", `{"msgtype":"text","agentid":1000017,"text":{"content":"x"}}`, 82001, ""},
		{"does not exist", text("ghost", "x"), 81013, ""},
		{"one of two does not exist", text("a|Ghost", "x"), 0, "ghost"},
	} {
		r := send(t, s, access, tt.body)
		if r.Code != tt.code || r.InvalidUser != tt.invalid || (r.ID != "") != (tt.code == 0) {
			t.Errorf("%s: got %+v", tt.name, r)
		}
	}
	s.SetUnknown("ghost", false)
	if r := send(t, s, access, text("Ghost", "x")); r.Code != 0 {
		t.Errorf("got %+v", r)
	}
	send(t, s, access, text("a", strings.Repeat("好", 1000)))
	calls := s.Calls()
	if first := calls[0]; !first.Accepted || first.To != "LinXiaoyu" || first.Text != "hello" || first.Account != corpID+"/1000017" || first.MessageID == "" {
		t.Errorf("got %+v", first)
	}
	if last := calls[len(calls)-1]; len(last.Text) != 2046 {
		t.Errorf("a long text was cut to %d bytes, want 2046 (whole characters below 2048)", len(last.Text))
	}
}

func TestMemberLimitDropsSilently(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := start(t, wecomtest.Options{MemberLimit: true, Now: func() time.Time { return now }})
	access := getToken(t, s, corpID, secret).Token
	for range 33 {
		if r := send(t, s, access, text("a", "x")); r.Code != 0 {
			t.Fatalf("got %+v", r)
		}
	}
	if n := s.CallLog().Summary().Codes["dropped"]; n != 3 {
		t.Errorf("%d dropped of 33, want 3", n)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t, wecomtest.Options{})
	for _, f := range []sandbox.Fault{{Op: sandbox.OpToken, Code: -1, Next: 1}, {Code: 45009, Next: 2}} {
		if _, err := s.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if r := getToken(t, s, corpID, secret); r.Code != -1 {
		t.Errorf("got %+v", r)
	}
	access := getToken(t, s, corpID, secret).Token
	var codes []int
	for range 3 {
		codes = append(codes, send(t, s, access, text("a", "x")).Code)
	}
	if d := cmp.Diff([]int{45009, 45009, 0}, codes); d != "" {
		t.Error(d)
	}
}

func flush(t *testing.T, s *wecomtest.Sandbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Courier().Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestInbound(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, wecomtest.Options{CallbackURL: g.URL + "/webhooks/wecom/corp?x=1"})
	take := func() gateway.Item {
		t.Helper()
		select {
		case it := <-g.items:
			return it
		case <-time.After(20 * time.Second):
			t.Fatal("no callback came")
			return gateway.Item{}
		}
	}
	id := s.Member("LinXiaoyu", "]]> & <b> 好")
	if it := take(); it.Content.ID != id || it.Content.Text != "]]> & <b> 好" || it.Chat.Identities[0].Spelling() != "LinXiaoyu" || it.AccountID != corpID+"/1000017" {
		t.Errorf("got %+v", it)
	}
	id = s.Image("LinXiaoyu")
	if it := take(); it.Content.ID != id || it.Content.Type != "image" || it.Content.Media == nil || it.Content.Media.ID == "" {
		t.Errorf("got %+v", it)
	}
	id = s.Voice("LinXiaoyu")
	if it := take(); it.Content.ID != id || it.Content.Type != "voice" || it.Content.Media.Format != "amr" {
		t.Errorf("got %+v", it)
	}
	s.Event("LinXiaoyu", "click", "MENU_ORDERS")
	if it := take(); it.Content.Type != "button" || it.Content.Choice.ID != "MENU_ORDERS" {
		t.Errorf("got %+v", it)
	}
	status, _, err := s.Post(t.Context(), s.Inner("sys", "event", wecomtest.Field{Name: "Event", Value: "kf_msg_or_event"}))
	if err != nil || status != 200 {
		t.Errorf("%d %v", status, err)
	}
	if err := s.VerifyCallback(t.Context()); err != nil {
		t.Error(err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	s.SetCallbackURL(other.URL)
	if err := s.VerifyCallback(t.Context()); err == nil {
		t.Error("a 404 passed as verification")
	}
}

func TestInnerIsXML(t *testing.T) {
	t.Parallel()
	s := start(t, wecomtest.Options{})
	id, inner := s.Message("a", "text", wecomtest.Field{Name: "Content", Value: "x]]>y"})
	var m struct {
		ToUserName, FromUserName, MsgType, Content, MsgId, AgentID string //nolint:revive // WeCom's spelling
		CreateTime                                                 int64
	}
	if err := xml.Unmarshal(inner, &m); err != nil {
		t.Fatal(err)
	}
	if m.Content != "x]]>y" || m.MsgId != id || m.ToUserName != corpID || m.AgentID != "1000017" || m.CreateTime == 0 {
		t.Errorf("got %+v", m)
	}
}

// WeCom tries three times, then the event is gone.
func TestThreeTries(t *testing.T) {
	t.Parallel()
	g := newGateway(t, func(n int) int {
		if n <= 5 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	s := start(t, wecomtest.Options{CallbackURL: g.URL, Retry: []time.Duration{time.Millisecond, time.Millisecond}})
	s.Member("a", "lost") // tries 1 to 3
	flush(t, s)
	s.Member("a", "comes at the third try") // tries 4 to 6
	flush(t, s)
	want := sandbox.Delivered{OK: 1, Failed: 5, GivenUp: 1}
	if d := cmp.Diff(want, s.Courier().Count()); d != "" {
		t.Error(d)
	}
	if it := <-g.items; it.Content.Text != "comes at the third try" {
		t.Errorf("got %+v", it)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, wecomtest.Options{})
	for _, st := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"PUT", "callback", `{"url":"` + g.URL + `"}`, 200, "http"},
		{"POST", "verify", ``, 200, "true"},
		{"POST", "member", `{"user":"a","text":"x"}`, 200, `"id"`},
		{"POST", "member", `{}`, 400, "user must be set"},
		{"POST", "image", `{"user":"a"}`, 200, `"id"`},
		{"POST", "voice", `{"user":"a"}`, 200, `"id"`},
		{"POST", "event", `{"user":"a","event":"click","key":"k"}`, 200, "queued"},
		{"POST", "simulate", `{"kind":"customer","variant":"edit_external_contact"}`, 200, `"id":""`},
		{"POST", "simulate", `{"kind":"telex"}`, 400, "no kind"},
		{"POST", "deliver", `{}`, 400, "xml must be set"},
		{"POST", "token", `{"end":"revoked"}`, 200, "calls"},
		{"POST", "token", `{"end":"expired"}`, 200, "calls"},
		{"POST", "token", `{"end":"never"}`, 400, "end must be"},
		{"GET", "token", ``, 200, `"calls":0`},
		{"PUT", "limits", `{"member":true}`, 200, "true"},
		{"PUT", "unknown", `{"user":"a","unknown":true}`, 200, "true"},
		{"POST", "faults", `{"op":"token","code":45009,"next":1}`, 200, "fault-1"},
		{"GET", "summary", ``, 200, "overlaps"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), st.method, s.URL()+"/_sandbox/"+st.path, strings.NewReader(st.body))
		if err != nil {
			t.Fatal(err)
		}
		if status, body := do(t, req); status != st.status || !strings.Contains(body, st.has) {
			t.Errorf("%s %s: got %d %s", st.method, st.path, status, body)
		}
	}
	flush(t, s)
	if n := len(g.items); n != 5 {
		t.Errorf("%d items came, want 5", n)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if _, err := wecomtest.New(wecomtest.Options{CorpID: "x"}); err == nil {
		t.Error("options without a secret were taken")
	}
	if _, err := wecomtest.New(wecomtest.Options{CorpID: "x", AgentID: 1, Secret: "s", Token: "t", EncodingAESKey: "short"}); err == nil {
		t.Error("a short key was taken")
	}
}
