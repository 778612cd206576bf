package unified_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified"
	"github.com/causewayhq/causeway/handlers/unified/unifiedtest"
)

// vendor is the sandbox of the first shape, and a client of its account.
func vendor(t *testing.T) (*unifiedtest.Sandbox, *unified.Client) {
	t.Helper()
	c := file(t)
	s, err := unifiedtest.New(unifiedtest.Options{Endpoint: c.Endpoints[0].Unified(), Account: c.Accounts[0].Unified()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a := c.Accounts[0].Unified()
	a.APIBase = s.URL()
	return s, client(t, a, egress.Options{Timeout: 5 * time.Second})
}

func client(t *testing.T, c unified.ClientConfig, o egress.Options) *unified.Client {
	t.Helper()
	e := egress.New(o)
	t.Cleanup(e.Close)
	client, err := unified.NewClient(c, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func outgoing(r gateway.Reply, attempt int) gateway.Outgoing {
	return gateway.Outgoing{Message: gateway.Message{ID: ourMarker, Reply: r, Attempts: attempt,
		To: []gateway.Identity{{Kind: "conversation", Value: "S:1_2"}}}, VoidAfter: time.Now().Add(time.Minute)}
}

func text(s string) gateway.Reply { return gateway.Reply{Type: gateway.ReplyText, Text: s} }

// Whatever is in a text arrives as it was, and the body keeps its form.
func TestSend(t *testing.T) {
	s, c := vendor(t)
	texts := []string{"在的", `"},"content":"x`, "{{to}} {{marker}}", "a\nb\t\x00 \\ \" <b>&\u2028", "\U0001F600", strings.Repeat("long ", 1000), `\u0000`, `%s%d`}
	for _, words := range texts {
		o := c.Send(t.Context(), outgoing(text(words), 1))
		if o.Kind != gateway.OutcomeAccepted || o.ExternalID == "" {
			t.Fatalf("%q: %+v", words, o)
		}
	}
	var got []string
	for _, call := range s.Calls() {
		got = append(got, call.Text)
		if call.To != "S:1_2" || call.Marker != ourMarker || call.Type != "text" {
			t.Errorf("%+v", call)
		}
	}
	if d := cmp.Diff(texts, got); d != "" {
		t.Error(d)
	}
	o := c.Send(t.Context(), outgoing(gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{URL: "https://files.example/a?b=1&c=\"2\""}}, 1))
	if o.Kind != gateway.OutcomeAccepted {
		t.Errorf("%+v", o)
	}
}

// What the account's calls cannot carry is refused before a call.
func TestUnfit(t *testing.T) {
	s, c := vendor(t)
	nobody := outgoing(text("x"), 1)
	nobody.Message.To = nil
	for name, tt := range map[string]struct {
		out  gateway.Outgoing
		code string
	}{
		"no such call": {outgoing(gateway.Reply{Type: gateway.ReplyButtons, Text: "x", Buttons: []gateway.Choice{{ID: "a", Title: "A"}}}, 1), "unsupported"},
		"no text":      {outgoing(text(""), 1), "empty"},
		"a caption":    {outgoing(gateway.Reply{Type: gateway.ReplyImage, Text: "x", File: &gateway.FileReply{URL: "https://files.example/a"}}, 1), "unsupported"},
		"by id":        {outgoing(gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{ID: "7"}}, 1), "unsupported"},
		"of the store": {outgoing(gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{File: strings.Repeat("a", 64), MIME: "image/png"}}, 1), "unsupported"},
		"no file":      {outgoing(gateway.Reply{Type: gateway.ReplyImage}, 1), "bad_reply"},
		"nobody":       {nobody, "no_recipient"},
	} {
		if o := c.Send(t.Context(), tt.out); o.Kind != gateway.OutcomeRejected || o.Code != tt.code || o.Detail == "" {
			t.Errorf("%s: %+v", name, o)
		}
		if err := c.Fits(&tt.out.Message); !errors.As(err, new(*gateway.FieldError)) {
			t.Errorf("%s fits: %v", name, err)
		}
	}
	if good := outgoing(text("x"), 1); c.Fits(&good.Message) != nil {
		t.Errorf("a text does not fit: %v", c.Fits(&good.Message))
	}
	if o := client(t, unified.ClientConfig{GUID: "g"}, egress.Options{}).Send(t.Context(), outgoing(text("x"), 1)); o.Code != "unsupported" {
		t.Errorf("an account that only receives: %+v", o)
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// Every answer is one of four outcomes.
func TestOutcomes(t *testing.T) {
	a := file(t).Accounts[0].Unified()
	for _, tt := range []struct {
		status  int
		body    string
		attempt int
		want    string
	}{
		{200, `{"code":0,"data":{"msgId":9007199254740993}}`, 1, "accepted 9007199254740993 "},
		{200, ` {"code":"0"} `, 1, "accepted  "},
		{200, "\xef\xbb\xbf{\"code\":0,\"data\":{\"msgId\":\"a\xd4\"}}", 1, "accepted a\ufffd "},
		{201, `{"code":0,"data":{"msgId":{"x":1}}}`, 1, "accepted  "},
		{200, `{"code":1002,"msg":"no such chat S:1_2, hello"}`, 1, "rejected 1002 "},
		{200, `{"code":500}`, 1, "retry 500 pair"},
		{200, `{"code":500}`, 2, "retry 500 pair"},
		{200, `{"code":500}`, 3, "retry 500 pair"},
		{500, `{"code":500}`, 1, "retry 500 pair"},
		{200, `{"code":429}`, 1, "retry 429 account"},
		{200, `{"code":401}`, 9, "retry 401 account"},
		{401, `{"code":401}`, 9, "retry 401 account"},
		{200, `{"code":7}`, 1, "retry other pair"},
		{200, `{"code":7}`, 2, "rejected other "},
		{400, `{"code":7}`, 1, "retry other pair"},
		{422, `{"code":7}`, 2, "rejected other "},
		{403, `{"code":7}`, 9, "retry http_403 account"},
		{404, `{"code":7}`, 9, "retry http_404 account"},
		{302, ``, 9, "retry http_302 account"},
		{429, `slow`, 9, "retry http_429 account"},
		{413, ``, 1, "rejected http_413 "},
		{400, `bad`, 1, "retry http_400 pair"},
		{400, `bad`, 2, "rejected http_400 "},
		{500, `{"code":7}`, 1, "unknown http_500 "},
		{500, `{"code":0}`, 1, "unknown http_500 "},
		{503, ``, 1, "unknown http_503 "},
		{408, ``, 1, "unknown http_408 "},
		{200, ``, 1, "unknown unreadable "},
		{200, `ok`, 1, "unknown unreadable "},
		{200, `{"code":null}`, 1, "unknown unreadable "},
		{200, `{"code":0`, 1, "unknown unreadable "},
		{200, `[]`, 1, "unknown unreadable "},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		a.APIBase = server.URL
		o := client(t, a, egress.Options{}).Send(t.Context(), outgoing(text("hello"), tt.attempt))
		server.Close()
		got := fmt.Sprintf("%s %s%s %s", o.Kind, o.Code, o.ExternalID, o.Scope)
		if got != tt.want {
			t.Errorf("%d %s at try %d: %s, want %s", tt.status, tt.body, tt.attempt, got, tt.want)
		}
		if o.Kind == gateway.OutcomeRetry && o.After <= 0 {
			t.Errorf("%d %s: no wait", tt.status, tt.body)
		}
		for _, word := range []string{"hello", "S:1_2", "secret-of"} {
			if strings.Contains(o.Detail, word) {
				t.Errorf("%d %s: the detail holds %q: %s", tt.status, tt.body, word, o.Detail)
			}
		}
	}
}

// A status alone says that a message was taken where no words are configured, and a
// status can be a code.
func TestOutcomesByStatus(t *testing.T) {
	status := 204
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
	}))
	defer server.Close()
	c := client(t, unified.ClientConfig{GUID: "g/1", APIBase: server.URL + "/v1/", Sending: &unified.Sending{
		Messages: []unified.MessageCall{{Types: []string{"text"}, Path: "/{{guid}}/send/{{to}}", Method: "PUT", Body: `["{{text}}"]`}},
		Codes:    []unified.CodeRule{{Code: "http_503", Means: "retry"}},
	}}, egress.Options{})
	for _, tt := range []struct {
		status int
		want   gateway.OutcomeKind
	}{{204, gateway.OutcomeAccepted}, {503, gateway.OutcomeRetry}, {500, gateway.OutcomeUnknown}, {403, gateway.OutcomeRetry}} {
		status = tt.status
		if o := c.Send(t.Context(), outgoing(text("x"), 1)); o.Kind != tt.want {
			t.Errorf("%d: %+v", tt.status, o)
		}
	}
}

// An answer that is lost leaves the outcome unknown; a call that certainly did not
// leave is tried again, and the account waits.
func TestLost(t *testing.T) {
	s, c := vendor(t)
	if _, err := s.Faults().Add(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, Next: 1}); err != nil {
		t.Fatal(err)
	}
	if o := c.Send(t.Context(), outgoing(text("x"), 1)); o.Kind != gateway.OutcomeUnknown {
		t.Errorf("reset after it was taken: %+v", o)
	}
	if _, err := s.Faults().Add(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropHang, Next: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if o := c.Send(ctx, outgoing(text("x"), 1)); o.Kind != gateway.OutcomeUnknown {
		t.Errorf("no answer: %+v", o)
	}
	void := outgoing(text("x"), 1)
	void.VoidAfter = time.Now().Add(-time.Second)
	if o := c.Send(t.Context(), void); o.Kind != gateway.OutcomeRetry || o.Code != egress.WordVoid || o.Scope != gateway.ScopePair {
		t.Errorf("too late: %+v", o)
	}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	if o := c.Send(t.Context(), outgoing(text("x"), 1)); o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.After <= 0 {
		t.Errorf("nobody listens: %+v", o)
	}
	if n := len(s.Calls()); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}
