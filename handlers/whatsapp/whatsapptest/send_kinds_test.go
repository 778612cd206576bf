package whatsapptest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// message sends the part of one type to a customer and returns the answer.
func message(t *testing.T, s *whatsapptest.Sandbox, kind, part string) (status, code int, details string) {
	t.Helper()
	return body(t, s, `"to":"+15550100025","type":"`+kind+`",`+part)
}

func body(t *testing.T, s *whatsapptest.Sandbox, rest string) (status, code int, details string) {
	t.Helper()
	status, answer := call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp",`+rest+`}`)
	var e struct {
		Error struct {
			Code int
			Data struct{ Details string } `json:"error_data"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &e); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return status, e.Error.Code, e.Error.Data.Details
}

func setTemplate(t *testing.T, s *whatsapptest.Sandbox, tpl whatsapptest.Template) {
	t.Helper()
	if err := s.SetTemplate(tpl); err != nil {
		t.Fatal(err)
	}
}

// control calls the control endpoint.
func control(t *testing.T, s *whatsapptest.Sandbox, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+sandbox.ControlPrefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func repeat(n int, s string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(s, "#", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

// What Meta takes, at its limits.
func TestTaken(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{})
	setTemplate(t, s, whatsapptest.Template{Name: "any", Language: "de", BodyParams: -1})
	setTemplate(t, s, whatsapptest.Template{Name: "two", Language: "de", BodyParams: 2})
	x := func(n int) string { return strings.Repeat("é", n) }
	for kind, parts := range map[string][]string{
		"text":     {`"text":{"body":"` + x(4096) + `","preview_url":true},"context":{"message_id":"wamid.1"}`},
		"image":    {`"image":{"id":"123","caption":"` + x(1024) + `"}`, `"image":{"link":"https://x.test/a"}`},
		"video":    {`"video":{"link":"http://x.test/a","caption":"c"}`},
		"audio":    {`"audio":{"id":"1"}`, `"audio":{"id":"1","voice":true}`},
		"document": {`"document":{"id":"1","filename":"a.pdf","caption":"c"}`},
		"sticker":  {`"sticker":{"id":"1"}`},
		"location": {`"location":{"latitude":0,"longitude":0}`, `"location":{"latitude":-90,"longitude":180,"name":"n","address":"a"}`},
		"contacts": {`"contacts":[` + repeat(257, `{"name":{"formatted_name":"A"}}`) + `]`, `"contacts":[{"name":{"formatted_name":"A","first_name":"A"},"phones":[{"phone":"+1","wa_id":"1"}]}]`},
		"reaction": {`"reaction":{"message_id":"wamid.1","emoji":"👍"}`, `"reaction":{"message_id":"wamid.1","emoji":""}`},
		"template": {
			`"template":{"name":"hello_world","language":{"code":"en_US"}}`,
			`"template":{"name":"any","language":{"code":"de"},"components":[{"type":"body","parameters":[{"type":"text","text":"x"}]},{"type":"button","sub_type":"url","index":"0","parameters":[{"type":"text","text":"x"}]}]}`,
			`"template":{"name":"two","language":{"code":"de"},"components":[{"type":"BODY","parameters":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]}`,
		},
		"interactive": {
			`"interactive":{"type":"button","header":{"type":"text","text":"` + x(60) + `"},"body":{"text":"` + x(1024) + `"},"footer":{"text":"` + x(60) + `"},"action":{"buttons":[` + repeat(3, `{"type":"reply","reply":{"id":"#`+x(255)+`","title":"#`+x(19)+`"}}`) + `]}}`,
			`"interactive":{"type":"list","body":{"text":"` + x(4096) + `"},"action":{"button":"` + x(20) + `","sections":[{"rows":[` + repeat(10, `{"id":"#`+x(199)+`","title":"`+x(24)+`","description":"`+x(72)+`"}`) + `]}]}}`,
			`"interactive":{"type":"cta_url","body":{"text":"b"},"action":{"name":"cta_url","parameters":{"display_text":"` + x(20) + `","url":"https://x.test"}}}`,
			`"interactive":{"type":"flow","body":{"text":"b"},"action":{"name":"flow","parameters":{"flow_message_version":"3","flow_id":"1","flow_cta":"c","flow_action":"navigate","flow_action_payload":{"screen":"S","data":{"a":1}}}}}`,
			`"interactive":{"type":"location_request_message","body":{"text":"b"},"action":{"name":"send_location"}}`,
		},
	} {
		for _, part := range parts {
			if status, code, details := message(t, s, kind, part); status != http.StatusOK {
				t.Errorf("%s %.80s: %d %d %s", kind, part, status, code, details)
			}
		}
	}
	for _, rest := range []string{`"status":"read","message_id":"wamid.1"`, `"status":"read","message_id":"wamid.1","typing_indicator":{"type":"text"}`} {
		if status, code, details := body(t, s, rest); status != http.StatusOK {
			t.Errorf("%s: %d %d %s", rest, status, code, details)
		}
	}
}

// What Meta refuses, with the code and the parameter.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{})
	for _, state := range []string{"paused", "disabled", "syncing"} {
		setTemplate(t, s, whatsapptest.Template{Name: state, Language: "de", State: state})
	}
	setTemplate(t, s, whatsapptest.Template{Name: "two", Language: "de", BodyParams: 2})
	x := func(n int) string { return strings.Repeat("x", n) }
	in := func(kind, rest string) string {
		return `"interactive":{"type":"` + kind + `","body":{"text":"b"},` + rest + `}`
	}
	for _, c := range []struct {
		kind, part string
		code       int
		details    string
	}{
		{"text", `"text":{"body":"` + x(4097) + `"}`, 100, "text.body"},
		{"text", `"text":{"text":"x"}`, 100, "text has an unexpected key"},
		{"text", `"text":{"body":"x"},"colour":"red"`, 100, "the body has an unexpected key"},
		{"text", `"text":{"body":"x"},"context":{"message_id":"1"}`, 131009, "context.message_id"},
		{"poll", `"text":{"body":"x"}`, 131051, "type"},
		{"image", `"text":{"body":"x"}`, 131008, "image"},
		{"image", `"image":{}`, 131008, "image.id or image.link"},
		{"image", `"image":{"id":"1","link":"https://x.test"}`, 100, "both"},
		{"image", `"image":{"id":"one"}`, 100, "image.id"},
		{"image", `"image":{"link":"ftp://x.test"}`, 131009, "image.link"},
		{"image", `"image":{"id":"1","caption":"` + x(1025) + `"}`, 100, "image.caption"},
		{"audio", `"audio":{"id":"1","caption":"c"}`, 100, "audio.caption"},
		{"sticker", `"sticker":{"id":"1","caption":"c"}`, 100, "sticker.caption"},
		{"video", `"video":{"id":"1","filename":"f"}`, 100, "video.filename"},
		{"image", `"image":{"id":"1","voice":true}`, 100, "image.voice"},
		{"location", `"location":{"latitude":1}`, 131008, "location.longitude"},
		{"location", `"location":{"latitude":91,"longitude":1}`, 131009, "location.latitude"},
		{"contacts", `"contacts":[]`, 131008, "contacts"},
		{"contacts", `"contacts":[{"name":{"first_name":"A"}}]`, 131008, "contacts[0].name.formatted_name"},
		{"contacts", `"contacts":[` + repeat(258, `{"name":{"formatted_name":"A"}}`) + `]`, 100, "257"},
		{"reaction", `"reaction":{"message_id":"wamid.1"}`, 131008, "reaction.emoji"},
		{"reaction", `"reaction":{"emoji":"👍"}`, 131008, "reaction.message_id"},
		{"reaction", `"reaction":{"message_id":"wamid.1","emoji":"ok"}`, 131009, "reaction.emoji"},
		{"template", `"template":{"language":{"code":"de"}}`, 131008, "template.name"},
		{"template", `"template":{"name":"two"}`, 131008, "template.language.code"},
		{"template", `"template":{"name":"none","language":{"code":"de"}}`, 132001, ""},
		{"template", `"template":{"name":"hello_world","language":{"code":"de"}}`, 132001, ""},
		{"template", `"template":{"name":"paused","language":{"code":"de"}}`, 132015, ""},
		{"template", `"template":{"name":"disabled","language":{"code":"de"}}`, 132016, ""},
		{"template", `"template":{"name":"syncing","language":{"code":"de"}}`, 134101, ""},
		{"template", `"template":{"name":"two","language":{"code":"de"}}`, 132000, "0, expected 2"},
		{"template", `"template":{"name":"two","language":{"code":"de"},"components":[{"type":"tail"}]}`, 131009, "components[0].type"},
		{"template", `"template":{"name":"two","language":{"code":"de"},"components":[{"type":"body","parameters":[{"text":"x"}]}]}`, 131008, "parameters[0].type"},
		{"interactive", in("cards", `"action":{}`), 131009, "interactive.type"},
		{"interactive", `"interactive":{"type":"button","action":{"buttons":[]}}`, 131008, "interactive.body.text"},
		{"interactive", in("button", `"action":{"buttons":[]}`), 131008, "buttons"},
		{"interactive", in("button", `"action":{"buttons":[`+repeat(4, `{"type":"reply","reply":{"id":"#","title":"#"}}`)+`]}`), 131009, "at most 3"},
		{"interactive", in("button", `"action":{"buttons":[{"type":"reply","reply":{"id":"1","title":"`+x(21)+`"}}]}`), 100, "buttons[0].reply.title"},
		{"interactive", in("button", `"action":{"buttons":[{"type":"reply","reply":{"id":"`+x(257)+`","title":"t"}}]}`), 100, "buttons[0].reply.id"},
		{"interactive", in("button", `"action":{"buttons":[`+repeat(2, `{"type":"reply","reply":{"id":"1","title":"#"}}`)+`]}`), 131009, "is there twice"},
		{"interactive", in("button", `"footer":{"text":"`+x(61)+`"},"action":{}`), 100, "interactive.footer.text"},
		{"interactive", in("button", `"header":{"type":"text","text":"`+x(61)+`"},"action":{}`), 100, "interactive.header.text"},
		{"interactive", in("list", `"header":{"type":"image","image":{"id":"1"}},"action":{}`), 131009, "interactive.header.type"},
		{"interactive", in("list", `"action":{"button":"`+x(21)+`","sections":[]}`), 100, "interactive.action.button"},
		{"interactive", in("list", `"action":{"button":"b","sections":[]}`), 131008, "interactive.action.sections"},
		{"interactive", in("list", `"action":{"button":"b","sections":[`+repeat(2, `{"rows":[{"id":"#","title":"t"}]}`)+`]}`), 131008, "sections[0].title"},
		{"interactive", in("list", `"action":{"button":"b","sections":[{"rows":[`+repeat(11, `{"id":"#","title":"t"}`)+`]}]}`), 131009, "at most 10 rows"},
		{"interactive", in("list", `"action":{"button":"b","sections":[{"rows":[{"id":"1","title":"`+x(25)+`"}]}]}`), 100, "rows[0].title"},
		{"interactive", in("list", `"action":{"button":"b","sections":[{"rows":[{"id":"1","title":"t","description":"`+x(73)+`"}]}]}`), 100, "rows[0].description"},
		{"interactive", in("list", `"action":{"button":"b","sections":[{"rows":[{"id":"`+x(201)+`","title":"t"}]}]}`), 100, "rows[0].id"},
		{"interactive", in("cta_url", `"action":{"name":"cta_url","parameters":{"display_text":"t","url":"no"}}`), 131009, "parameters.url"},
		{"interactive", in("cta_url", `"action":{"name":"cta_url","parameters":{"display_text":"`+x(21)+`","url":"https://x.test"}}`), 100, "display_text"},
		{"interactive", in("flow", `"action":{"name":"flow","parameters":{"flow_message_version":"2","flow_id":"1","flow_cta":"c"}}`), 131009, "flow_message_version"},
		{"interactive", in("flow", `"action":{"name":"flow","parameters":{"flow_message_version":"3","flow_cta":"c"}}`), 131008, "flow_id"},
		{"interactive", in("flow", `"action":{"name":"flow","parameters":{"flow_message_version":"3","flow_id":"1","flow_cta":"c","flow_action_payload":{"screen":"S","data":{}}}}`), 131009, "data"},
	} {
		status, code, details := message(t, s, c.kind, c.part)
		if code != c.code || status < 400 || !strings.Contains(details, c.details) {
			t.Errorf("%s %.120s: %d %d %q, want %d %q", c.kind, c.part, status, code, details, c.code, c.details)
		}
	}
	for rest, want := range map[string]int{
		`"status":"read"`:                        131008,
		`"status":"read","message_id":"1"`:       131009,
		`"status":"sent","message_id":"wamid.1"`: 131009,
		`"status":"read","message_id":"wamid.1","typing_indicator":{"type":"voice"}`: 131009,
		`"status":"read","message_id":"wamid.1","to":"+15550100025"`:                 100,
	} {
		if _, code, details := body(t, s, rest); code != want {
			t.Errorf("%s: %d %s, want %d", rest, code, details, want)
		}
	}
	if n := s.CallLog().Summary().Accepted; n != 0 {
		t.Errorf("%d accepted", n)
	}
}

// Groups take texts, media and templates, and need a member.
func TestGroupsTakeLess(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{})
	if err := s.SetGroup("ZW1wdHk", nil); err != nil {
		t.Fatal(err)
	}
	setTemplate(t, s, whatsapptest.Template{Name: "code", Language: "de", Category: "authentication"})
	for rest, want := range map[string]int{
		`"recipient_type":"group","to":"Zm9v","type":"text","text":{"body":"x"}`:                                                0,
		`"recipient_type":"group","to":"Zm9v","type":"image","image":{"id":"1"}`:                                                0,
		`"recipient_type":"group","to":"Zm9v","type":"template","template":{"name":"hello_world","language":{"code":"en_US"}}`:  0,
		`"recipient_type":"group","to":"Zm9v","type":"location","location":{"latitude":1,"longitude":1}`:                        131051,
		`"recipient_type":"group","to":"Zm9v","type":"reaction","reaction":{"message_id":"wamid.1","emoji":"👍"}`:                131051,
		`"recipient_type":"group","to":"ZW1wdHk","type":"text","text":{"body":"x"}`:                                             131020,
		`"recipient_type":"individual","to":"Zm9v","type":"text","text":{"body":"x"}`:                                           131009,
		`"recipient":"US.40917755238106644215","type":"template","template":{"name":"code","language":{"code":"de"}}`:           131062,
		`"recipient":"US.40917755238106644215","type":"template","template":{"name":"hello_world","language":{"code":"en_US"}}`: 0,
	} {
		if _, code, details := body(t, s, rest); code != want {
			t.Errorf("%s: %d %s, want %d", rest, code, details, want)
		}
	}
}

// Templates are set and listed over the control endpoint; the answer to one says
// what became of it.
func TestTemplates(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{})
	if status, answer := control(t, s, http.MethodPut, "template", `{"name":"offer","language":"de","state":"held","category":"marketing","body_params":0}`); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	_, answer := control(t, s, http.MethodGet, "templates", "")
	var list []whatsapptest.Template
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatal(err)
	}
	want := []whatsapptest.Template{
		{Name: "hello_world", Language: "en_US", State: "approved", Category: "utility"},
		{Name: "offer", Language: "de", State: "held", Category: "marketing"},
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{`"hello_world","language":{"code":"en_US"}`: "accepted", `"offer","language":{"code":"de"}`: "held_for_quality_assessment"} {
		_, answer := call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp","to":"+15550100025","type":"template","template":{"name":`+name+`}}`)
		if !strings.Contains(answer, `"message_status":"`+want+`"`) {
			t.Errorf("%s: %s", name, answer)
		}
	}
	for _, bad := range []string{`{"name":"x"}`, `{"name":"x","language":"de","state":"odd"}`, `{"name":"x","language":"de","category":"odd"}`, `{"name":"x","language":"de","body_params":-2}`} {
		if status, answer := control(t, s, http.MethodPut, "template", bad); status != 400 {
			t.Errorf("%s: %d %s", bad, status, answer)
		}
	}
}

// Every code that a send can be answered with can be provoked, at once and as a
// failed status, and has the words of Meta.
func TestEveryErrorCanBeProvoked(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1, Sent: time.Millisecond, Delivered: time.Millisecond, Read: time.Millisecond})
	for _, c := range whatsapp.Codes() {
		if c.Code == 0 {
			continue // a fault without a code is another kind of fault; 190 means the same
		}
		if status, answer := control(t, s, http.MethodPost, "faults", fmt.Sprintf(`{"code":%d,"type":"image","next":1}`, c.Code)); status != 200 {
			t.Fatalf("%d: %d %s", c.Code, status, answer)
		}
		if status, _, _ := message(t, s, "text", `"text":{"body":"x"}`); status != 200 {
			t.Errorf("%d: the fault hit another type", c.Code)
		}
		for range 3 {
			<-g.came
		}
		status, code, details := message(t, s, "image", `"image":{"id":"1"}`)
		if code != c.Code || status < 400 || details == "" || strings.Contains(details, "sandbox") {
			t.Errorf("%d: %d %d %s", c.Code, status, code, details)
		}
		if _, err := s.Faults().Add(sandbox.Fault{Stage: sandbox.After, FailCode: c.Code, Next: 1}); err != nil {
			t.Fatal(err)
		}
		if status, _, _ := message(t, s, "text", `"text":{"body":"x"}`); status != 200 {
			t.Errorf("%d: not taken", c.Code)
		}
		st := decode(t, <-g.came).Entry[0].Changes[0].Value.Statuses[0]
		if st["status"] != "failed" || st["errors"].([]any)[0].(map[string]any)["code"] != float64(c.Code) {
			t.Errorf("%d: %v", c.Code, st)
		}
	}
}

// The log of calls tells the type; marking read is in it and is no message.
func TestLogOfKinds(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{})
	message(t, s, "image", `"image":{"id":"1","caption":"look"},"biz_opaque_callback_data":"m1"`)
	message(t, s, "interactive", `"interactive":{"type":"cta_url","body":{"text":"b"},"action":{"name":"cta_url","parameters":{"display_text":"t","url":"https://x.test"}}},"biz_opaque_callback_data":"m2"`)
	for range 2 {
		body(t, s, `"status":"read","message_id":"wamid.1"`)
	}
	if _, err := s.Faults().Add(sandbox.Fault{Type: "read", Code: 131016}); err != nil {
		t.Fatal(err)
	}
	if status, code, _ := body(t, s, `"status":"read","message_id":"wamid.1"`); status != 500 || code != 131016 {
		t.Errorf("%d %d", status, code)
	}
	var got []string
	for _, c := range s.Calls() {
		got = append(got, fmt.Sprintf("%s %s %s %v %v", c.Type, c.To, c.Text, c.Accepted, c.MessageID != ""))
	}
	want := []string{"image 15550100025 look true true", "interactive 15550100025 b true true", "read   true false", "read   true false", "read   false false"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if sum := s.CallLog().Summary(); len(sum.Twice) != 0 || sum.Overlaps != 0 {
		t.Errorf("%+v", sum)
	}
}
