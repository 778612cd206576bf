package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// routeCase is a good request, with the least role it takes and what the API is asked.
type routeCase struct {
	least               admin.Role
	target, body, calls string
}

// routeCases are requests of every route that answers in JSON.
func routeCases() []routeCase {
	return []routeCase{
		{"viewer", "GET /metrics", "", ""},
		{"viewer", "GET /api/v1/payloads", "", `payloads 0 - - "" 50`},
		{"viewer", "GET /api/v1/payloads?endpoint=corp&since=2026-11-29T01:00:00Z&until=2026-11-29T03:00:00%2B01:00&before=9&limit=7", "", `payloads 9 01:00 02:00 "corp" 7`},
		{"viewer", "GET /api/v1/payloads/" + payloadID, "", "payload 0 " + payloadID},
		{"viewer", "GET /api/v1/payloads/7", "", "payload 7 "},
		{"operator", "GET /api/v1/payloads/7?body=1", "", "payload 7 ; audit read payload body " + payloadID + " by otto"},
		{"viewer", "GET /api/v1/rejects?before=9", "", "rejects 9 50"},
		{"viewer", "GET /api/v1/rejects/5", "", "reject 5"},
		{"operator", "GET /api/v1/rejects/5?body=true", "", "reject 5; audit read reject body 5 by otto"},
		{"operator", "POST /api/v1/rejects/5/readmit", "", "readmit 5 by otto"},
		{"operator", "POST /api/v1/rejects/readmit?endpoint=corp", "", `readmit all "corp" by otto`},
		{"viewer", "GET /api/v1/dead?app=bot&kind=event&state=open&reason=no_account&limit=3", "", `dead "bot" "" "" "" "event" "open" "no_account" - - "" 3`},
		{"viewer", "GET /api/v1/dead?account=shop-a&platform=whatsapp&conv=" + conv + "&since=2026-11-29T01:00:00Z&until=2026-11-29T02:00:00Z&before=" + deadID, "",
			`dead "" "shop-a" "whatsapp" "` + conv + `" "" "" "" 01:00 02:00 "` + deadID + `" 50`},
		{"viewer", "GET /api/v1/dead/stats?app=bot&state=dropped", "", `dead stats "bot" "" "" "" "" "dropped" "" - - "" 0`},
		{"viewer", "GET /api/v1/dead/" + deadID, "", "dead letter " + deadID},
		{"operator", "POST /api/v1/dead/" + deadID + "/requeue", "", "requeue " + deadID + " by otto"},
		{"operator", "POST /api/v1/dead/requeue?app=bot", "", `requeue all "bot" "" "" "" "" "" "" - - "" 0 by otto`},
		{"operator", "POST /api/v1/dead/requeue?app=bot&limit=5&dry_run=1", "", `dead plan "bot" "" "" "" "" "" "" - - "" 5`},
		{"admin", "POST /api/v1/dead/" + deadID + "/drop", "", "drop " + deadID + ` by ada because ""`},
		{"admin", "POST /api/v1/dead/" + deadID + "/drop", `{"reason":"a test"}`, "drop " + deadID + ` by ada because "a test"`},
		{"admin", "POST /api/v1/dead/drop?kind=item", `{"reason":"a test"}`, `drop all "" "" "" "" "item" "" "" - - "" 0 by ada because "a test"`},
		{"admin", "POST /api/v1/dead/drop?kind=item&dry_run=true", "", `dead plan "" "" "" "" "item" "" "" - - "" 0`},
		{"operator", "POST /api/v1/replays", `{"conv":"` + conv + `","run":"run_a-1","send_replies":true}`, `replay "run_a-1" "" "` + conv + `" false "" true by otto`},
		{"operator", "POST /api/v1/replays", `{"sealed":true,"endpoint":"corp"}`, `replay "" "" "" true "corp" false by otto`},
		{"admin", "POST /api/v1/replays/run_a-1/release", "", "release run_a-1 by ada"},
		{"viewer", "GET /api/v1/apps", "", "apps"},
		{"operator", "POST /api/v1/apps/bot/pause", "", "brake app bot true by otto"},
		{"operator", "POST /api/v1/apps/bot/resume", "", "brake app bot false by otto"},
		{"viewer", "GET /api/v1/brakes", "", "brakes"},
		{"viewer", "GET /api/v1/unanswered?app=bot&before=7&limit=1", "", `unanswered "bot" 7 1`},
		{"operator", "POST /api/v1/brakes/account/shop-a/pause", "", "brake account shop-a true by otto"},
		{"operator", "POST /api/v1/brakes/conversation/" + conv + "/resume", "", "brake conversation " + conv + " false by otto"},
		{"operator", "POST /api/v1/brakes/replies/all/pause", "", "brake replies all true by otto"},
		{"viewer", "GET /api/v1/conversations?list=waiting&app=bot&account=shop-a&after=9&limit=7", "", `conversations waiting "bot" "shop-a" 9 7`},
		{"viewer", "GET /api/v1/conversations/" + conv + "?limit=5", "", "conversation " + conv + " 5"},
		{"operator", "GET /api/v1/conversations/" + conv + "?text=1", "", "conversation " + conv + " 50; audit read conversation texts " + conv + " by otto; texts of " + conv},
		{"operator", "POST /api/v1/conversations/" + conv + "/release?then=send", "", "release " + conv + ` then "send" by otto`},
		{"operator", "POST /api/v1/conversations/" + conv + "/release", "", "release " + conv + ` then "" by otto`},
		{"viewer", "GET /api/v1/conversations:find?platform=whatsapp&account=shop-a&kind=phone&identity=15550100001", "", "find whatsapp shop-a phone 15550100001"},
		{"viewer", "GET /api/v1/messages?state=unknown", "", "messages unknown 50"},
		{"viewer", "GET /api/v1/messages/" + messageID, "", "message " + messageID},
		{"operator", "POST /api/v1/messages", `{"account":"shop-a","conversation":"` + conv + `","content":{"text":"hello"}}`, "submit 1 to " + conv + "[] of shop-a by otto"},
		{"operator", "POST /api/v1/messages/" + messageID + "/resolve", `{"as":"send-again","rest":true}`, "resolve " + messageID + " again true rest true by otto"},
		{"operator", "POST /api/v1/messages:change", `{"do":"cancel","filter":{"account":"shop-a"}}`, "cancel by otto"},
		{"operator", "POST /api/v1/messages/" + messageID + "/cancel", "", "cancel " + messageID + " by otto"},
		{"viewer", "GET /api/v1/sums", "", "kept; counters"},
		{"viewer", "GET /api/v1/sums?recount=1", "", "kept; recounted; counters"},
		{"viewer", "GET /api/v1/doctor", "", "doctor"},
		{"viewer", "GET /api/v1/accounts", "", "accounts"},
		{"viewer", "GET /api/v1/accounts/shop-a", "", "accounts"},
		{"operator", "POST /api/v1/accounts/shop-a/resume", "", "resume account shop-a by otto"},
		{"operator", "GET /api/v1/accounts/shop-a/doctor", "", "doctor of shop-a"},
		{"admin", "GET /api/v1/audit?limit=9", "", "audit log 9"},
		{"admin", "POST /api/v1/adopt", "", "adopt by ada"},
	}
}

// Every route, with the least role it takes and what the API is asked.
func TestRoutes(t *testing.T) {
	s := open(t)
	for _, c := range routeCases() {
		t.Run(c.target, func(t *testing.T) {
			enough := map[admin.Role]string{"viewer": viewer, "operator": operator, "admin": root}[c.least]
			tooLittle := map[admin.Role]string{"viewer": "", "operator": viewer, "admin": operator}[c.least]
			refused := map[admin.Role]int{"viewer": 401, "operator": 403, "admin": 403}[c.least]

			status, header, text := s.send(t, tooLittle, c.target, c.body)
			if status != refused || header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("too little: %d %s %s", status, header.Get("Content-Type"), text)
			}
			if calls := s.taken(); calls != "" {
				t.Errorf("refused, and yet asked: %s", calls)
			}
			status, header, text = s.send(t, enough, c.target, c.body)
			if status != 200 || header.Get("Cache-Control") != "no-store" {
				t.Errorf("%d %s", status, text)
			}
			if calls := s.taken(); calls != c.calls {
				t.Errorf("asked %s, want %s", calls, c.calls)
			}
			if strings.Contains(text, "LEAK") && !strings.Contains(c.target, "body=") {
				t.Errorf("shown: %s", text)
			}
			if c.target != "GET /metrics" && !json.Valid([]byte(text)) {
				t.Errorf("no JSON: %s", text)
			}
			if status, _, _ := s.send(t, root, c.target, c.body); status != 200 {
				t.Errorf("as admin: %d", status)
			}
			s.taken()
		})
	}
	if strings.Contains(fmt.Sprint(s.logs.All()), "LEAK") {
		t.Error("a token is in the log")
	}
}

func TestTokens(t *testing.T) {
	s := open(t)
	for name, headers := range map[string][]string{
		"none":          nil,
		"empty":         {""},
		"scheme only":   {"Bearer"},
		"empty token":   {"Bearer  "},
		"other scheme":  {"Basic " + root},
		"wrong":         {"Bearer LEAKMARK-wrong"},
		"longer":        {"Bearer " + root + "x"},
		"shorter":       {"Bearer " + root[:len(root)-1]},
		"two headers":   {"Bearer " + root, "Bearer " + root},
		"unknown role":  {"Bearer role-that-does-not-exist"},
		"the hash":      {fmt.Sprintf("Bearer %x", admin.HashToken(root))},
		"not ASCII":     {"Bearer \xe9\xff"},
		"token as name": {"Bearer ada"},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/apps", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Authorization"] = headers
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") == "" || strings.Contains(string(text), "LEAK") {
				t.Errorf("%d %s", res.StatusCode, text)
			}
		})
	}
	if status, _, _ := s.send(t, root, "GET /api/v1/apps", ""); status != 200 {
		t.Errorf("the right token: %d", status)
	}
	s.tokens = nil
	if status, _, _ := s.send(t, root, "GET /api/v1/apps", ""); status != 401 {
		t.Errorf("with no tokens at all: %d", status)
	}
	if calls := s.taken(); strings.Count(calls, "apps") != 1 {
		t.Errorf("asked: %s", calls)
	}
}

func TestHealth(t *testing.T) {
	s := open(t)
	if status, _, text := s.send(t, "", "GET /healthz", ""); status != 200 || text != "ok\n" {
		t.Errorf("healthz %d %q", status, text)
	}
	if status, header, text := s.send(t, "", "GET /schemas/event.json", ""); status != 200 || text != `{"title":"Event"}` || header.Get("Content-Type") != "application/schema+json" {
		t.Errorf("schema %d %q", status, text)
	}
	want := `{"ok":true,"components":[{"name":"nats","state":"degraded"}]}`
	if status, _, text := s.send(t, "", "GET /readyz", ""); status != 200 || text != want {
		t.Errorf("readyz %d %s", status, text)
	}
	s.ready = false
	if status, _, _ := s.send(t, "", "GET /readyz", ""); status != 503 {
		t.Errorf("not ready: %d", status)
	}
	if _, _, text := s.send(t, viewer, "GET /metrics", ""); !strings.Contains(text, "causeway_sample_total 0") {
		t.Errorf("metrics %s", text)
	}
}

// A request that cannot be used is refused before the API is asked, naming each
// field.
func TestInvalidRequests(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		target, body string
		status       int
		fields       string
	}{
		{"GET /api/v1/payloads?limit=0&since=yesterday&endpoint=A&colour=red", "", 400, "colour endpoint since limit"},
		{"GET /api/v1/payloads?limit=1&limit=2", "", 400, "limit"},
		{"GET /api/v1/payloads?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "", 400, "until"},
		{"GET /api/v1/payloads?before=" + payloadID, "", 400, "before"},
		{"GET /api/v1/payloads/..%2f..%2fetc%2fpasswd", "", 404, ""},
		{"GET /api/v1/payloads/..", "", 400, "id"},
		{"GET /api/v1/payloads/0", "", 400, "id"},
		{"GET /api/v1/payloads/pl_x?body=2", "", 400, "body id"},
		{"GET /api/v1/rejects/-1", "", 400, "id"},
		{"GET /api/v1/rejects/99999999999999999999", "", 400, "id"},
		{"GET /api/v1/dead?kind=x&state=y&reason=Z1&app=-", "", 400, "app kind state reason"},
		{"GET /api/v1/dead/" + payloadID, "", 400, "id"},
		{"POST /api/v1/dead/requeue?state=dropped", "", 400, "state"},
		{"POST /api/v1/dead/requeue", `{"app":"support"}`, 400, "app"},
		{"POST /api/v1/dead/requeue", "app=support", 400, "body"},
		{"POST /api/v1/dead/" + deadID + "/requeue", "[]", 400, "body"},
		{"POST /api/v1/rejects/readmit", `{"endpoint":"meta"}`, 400, "endpoint"},
		{"POST /api/v1/apps/support/pause", `{"name":"faq"}`, 400, "name"},
		{"POST /api/v1/replays/run_x/release", "{} {}", 400, "body"},
		{"GET /api/v1/dead?conv=x&platform=sms&since=now&before=1", "", 400, "platform conv since before"},
		{"GET /api/v1/dead/stats?limit=1", "", 400, "limit"},
		{"POST /api/v1/dead/drop", "", 400, "reason"},
		{"POST /api/v1/dead/drop", `{"reason":"` + strings.Repeat("x", 201) + `"}`, 400, "reason"},
		{"POST /api/v1/dead/" + deadID + "/drop", `{"reason":"a\nb"}`, 400, "reason"},
		{"GET /api/v1/messages?state=lost", "", 400, "state"},
		{"GET /api/v1/conversations/%3E", "", 400, "conv"},
		{"GET /api/v1/conversations?after=-1", "", 400, "after list"},
		{"GET /api/v1/conversations?list=all", "", 400, "list"},
		{"GET /api/v1/conversations:find?platform=sms", "", 400, "platform account kind identity"},
		{"POST /api/v1/conversations/" + conv + "/release?then=keep", "", 400, "then"},
		{"POST /api/v1/conversations/x/release", "", 400, "conv"},
		{"POST /api/v1/apps/a.b/pause", "", 400, "name"},
		{"POST /api/v1/brakes/account/a.b/pause", "", 400, "name"},
		{"POST /api/v1/brakes/everything/bot/resume", "", 400, "scope"},
		{"POST /api/v1/replays", "", 400, "body"},
		{"POST /api/v1/replays", "{", 400, "body"},
		{"POST /api/v1/replays", `{"sealed":"LEAKMARK"}`, 400, "sealed"},
		{"POST /api/v1/replays", `{"LEAKMARK":1}`, 400, "body"},
		{"POST /api/v1/replays", `{"sealed":true}{}`, 400, "body"},
		{"POST /api/v1/replays", `{}`, 400, "payload"},
		{"POST /api/v1/replays", `{"payload":"` + payloadID + `","sealed":true}`, 400, "payload"},
		{"POST /api/v1/replays", `{"since":"2026-11-29T00:00:00Z"}`, 400, "since"},
		{"POST /api/v1/replays", `{"payload":"../x","run":"x","conv":"*","endpoint":"*"}`, 400, "run payload conv endpoint payload endpoint"},
		{"POST /api/v1/replays", `{"payload":"` + strings.Repeat("a", 100_000) + `"}`, 413, ""},
		{"POST /api/v1/replays/other/release", "", 400, "run"},
		{"GET /api/v1/none", "", 404, ""},
		{"DELETE /api/v1/apps", "", 405, ""},
	} {
		t.Run(c.target+" "+c.fields, func(t *testing.T) {
			status, header, text := s.send(t, root, c.target, c.body)
			var p admin.Problem
			if err := json.Unmarshal([]byte(text), &p); err != nil || header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("%d %s: %v", status, text, err)
			}
			names := make([]string, 0, 4)
			for _, f := range p.Errors {
				names = append(names, f.Field)
				if f.Detail == "" {
					t.Errorf("%s without a word", f.Field)
				}
			}
			if got := strings.Join(names, " "); status != c.status || p.Status != c.status || got != c.fields {
				t.Errorf("%d, fields %s: %s", status, got, text)
			}
			if strings.Contains(text, "LEAK") {
				t.Errorf("a value is repeated: %s", text)
			}
			if calls := s.taken(); calls != "" {
				t.Errorf("and yet asked: %s", calls)
			}
		})
	}
}

// The API's errors become statuses; what is none of the gateway's words is
// logged and not shown.
func TestErrors(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		err    error
		status int
	}{
		{fmt.Errorf("x: %w", gateway.ErrNotFound), 404},
		{gateway.ErrConflict, 409},
		{fmt.Errorf("the message is accepted: %w", gateway.ErrConflict), 409},
		{gateway.ErrUnverified, 409},
		{gateway.ErrNoSecret, 409},
		{gateway.ErrUnavailable, 503},
		{context.DeadlineExceeded, 503},
		{&admin.InvalidError{Fields: []admin.InvalidField{{Field: "name", Detail: "is unknown"}}}, 400},
		{errors.New("disk full"), 500},
	} {
		s.fail = c.err
		for _, target := range []string{"GET /api/v1/payloads/7", "POST /api/v1/rejects/5/readmit", "POST /api/v1/apps/bot/pause", "GET /api/v1/sums", "GET /api/v1/messages?state=held"} {
			status, _, text := s.send(t, root, target, "")
			if status != c.status || !strings.Contains(text, `"status":`) || strings.Contains(text, "disk full") {
				t.Errorf("%v, %s: %d %s", c.err, target, status, text)
			}
			if says := strings.Contains(text, "the message is accepted"); says != strings.Contains(c.err.Error(), "accepted") {
				t.Errorf("%v: %s", c.err, text)
			}
		}
	}
	if n := s.logs.FilterMessage("admin.failed").Len(); n != 5 {
		t.Errorf("%d lines for 5 faults", n)
	}
	s.panics = true
	if status, _, text := s.send(t, root, "GET /api/v1/apps", ""); status != 500 || strings.Contains(text, "LEAK") {
		t.Errorf("panic: %d %s", status, text)
	}
	if s.logs.FilterMessage("admin.panicked").Len() != 1 {
		t.Error("the panic is not in the log")
	}
}

// A raw body is shown only once its record is written.
func TestRawBody(t *testing.T) {
	s := open(t)
	_, _, text := s.send(t, operator, "GET /api/v1/payloads/7?body=1", "")
	var got struct {
		RequestLine string `json:"request_line"`
		Raw         string `json:"raw_request_line"`
		Body        []byte `json:"body"`
		State       string `json:"state"`
		Items       []struct {
			Event string `json:"event"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := samplePayload()
	if string(got.Body) != string(want.Body) || got.Raw != want.RequestLine || got.State != "relayed" || got.Items[0].Event != "ev_x" {
		t.Errorf("%s", text)
	}
	if got.RequestLine != "POST /webhooks/wecom/corp?msg_signature=…&…&nonce=… HTTP/1.1" {
		t.Errorf("request line %q", got.RequestLine)
	}
	s.fail = gateway.ErrUnavailable
	if status, _, text := s.send(t, operator, "GET /api/v1/payloads/7?body=1", ""); status != 503 || strings.Contains(text, "body\":") {
		t.Errorf("without a record: %d %s", status, text)
	}
}
