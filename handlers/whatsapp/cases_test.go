package whatsapp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// TestCase01EscapedBody: the signature is over the bytes; the same JSON written
// anew does not pass, and the text comes out decoded.
func TestCase01EscapedBody(t *testing.T) {
	body := read(t, "case-01-escaped-body.json")
	items := decode(t, body)
	if len(items) != 1 || items[0].Content.Text != "see http://example.test/a?x=1&y=2 <b> café user@example.test 你好" {
		t.Fatalf("text %q", items[0].Content.Text)
	}
	if items[0].Content.From.Name != "René 😀" {
		t.Errorf("name %q", items[0].Content.From.Name)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	r := post(body)
	for _, other := range [][]byte{again, body[:len(body)-1], append([]byte("\xef\xbb\xbf"), body...)} {
		_, err := endpoint().Verify(&handlers.Request{Header: r.Header, Body: other})
		wantErr(t, err, gateway.ErrUnverified)
	}
	if !strings.Contains(string(items[0].Content.Raw), `caf\u00e9 user\u0040example.test 你好`) {
		t.Errorf("the raw part lost its spelling: %s", items[0].Content.Raw)
	}
}

// TestCase13Batch: two entries, seven changes, odd items between good ones.
func TestCase13Batch(t *testing.T) {
	body := read(t, "case-13-batch.json")
	items := decode(t, body)
	var order []string
	n := map[gateway.Kind]int{}
	for i := range items {
		it := &items[i]
		n[it.Kind]++
		if it.Err != "" {
			t.Errorf("%s: %s", it.Content.ID, it.Err)
		}
		if it.Chat.Identities[0].Value == "15550100001" && strings.HasPrefix(it.Key, "m:") {
			order = append(order, it.Content.ID)
		}
	}
	if diff := cmp.Diff([]string{"wamid.B1", "wamid.B2", "wamid.B3", "wamid.B7"}, order); diff != "" {
		t.Errorf("order of one sender:\n%s", diff)
	}
	// Four texts; unsupported, a new type and the errors are notices, the new
	// number of a customer and the news of the account are state.
	want := map[gateway.Kind]int{gateway.KindMessage: 4, gateway.KindStatus: 2, gateway.KindNotice: 3, gateway.KindState: 2}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Errorf("kinds:\n%s", diff)
	}
	again := decode(t, body)
	if diff := cmp.Diff(items, again); diff != "" {
		t.Errorf("the same POST gave other items:\n%s", diff)
	}
	keys := map[string]bool{}
	for i := range items {
		keys[gateway.EventID("whatsapp", &items[i])] = true
	}
	if len(keys) != len(items) {
		t.Errorf("%d ids for %d items", len(keys), len(items))
	}
}

// TestCase15PhoneAlias: numbers are identities as received; no digit is added
// or taken by a rule, and a BSUID that begins like a country is left alone.
func TestCase15PhoneAlias(t *testing.T) {
	var script struct {
		Steps []struct {
			From   string `json:"inbound_from"`
			UserID string `json:"inbound_user_id"`
		} `json:"_steps"`
	}
	if err := json.Unmarshal(read(t, "case-15-phone-alias.json"), &script); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, step := range script.Steps {
		switch {
		case step.From != "":
			it := decode(t, texts(t, step.From, "wamid.C15"))[0]
			want := gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: step.From}}}
			if diff := cmp.Diff(want, it.Chat); diff != "" {
				t.Errorf("%s:\n%s", step.From, diff)
			}
			seen++
		case step.UserID != "":
			it := decode(t, inValue(`"messages":[{"from_user_id":"`+step.UserID+`","id":"wamid.C15","timestamp":"1","type":"text","text":{"body":"x"}}]`))[0]
			if got := it.Chat.Identities; len(got) != 1 || got[0] != (gateway.Identity{Kind: "bsuid", Value: step.UserID}) {
				t.Errorf("%s became %v", step.UserID, got)
			}
			seen++
		}
	}
	if seen < 5 {
		t.Errorf("only %d inbound steps", seen)
	}
	// Where the platform itself names both numbers in one item, both are kept.
	it := decode(t, inValue(`"contacts":[{"wa_id":"551100000001","user_id":"BR.1"}],
		"messages":[{"from":"5511900000001","from_user_id":"BR.1","id":"wamid.C15","timestamp":"1","type":"text","text":{"body":"x"}}]`))[0]
	want := []gateway.Identity{
		{Kind: "bsuid", Value: "BR.1"}, {Kind: "phone", Value: "5511900000001"}, {Kind: "phone", Value: "551100000001"},
	}
	if diff := cmp.Diff(want, it.Chat.Identities); diff != "" {
		t.Error(diff)
	}
}

// TestCase20StatusOrder: four statuses, three facts; the repeat is the same
// event, whatever came first.
func TestCase20StatusOrder(t *testing.T) {
	items := decode(t, read(t, "case-20-status-order.json"))
	var states []gateway.StatusState
	ids := map[string]bool{}
	var have gateway.StatusState
	for i := range items {
		states = append(states, items[i].Content.Status.State)
		ids[gateway.EventID("whatsapp", &items[i])] = true
		have, _, _ = gateway.Forward(have, nil, items[i].Content.Status)
	}
	want := []gateway.StatusState{"read", "delivered", "sent", "delivered"}
	if !slices.Equal(states, want) || len(ids) != 3 || have != gateway.StatusRead {
		t.Errorf("states %v, %d ids, furthest %s", states, len(ids), have)
	}
}

// TestCase22Echo: what comes back is told by field and id, never by text. The
// same words from a customer are a customer's.
func TestCase22Echo(t *testing.T) {
	var script struct {
		Says string `json:"then_customer_says"`
	}
	if err := json.Unmarshal(read(t, "case-22-echo.json"), &script); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(script.Says)
	if err != nil {
		t.Fatal(err)
	}
	message := `"id":"wamid.C22","timestamp":"1","type":"text","text":{"body":` + string(text) + `}}]`
	echo := decode(t, inField("smb_message_echoes", `"message_echoes":[{"from":"15550100099","to":"15550100022",`+message))[0]
	customer := decode(t, inValue(`"messages":[{"from":"15550100022",`+message))[0]
	if echo.Kind != gateway.KindEcho || customer.Kind != gateway.KindMessage {
		t.Errorf("kinds %s and %s", echo.Kind, customer.Kind)
	}
	if diff := cmp.Diff(echo.Chat, customer.Chat); diff != "" {
		t.Errorf("not the same conversation:\n%s", diff)
	}
	if echo.Content.Echo.MessageID != "wamid.C22" || echo.Content.Echo.Marker != "" || echo.Content.Text != script.Says {
		t.Errorf("echo %+v", echo.Content.Echo)
	}
	if a, b := gateway.EventID("whatsapp", &echo), gateway.EventID("whatsapp", &customer); a == b {
		t.Error("an echo and a message with one id are one event")
	}
}

// TestCase28OddIDs: ids are data; whatever is in one, the others are read.
func TestCase28OddIDs(t *testing.T) {
	for _, from := range []string{
		"li.si", "*", ">", "li.>", ".", "..", "a..b", "a b", "a\tb", "a\r\nPUB evil 2\r\nhi", "你好", "$SYS.REQ.x",
		"%2e", "\x00", "+", strings.Repeat("x", 4200), "US.ENT.1", "us.1",
	} {
		body := texts(t, from, "wamid.ODD")
		good := texts(t, "15550100028", "wamid.AFTER")
		both := strings.Replace(string(body), `"messages":[`,
			`"messages":[`+string(good[strings.Index(string(good), `[{"from"`)+1:strings.LastIndex(string(good), `]}}]}`)])+`,`, 1)
		items := decode(t, []byte(both))
		if len(items) != 2 || items[0].Err != "" || items[0].Content.ID != "wamid.AFTER" {
			t.Errorf("%.20q: %d items", from, len(items))
		}
	}
}

// TestCase40PathTraversal: names and ids with paths in them stay data.
func TestCase40PathTraversal(t *testing.T) {
	items := decode(t, read(t, "case-40-path-traversal.json"))
	want := []string{"../../../../tmp/pwned40.pdf", `..\..\pwned40.txt`, "/tmp/pwned40", "ok.txt\x00.exe", ""}
	if len(items) != len(want) {
		t.Fatalf("%d items", len(items))
	}
	for i := range items {
		if items[i].Kind != gateway.KindMessage || items[i].Content.Type != "document" {
			t.Errorf("item %d: %s %s", i, items[i].Kind, items[i].Content.Type)
		}
		if want[i] != "" && items[i].Content.Media.Filename != want[i] {
			t.Errorf("item %d: file name %q", i, items[i].Content.Media.Filename)
		}
	}
}
