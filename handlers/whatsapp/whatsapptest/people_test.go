package whatsapptest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// statusesOf takes n callbacks and renders their statuses, one word each, in the
// order of the callbacks; of a group in one callback joined.
func statusesOf(t *testing.T, g *gatewayStub, n int) []string {
	t.Helper()
	var out []string
	for range n {
		var words []string
		for _, st := range readStatuses(t, <-g.came) {
			word := fmt.Sprint(st["status"])
			if p, ok := st["recipient_participant_id"]; ok {
				word += "@" + fmt.Sprint(p)
			}
			if errs, ok := st["errors"].([]any); ok {
				word += fmt.Sprint("!", errs[0].(map[string]any)["code"])
			}
			words = append(words, word)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func readStatuses(t *testing.T, body string) []map[string]any {
	t.Helper()
	return decode(t, body).Entry[0].Changes[0].Value.Statuses
}

// sendRaw sends a message of any type and returns its wamid.
func sendRaw(t *testing.T, s *whatsapptest.Sandbox, to, rest string) string {
	t.Helper()
	status, body := call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp",`+to+`,`+rest+`}`)
	var a struct{ Messages []struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != 200 || len(a.Messages) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	return a.Messages[0].ID
}

const aText = `"type":"text","text":{"body":"x"}`

// Group receipts come one POST a state, with one status per participant; the one
// for whom it fails says so once.
func TestGroupStatuses(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1})
	if err := s.SetGroup("Zm9v", []whatsapptest.Participant{
		{Customer: whatsapptest.Customer{Phone: "15550100001"}},
		{Customer: whatsapptest.Customer{Phone: "15550100002"}, FailCode: 131026},
		{Customer: whatsapptest.Customer{UserID: "GB.8fQ2"}},
	}); err != nil {
		t.Fatal(err)
	}
	id := sendRaw(t, s, `"recipient_type":"group","to":"Zm9v"`, aText)
	var got []string
	var items []gateway.Item
	for range 3 {
		body := <-g.came
		for _, it := range readBack(t, []byte(body)) {
			if it.Chat.Kind != gateway.ChatGroup || it.Content.Status.MessageID != id {
				t.Errorf("%+v", it.Content.Status)
			}
			word := string(it.Content.Status.State)
			if p := it.Content.Status.Participant; p != nil {
				word += "@" + p.Kind
			}
			items, got = append(items, it), append(got, word)
		}
	}
	want := []string{"sent", "delivered@bsuid", "delivered@bsuid", "failed@bsuid", "read@bsuid", "read@bsuid"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	keys := map[string]bool{}
	for i := range items {
		keys[items[i].Key] = true
	}
	if len(keys) != len(want) {
		t.Errorf("%d facts of %d", len(keys), len(want))
	}
	if err := s.SetGroup("Zm9v", make([]whatsapptest.Participant, 9)); err == nil {
		t.Error("nine people in a group")
	}
}

// What comes after a message was taken, by what it is and what was switched on.
func TestWhichStatusesCome(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault sandbox.Fault
		rest  string
		way   whatsapptest.Statuses
		want  []string
	}{
		"text":             {rest: aText, want: []string{"sent", "delivered", "read"}},
		"voice note":       {rest: `"type":"audio","audio":{"link":"https://files.example.test/note.ogg","voice":true}`, want: []string{"sent", "delivered", "read", "played"}},
		"a sound file":     {rest: `"type":"audio","audio":{"link":"https://files.example.test/song.mp3"}`, want: []string{"sent", "delivered", "read"}},
		"reaction":         {rest: `"type":"reaction","reaction":{"message_id":"wamid.HBgLMTU1NTAxMDAwMjUVAgASGBQzQQA=","emoji":"👍"}`, want: []string{"sent"}},
		"never read":       {rest: aText, way: whatsapptest.Statuses{ReadMS: -1}, want: []string{"sent", "delivered"}},
		"failed at once":   {rest: aText, fault: sandbox.Fault{FailCode: 131047}, want: []string{"failed!131047"}},
		"failed afterward": {rest: aText, fault: sandbox.Fault{FailCode: 131049, FailAfterSent: true}, want: []string{"sent", "failed!131049"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, nil)
			s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1})
			s.SetStatuses(tc.way)
			if tc.fault.FailCode != 0 {
				tc.fault.Stage = sandbox.After
				if _, err := s.Faults().Add(tc.fault); err != nil {
					t.Fatal(err)
				}
			}
			sendRaw(t, s, `"to":"+15550100025"`, tc.rest)
			if d := cmp.Diff(tc.want, statusesOf(t, g, len(tc.want))); d != "" {
				t.Error(d)
			}
			flush(t, s)
			if len(g.came) != 0 {
				t.Errorf("one more came: %s", <-g.came)
			}
		})
	}
}

// The price comes with sent and delivered; old webhooks tell of a conversation.
func TestStatusByVersion(t *testing.T) {
	t.Parallel()
	for version, conversation := range map[int]bool{23: true, 24: false, 0: false} {
		g := newGateway(t, nil)
		s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1, WebhookVersion: version})
		sendRaw(t, s, `"to":"+15550100025"`, aText)
		for _, state := range []string{"sent", "delivered", "read"} {
			st := readStatuses(t, <-g.came)[0]
			_, has := st["conversation"]
			if priced := st["pricing"] != nil; st["status"] != state || priced != (state != "read") || has != (conversation && priced) {
				t.Errorf("version %d: %v", version, st)
			}
		}
	}
}

// A customer who hides the number is reached by the BSUID, and statuses name no
// number; one who shows it is named by both.
func TestHiddenPhone(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1})
	const user = "GB.8fQ2mXw07LrTzK41vBnC"
	for _, hidden := range []bool{true, false} {
		if err := s.SetCustomer(whatsapptest.Customer{Phone: "447700900518", UserID: user, Username: "ines.k", HidePhone: hidden}); err != nil {
			t.Fatal(err)
		}
		sendRaw(t, s, `"recipient":"`+user+`"`, aText)
		for range 3 {
			st := readStatuses(t, <-g.came)[0]
			if _, phone := st["recipient_id"]; phone == hidden || st["recipient_user_id"] != user {
				t.Errorf("hidden %v: %v", hidden, st)
			}
		}
		s.Customer("447700900518", "it is me")
		v := decode(t, <-g.came).Entry[0].Changes[0].Value
		if _, phone := v.Messages[0]["from"]; phone == hidden || v.Messages[0]["from_user_id"] != user ||
			v.Contacts[0]["profile"].(map[string]any)["username"] != "ines.k" {
			t.Errorf("hidden %v: %v", hidden, v)
		}
	}
}

// A new number brings a new BSUID and a system message. The old number reaches
// nobody; who has it later is another person.
func TestMove(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1})
	const before, after = "15550100025", "15550100077"
	id, err := s.Move("+"+before, after)
	if err != nil {
		t.Fatal(err)
	}
	it := readBack(t, []byte(<-g.came))[0]
	if it.Content.ID != id || !slices.ContainsFunc(it.Chat.Identities, func(i gateway.Identity) bool { return i.Value == after }) ||
		!slices.ContainsFunc(it.Chat.Identities, func(i gateway.Identity) bool { return i.Value == whatsapptest.BSUID(before) }) {
		t.Errorf("system message %+v", it.Chat)
	}
	sendRaw(t, s, `"to":"+`+before+`"`, aText)
	sendRaw(t, s, `"recipient":"`+whatsapptest.BSUID(before)+`"`, aText)
	if d := cmp.Diff([]string{"failed!131026", "failed!131026"}, statusesOf(t, g, 2)); d != "" {
		t.Error(d)
	}
	sendRaw(t, s, `"to":"+`+after+`"`, aText)
	for range 3 {
		if st := readStatuses(t, <-g.came)[0]; st["recipient_user_id"] != whatsapptest.BSUID(after) || st["status"] == "failed" {
			t.Errorf("%v", st)
		}
	}
	s.Customer(before, "I have this number now")
	m := decode(t, <-g.came).Entry[0].Changes[0].Value.Messages[0]
	if m["from"] != before || m["from_user_id"] == whatsapptest.BSUID(before) || m["from_user_id"] == "" {
		t.Errorf("the next owner is the one before: %v", m)
	}
	// Only the id.
	if _, err := s.Move(after, ""); err != nil {
		t.Fatal(err)
	}
	sys := decode(t, <-g.came).Entry[0].Changes[0].Value.Messages[0]["system"].(map[string]any)
	if sys["type"] != "user_changed_user_id" || sys["previous_user_id"] != whatsapptest.BSUID(after) {
		t.Errorf("%v", sys)
	}
	s.Customer(after, "still me")
	if m := decode(t, <-g.came).Entry[0].Changes[0].Value.Messages[0]; m["from"] != after || m["from_user_id"] != sys["user_id"] {
		t.Errorf("%v", m)
	}
}

// The control endpoint reaches all of it, and names what is wrong.
func TestControlPeople(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1})
	steps := []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"PUT", "customer", `{"phone":"+447700900518","username":"ines.k","hide_phone":true}`, 200, "ines.k"},
		{"PUT", "customer", `{}`, 400, "phone or user_id"},
		{"PUT", "customer", `{"user_id":"x"}`, 400, "user_id must be like"},
		{"PUT", "customer", `{"phone":"12"}`, 400, "7 to 15 digits"},
		{"POST", "simulate", `{"kind":"reaction","customer":{"phone":"447700900518"},"target":"wamid.t","emoji":"👍"}`, 200, "wamid."},
		{"POST", "simulate", `{"kind":"fax"}`, 400, "no kind of callback"},
		{"POST", "simulate", `{"knid":"fax"}`, 400, "unknown field"},
		{"POST", "move", `{"from":"15550100001","to":"15550100099x"}`, 400, "7 to 15 digits"},
		{"POST", "move", `{"from":"","to":"15550100098"}`, 400, "from must be set"},
		{"POST", "move", `{"from":"15550100001","to":"15550100098"}`, 200, "wamid."},
		{"PUT", "group", `{"group":"Zm9v","participants":[{"phone":"15550100001","fail_code":131026}]}`, 200, "131026"},
		{"PUT", "group", `{}`, 400, "group must be set"},
		{"PUT", "statuses", `{"version":23,"read_ms":-1}`, 200, `"version":23`},
		{"PUT", "statuses", `{"version":-1}`, 400, "version"},
		{"PUT", "statuses", `{"played_ms":99999999}`, 400, "at most an hour"},
		{"GET", "statuses", ``, 200, "Zm9v"},
	}
	for _, st := range steps {
		req, err := http.NewRequestWithContext(t.Context(), st.method, s.URL()+sandbox.ControlPrefix+st.path, strings.NewReader(st.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, res); res.StatusCode != st.status || !strings.Contains(got, st.says) {
			t.Errorf("%s %s %s: %d %s", st.method, st.path, st.body, res.StatusCode, got)
		}
	}
	reaction := decode(t, <-g.came).Entry[0].Changes[0].Value.Messages[0]
	if _, phone := reaction["from"]; phone || reaction["type"] != "reaction" {
		t.Errorf("%v", reaction)
	}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
