package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// wrongFields posts a submission and returns the fields of the refusal.
func wrongFields(t *testing.T, s *surface, body string) (int, []string) {
	t.Helper()
	status, _, text := s.send(t, operator, "POST /api/v1/messages", body)
	var p admin.Problem
	if status >= 400 && json.Unmarshal([]byte(text), &p) != nil {
		t.Fatalf("%d %s", status, text)
	}
	if strings.Contains(text, "LEAK") {
		t.Errorf("shown: %s", text)
	}
	fields := []string{}
	for _, f := range p.Errors {
		if f.Detail == "" {
			t.Errorf("%s has no sentence", f.Field)
		}
		fields = append(fields, f.Field)
	}
	return status, fields
}

// Every field that cannot be used is named, all of them at once, and nothing is
// submitted.
func TestSubmitNamesWhatIsWrong(t *testing.T) {
	s := open(t)
	const good = `"account":"shop-a","to":{"kind":"phone","value":"15550100001"}`
	for body, want := range map[string][]string{
		`{}`: {"account", "content"},
		`{"account":"Shop A","to":{"kind":"fax"},"conversation":"x","content":{},"parts":[{}],"idempotency_key":"LEAK\u00e9","scheduled_at":"LEAK","expires_at":"2026-13-01"}`: {
			"account", "to", "conversation", "content", "idempotency_key", "scheduled_at", "expires_at", "parts[0].text"},
		`{"account":"shop-a","to":{"kind":"fax","value":""},"content":{"text":"x"}}`:                                                             {"to.kind", "to.value"},
		`{"account":"shop-a","to":{"kind":"phone","value":"1 LEAK"},"content":{"text":"x"}}`:                                                     {"to.value"},
		`{` + good + `,"content":"LEAK"}`:                                                                                                        {"content"},
		`{` + good + `,"content":{"type":"telegram"}}`:                                                                                           {"content.type"},
		`{` + good + `,"content":{"text":"x","txt":"LEAK"}}`:                                                                                     {"content.txt"},
		`{` + good + `,"content":{"type":"image","file":{"id":7}}}`:                                                                              {"content.file.id"},
		`{` + good + `,"content":{"type":"location","location":{"latitude":1}}}`:                                                                 {"content.location"},
		`{` + good + `,"parts":[{"text":"x"},{"type":"buttons","text":"x","buttons":[{"id":"1","title":"LEAK is much too long for a title"}]}]}`: {"parts[1].buttons[0].title"},
		`{` + good + `,"parts":[` + strings.Repeat(`{"text":"x"},`, 20) + `{"text":"x"}]}`:                                                       {"parts"},
		`{` + good + `,"content":{"text":"x"},"when":"now"}`:                                                                                     {"when"},
		`{` + good + `,"content":{"text":"x"},"priority":10,"author":"LEAK","on_failure":"LEAK","callback":"L E A K","reply_to":"` + strings.Repeat("r", 257) + `"}`: {
			"reply_to", "priority", "author", "on_failure", "callback"},
		`{` + good + `,"content":{"text":"x"},"priority":-1,"send_window":{"from":"9","to":"18:00","time_zone":"UTC"}}`:       {"priority", "send_window.from"},
		`{` + good + `,"content":{"text":"x"},"send_window":{"from":"09:00","to":"18:00","days":["LEAK"],"time_zone":"UTC"}}`: {"send_window.days"},
		`{` + good + `,"content":{"text":"x"},"send_window":{"from":"09:00","to":"18:00","time_zone":"Europe/LEAK"}}`:         {"send_window.time_zone"},
		`{` + good + `,"content":{"text":"x"},"send_window":{"from":"9","to":"25:00","days":["LEAK"],"time_zone":"LEAK"}}`:    {"send_window.from", "send_window.to", "send_window.days", "send_window.time_zone"},
		`{` + good + `,"content":{"text":"x"},"send_window":{"when":"LEAK"}}`:                                                 {"when"},
		`{` + good + `,"content":{"text":"x","quote":"m1"},"reply_to":"m2"}`:                                                  {"reply_to"},
		`{` + good + `,"content":{"type":"reaction","emoji":"x","quote":"m1"},"priority":"high"}`:                             {"priority"},
		`{` + good + `,"content":{"text":"x"}} LEAK`:                                                                          {"body"},
		`[]`:       {"body"},
		`not JSON`: {"body"},
		`{` + good + `,"content":{"text":"x"},"idempotency_key":"` + strings.Repeat("k", 129) + `"}`: {"idempotency_key"},
	} {
		status, fields := wrongFields(t, s, body)
		if d := cmp.Diff(want, fields); status != 400 || d != "" {
			t.Errorf("%.100s: %d\n%s", body, status, d)
		}
	}
	if calls := s.taken(); calls != "" {
		t.Errorf("submitted: %s", calls)
	}
	if status, _ := wrongFields(t, s, `{`+good+`,"content":{"text":"`+strings.Repeat("x", 1<<20)+`"}}`); status != 413 {
		t.Errorf("too large: %d", status)
	}
}

// What is asked for comes through, and the answer says whether it was new.
func TestSubmit(t *testing.T) {
	s := open(t)
	s.known = false
	status, _, text := s.send(t, operator, "POST /api/v1/messages", `{"account":"corp-a","to":{"kind":"group","value":"C1"},
		"parts":[{"text":"one"},{"type":"markdown","text":"two"}],"idempotency_key":"order-17",
		"scheduled_at":"2026-12-01T08:00:00+01:00","expires_at":"2026-12-01T08:30:00.5Z"}`)
	want := `{"id":"` + messageID + `","conv":"` + conv + `","account":"shop","state":"waiting","messages":["` + messageID + `"]}`
	if status != 202 || strings.TrimSpace(text) != want {
		t.Errorf("%d %s", status, text)
	}
	asked := &gateway.Submission{Key: "order-17", Account: "corp-a", By: "otto", Priority: gateway.DefaultPriority,
		Chat:    gateway.Chat{Kind: gateway.ChatGroup, Identities: []gateway.Identity{{Kind: "group", Value: "C1"}}},
		Replies: []gateway.Reply{{Type: "text", Text: "one"}, {Type: "markdown", Text: "two"}},
		DueAt:   time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC), ExpiresAt: time.Date(2026, 12, 1, 8, 30, 0, 5e8, time.UTC)}
	if d := cmp.Diff(asked, s.submitted); d != "" {
		t.Error(d)
	}
	status, _, text = s.send(t, operator, "POST /api/v1/messages", `{"account":"corp-a","to":{"kind":"userid","value":"u1"},"content":{"text":"hi"},"priority":0,
		"send_window":{"from":"09:00","to":"18:00","days":["mon"],"time_zone":"Europe/Berlin"},"author":"human","even_in_takeover":true,
		"reply_to":"m1","on_failure":"restart","callback":"crm"}`)
	asked = &gateway.Submission{Account: "corp-a", By: "otto", Human: true, EvenInTakeover: true, OnFailure: gateway.FailureRestart, Callback: "crm",
		Window:  &gateway.SendWindow{From: "09:00", To: "18:00", Days: []string{"mon"}, TimeZone: "Europe/Berlin"},
		Chat:    gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "userid", Value: "u1"}}},
		Replies: []gateway.Reply{{Type: "text", Text: "hi", Quote: "m1"}}}
	if d := cmp.Diff(asked, s.submitted); status != 202 || d != "" {
		t.Errorf("%d %s\n%s", status, text, d)
	}
	body := `{"account":"group-robot","content":{"text":"hi"}}`
	s.known = true
	if status, _, text := s.send(t, operator, "POST /api/v1/messages", body); status != 200 {
		t.Errorf("a known key: %d %s", status, text)
	}
	for _, c := range []struct {
		err    error
		status int
		fields []string
	}{
		{fmt.Errorf("x: %w", gateway.ErrConflict), 409, []string{"idempotency_key"}},
		{gateway.ErrUnavailable, 503, []string{}},
		{&admin.InvalidError{Fields: []admin.InvalidField{{Field: "account", Detail: "d"}, {Field: "parts[0].text", Detail: "d"}}}, 400, []string{"account", "content.text"}},
	} {
		s.fail = c.err
		status, fields := wrongFields(t, s, body)
		if d := cmp.Diff(c.fields, fields); status != c.status || d != "" {
			t.Errorf("%v: %d %s", c.err, status, d)
		}
	}
}

// A message is shown with its calls.
func TestMessageIsShown(t *testing.T) {
	s := open(t)
	status, _, text := s.send(t, viewer, "GET /api/v1/messages/"+messageID, "")
	var m struct {
		ID    string
		Type  string
		Calls []map[string]any
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || status != 200 || m.ID != messageID || m.Type != "text" || len(m.Calls) != 2 {
		t.Fatalf("%d %s", status, text)
	}
	if m.Calls[0]["outcome"] != nil || m.Calls[1]["outcome"] != "retry" || m.Calls[1]["code"] != "busy" {
		t.Errorf("calls %v", m.Calls)
	}
	for _, target := range []string{"GET /api/v1/messages/ms_1", "POST /api/v1/messages/none/cancel"} {
		if status, _, text := s.send(t, operator, target, ""); status != 400 {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
}
