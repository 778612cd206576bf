package whatsapptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const (
	secret = "app-secret"
	token  = "token-1"
	number = "417700000000101"
)

// gatewayStub takes callbacks: it checks the signature and keeps the bodies.
type gatewayStub struct {
	*httptest.Server
	status func(n int) int // by callback, from 1

	mu     sync.Mutex
	bodies []string
	bad    int
	came   chan string
}

func newGateway(t *testing.T, status func(n int) int) *gatewayStub {
	t.Helper()
	g := &gatewayStub{status: status, came: make(chan string, 1000)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if q := r.URL.Query(); q.Get("hub.mode") == "subscribe" && q.Get("hub.verify_token") == "verify" {
				_, _ = io.WriteString(w, q.Get("hub.challenge"))
				return
			}
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		g.mu.Lock()
		defer g.mu.Unlock()
		if r.Header.Get("X-Hub-Signature-256") != whatsapp.Sign(secret, body) {
			g.bad++
		}
		g.bodies = append(g.bodies, string(body))
		if status != nil {
			if s := status(len(g.bodies)); s != http.StatusOK {
				w.WriteHeader(s)
				return
			}
		}
		g.came <- string(body)
	}))
	t.Cleanup(g.Close)
	return g
}

func start(t *testing.T, o whatsapptest.Options) *whatsapptest.Sandbox {
	t.Helper()
	o.AppSecret, o.AccessToken, o.PhoneNumberID = secret, token, number
	s, err := whatsapptest.New(o)
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

func flush(t *testing.T, s *whatsapptest.Sandbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Courier().Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func call(t *testing.T, s *whatsapptest.Sandbox, bearer, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func send(t *testing.T, s *whatsapptest.Sandbox, to, text, marker string) (int, string) {
	t.Helper()
	return call(t, s, token, "/v26.0/"+number+"/messages", fmt.Sprintf(
		`{"messaging_product":"whatsapp","to":%q,"type":"text","text":{"body":%q},"biz_opaque_callback_data":%q}`, to, text, marker))
}

func TestChecks(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{DisplayNumber: "15550100099"})
	path := "/v26.0/" + number + "/messages"
	text := func(rest string) string { return `{"messaging_product":"whatsapp","type":"text",` + rest + `}` }
	tests := []struct {
		name, bearer, path, body string
		status, code             int
	}{
		{"no such token", "other", path, `{}`, 401, 190},
		{"no such number", token, "/v26.0/1/messages", text(`"to":"+15550100025","text":{"body":"x"}`), 400, 33},
		{"no version", token, "/latest/" + number + "/messages", `{}`, 400, 2500},
		{"no such path", token, "/v26.0/" + number + "/nothing", `{}`, 400, 2500},
		{"no product", token, path, `{"to":"+15550100025","text":{"body":"x"}}`, 400, 100},
		{"not JSON", token, path, `{`, 400, 100},
		{"no recipient", token, path, text(`"text":{"body":"x"}`), 400, 131008},
		{"recipient is no number", token, path, text(`"to":"+1555-010","text":{"body":"x"}`), 400, 131009},
		{"recipient is no BSUID", token, path, text(`"recipient":"15550100025","text":{"body":"x"}`), 400, 131009},
		{"to ourselves", token, path, text(`"to":"+15550100099","text":{"body":"x"}`), 400, 131021},
		{"no text", token, path, text(`"to":"+15550100025"`), 400, 131008},
		{"too long", token, path, text(`"to":"+15550100025","text":{"body":"` + strings.Repeat("x", 4097) + `"}`), 400, 100},
		{"marker too long", token, path, text(`"to":"+15550100025","text":{"body":"x"},"biz_opaque_callback_data":"` + strings.Repeat("x", 513) + `"`), 400, 100},
		{"other type", token, path, `{"messaging_product":"whatsapp","to":"+15550100025","type":"poll"}`, 400, 131051},
		{"other recipient type", token, path, text(`"recipient_type":"crowd","to":"+15550100025","text":{"body":"x"}`), 400, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := call(t, s, tt.bearer, tt.path, tt.body)
			var e struct {
				Error struct {
					Code    int
					TraceID string `json:"fbtrace_id"`
				}
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatal(err)
			}
			if status != tt.status || e.Error.Code != tt.code || e.Error.TraceID == "" {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
	if n := s.CallLog().Summary().Accepted; n != 0 {
		t.Errorf("%d accepted", n)
	}
}

type statusValue struct {
	Entry []struct {
		Changes []struct {
			Field string
			Value struct {
				Metadata struct {
					PhoneNumberID string `json:"phone_number_id"`
				}
				Statuses []map[string]any
				Messages []map[string]any
				Echoes   []map[string]any `json:"message_echoes"`
				Contacts []map[string]any
			}
		}
	}
}

func decode(t *testing.T, body string) statusValue {
	t.Helper()
	var v statusValue
	if err := json.Unmarshal([]byte(body), &v); err != nil || len(v.Entry) != 1 || len(v.Entry[0].Changes) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	if v.Entry[0].Changes[0].Value.Metadata.PhoneNumberID != number {
		t.Errorf("no metadata: %s", body)
	}
	return v
}

func TestAcceptedMessageBringsStatuses(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1})
	status, body := send(t, s, "+15550100025", "hello", "ms_1")
	var a struct {
		Contacts []map[string]string
		Messages []map[string]string
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != 200 || len(a.Messages) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	wantContact := map[string]string{"input": "+15550100025", "wa_id": "15550100025", "user_id": whatsapptest.BSUID("15550100025")}
	if d := cmp.Diff(wantContact, a.Contacts[0]); d != "" {
		t.Error(d)
	}
	var states []string
	for range 3 {
		st := decode(t, <-g.came).Entry[0].Changes[0].Value.Statuses[0]
		if st["id"] != a.Messages[0]["id"] || st["biz_opaque_callback_data"] != "ms_1" || st["recipient_id"] != "15550100025" {
			t.Errorf("got %v", st)
		}
		states = append(states, st["status"].(string))
	}
	if d := cmp.Diff([]string{"sent", "delivered", "read"}, states); d != "" {
		t.Error(d)
	}
	if g.bad != 0 {
		t.Errorf("%d wrong signatures", g.bad)
	}
	calls := s.Calls()
	if len(calls) != 1 || !calls[0].Accepted || calls[0].To != "15550100025" || calls[0].Marker != "ms_1" || calls[0].Text != "hello" ||
		calls[0].MessageID != a.Messages[0]["id"] || calls[0].Status != 200 || calls[0].End.Before(calls[0].Start) {
		t.Errorf("got %+v", calls)
	}
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{WaID: func(n string) string {
		return map[string]string{"5511955550187": "551155550187"}[n]
	}})
	if _, body := send(t, s, "+5511955550187", "x", "m1"); !strings.Contains(body, `"wa_id":"551155550187"`) || !strings.Contains(body, `"input":"+5511955550187"`) {
		t.Errorf("alias: %s", body)
	}
	_, body := call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp","recipient":"GB.8fQ2","text":{"body":"x"}}`)
	if !strings.Contains(body, `"user_id":"GB.8fQ2"`) || strings.Contains(body, "wa_id") {
		t.Errorf("BSUID: %s", body)
	}
	_, body = call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp","recipient_type":"group","to":"Zm9v=","text":{"body":"x"}}`)
	if !strings.Contains(body, "wamid.") {
		t.Errorf("group: %s", body)
	}
	_, body = call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp","status":"read","message_id":"wamid.x"}`)
	if body != `{"success":true}` || len(s.Calls()) != 4 || s.CallLog().Accepted()[""] != 0 {
		t.Errorf("mark as read: %s, %d calls", body, len(s.Calls()))
	}
}

func TestInbound(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL})

	id := s.Customer("+15550100025", "héllo / 😀")
	body := <-g.came
	if !strings.Contains(body, `h\u00e9llo \/ \ud83d\ude00`) {
		t.Errorf("not the form on the wire: %s", body)
	}
	m := decode(t, body).Entry[0].Changes[0].Value.Messages[0]
	if m["id"] != id || m["from"] != "15550100025" || m["from_user_id"] != whatsapptest.BSUID("15550100025") || m["text"].(map[string]any)["body"] != "héllo / 😀" {
		t.Errorf("got %v", m)
	}

	id = s.Customer("GB.8fQ2mXw07LrTzK41vBnC", "x")
	v := decode(t, <-g.came).Entry[0].Changes[0].Value
	if _, phone := v.Messages[0]["from"]; phone || v.Messages[0]["id"] != id || v.Contacts[0]["user_id"] != "GB.8fQ2mXw07LrTzK41vBnC" {
		t.Errorf("hidden phone: %v", v)
	}

	id = s.Colleague("15550100025", "by hand")
	ch := decode(t, <-g.came).Entry[0].Changes[0]
	if ch.Field != "smb_message_echoes" || ch.Value.Echoes[0]["id"] != id || ch.Value.Echoes[0]["to"] != "15550100025" {
		t.Errorf("echo: %v", ch)
	}
	s.Echo("wamid.own", "15550100025", "x")
	if ch = decode(t, <-g.came).Entry[0].Changes[0]; ch.Value.Echoes[0]["id"] != "wamid.own" {
		t.Errorf("own echo: %v", ch)
	}
	if status, err := s.Post(t.Context(), []byte(`{"any":1}`)); err != nil || status != 200 {
		t.Errorf("post: %d %v", status, err)
	}
	if err := s.VerifyCallback(t.Context(), "verify"); err != nil {
		t.Error(err)
	}
	if err := s.VerifyCallback(t.Context(), "wrong"); err == nil {
		t.Error("a refused verification passed")
	}
	if g.bad != 0 {
		t.Errorf("%d wrong signatures", g.bad)
	}
}

func TestCallbacksAreTriedAgain(t *testing.T) {
	t.Parallel()
	g := newGateway(t, func(n int) int {
		if n < 4 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Retry: []time.Duration{time.Millisecond, 2 * time.Millisecond}})
	s.Customer("15550100025", "x")
	flush(t, s)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.bodies) != 4 || g.bodies[0] != g.bodies[3] {
		t.Errorf("%d tries, same body: %v", len(g.bodies), g.bodies[0] == g.bodies[len(g.bodies)-1])
	}
	if c := s.Courier().Count(); c.OK != 1 || c.Failed != 3 || c.Waiting != 0 {
		t.Errorf("got %+v", c)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if _, err := whatsapptest.New(whatsapptest.Options{AppSecret: "x"}); err == nil {
		t.Error("options without a token were taken")
	}
}
