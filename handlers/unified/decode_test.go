package unified_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/unified"
)

// hub makes a body of the first shape with some fields changed; a value of "-"
// leaves a field out.
func hub(changes ...string) string {
	fields := [][2]string{
		{"guid", `"guid-made-up-0001"`}, {"event_id", `"evt-1"`}, {"msg_id", `"m-1"`}, {"event", `"message"`},
		{"conversation_id", `"S:1_2"`}, {"is_group", `false`}, {"sender", `{"id":"2","name":"样例"}`}, {"is_self", `false`},
		{"msg_type", `"text"`}, {"content", `"在吗?"`}, {"send_marker", `""`}, {"timestamp", `1790000200000`},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		fields = append(fields, [2]string{changes[i], changes[i+1]})
	}
	last := map[string]string{}
	for _, f := range fields {
		last[f[0]] = f[1]
	}
	var parts []string
	for _, f := range fields {
		if v := last[f[0]]; v != "-" && v != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", f[0], v))
			last[f[0]] = ""
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

const ourMarker = "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA"

// Who wrote decides whether an item is answered: nothing that our side wrote, or may
// have written, is ever a message.
func TestWhoWrote(t *testing.T) {
	e := endpoint(t, "hub")
	for _, tt := range []struct {
		name, body, want string
	}{
		{"a customer", hub(), "message"},
		{"false as 0", hub("is_self", "0"), "message"},
		{"false as a text", hub("is_self", `"false"`), "message"},
		{"our side", hub("is_self", "true"), "echo human"},
		{"true as 1", hub("is_self", "1"), "echo human"},
		{"true as a text", hub("is_self", `"true"`), "echo human"},
		{"our marker", hub("is_self", "true", "send_marker", `"`+ourMarker+`"`), "echo human"},
		{"our marker without a flag", hub("is_self", "-", "send_marker", `"`+ourMarker+`"`), "echo undecided"},
		{"our marker and said to be theirs", hub("send_marker", `"`+ourMarker+`"`), "echo undecided"},
		{"somebody else's marker", hub("is_self", "true", "send_marker", `"other"`), "echo human"},
		{"somebody else's marker, theirs", hub("send_marker", `"other"`), "message"},
		{"the marker as text", hub("content", `"`+ourMarker+`"`), "message"},
		{"a program of the vendor's", hub("is_self", "true", "source", `"sop"`), "echo foreign"},
		{"another source", hub("is_self", "true", "source", `"phone"`), "echo human"},
		{"no flag", hub("is_self", "-"), "echo undecided"},
		{"a flag that is null", hub("is_self", "null"), "echo undecided"},
		{"a flag that is none", hub("is_self", `"perhaps"`), "echo undecided"},
		{"a flag that is an object", hub("is_self", `{"true":true}`), "echo undecided"},
		{"an error on ours", hub("is_self", "true", "error_code", "301"), "status"},
		{"no error on ours", hub("is_self", "true", "error_code", "0"), "echo human"},
		{"an error on theirs", hub("error_code", "301"), "message"},
		{"an error of nobody knows whose", hub("is_self", "-", "error_code", "301"), "echo undecided"},
		{"reported to have failed", hub("event", `"send_failed"`), "status"},
		{"no conversation", hub("conversation_id", "-"), "bad item: no conversation is named"},
		{"a long conversation", hub("conversation_id", `"`+strings.Repeat("x", 257)+`"`), "bad item: a conversation's id of more than 256 bytes"},
		{"a long sender", hub("sender", `{"id":"`+strings.Repeat("x", 257)+`"}`), "bad item: a sender's id of more than 256 bytes"},
		{"unknown type", hub("msg_type", `"hologram"`), "notice"},
		{"unknown type of ours", hub("msg_type", `"hologram"`, "is_self", "true"), "echo human"},
		{"unknown event", hub("event", `"party"`), "notice"},
		{"no event", hub("event", "-"), "notice"},
		{"a state", hub("event", `"offline"`), "state"},
	} {
		it := one(t, e, tt.body)
		if got := whose(&it); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if it.Err == "" && string(it.Content.Raw) != tt.body {
			t.Errorf("%s: raw is %s", tt.name, it.Content.Raw)
		}
	}
}

// Our own id tells what the flag does not, and decides before it.
func TestOwnID(t *testing.T) {
	d := unified.Decoding{Account: []string{"a"}, Conversation: []string{"c"}, Sender: []string{"from"}, FromSelf: []string{"self"}, OwnID: []string{"own", "=9"}}
	e := made(t, d)
	for body, want := range map[string]string{
		`{"a":1,"c":1,"from":9}`:                          "echo human",
		`{"a":1,"c":1,"from":9,"self":false}`:             "echo human",
		`{"a":1,"c":1,"from":8,"own":"8","self":false}`:   "echo human",
		`{"a":1,"c":1,"from":7}`:                          "message",
		`{"a":1,"c":1,"from":7,"self":true}`:              "echo human",
		`{"a":1,"c":1}`:                                   "echo undecided",
		`{"a":1,"c":1,"self":"0"}`:                        "message",
		`{"a":1,"c":1,"from":9,"self":false,"own":"5"}`:   "echo human",
		`{"a":1,"c":1,"from":{"id":9},"self":"whatever"}`: "echo undecided",
	} {
		it := one(t, e, body)
		if got := whose(&it); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		if it.AccountNumber == "" { // so that two bots of ours do not talk for ever
			t.Errorf("%s: our own id is not told", body)
		}
	}
}

// One conversation has one name in both directions, by whatever rule.
func TestConversations(t *testing.T) {
	d := unified.Decoding{Account: []string{"=a"}, Conversation: []string{"c"}, Room: []string{"room"}, Sender: []string{"f"}, Recipient: []string{"t"},
		FromSelf: []string{"self"}, OwnID: []string{"own"}}
	for _, tt := range []struct{ rule, body, want string }{
		{"peer", `{"c":"X","f":1,"t":2,"self":0}`, "single conversation X"},
		{"peer", `{"f":1,"t":2,"self":0}`, "single userid 1"},
		{"peer", `{"f":2,"t":1,"self":1}`, "single userid 1"},
		{"peer", `{"f":2,"t":1,"own":2}`, "single userid 1"},
		{"peer", `{"f":1,"t":2}`, "single userid 1"},
		{"peer", `{"f":1,"room":"r","self":0}`, "group group r"},
		{"pair", `{"f":1,"room":"r","self":0}`, "group group R:r"},
		{"pair", `{"f":1,"room":"r","c":"R:r","self":0}`, "group group R:r"},
		{"pair", `{"f":10,"t":9,"self":0}`, "single conversation S:9_10"},
		{"pair", `{"f":9,"t":10,"self":1}`, "single conversation S:9_10"},
		{"pair", `{"f":"b","t":"a","self":0}`, "single conversation S:a_b"},
		{"pair", `{"f":9007199254740993,"t":9007199254740992,"self":0}`, "single conversation S:9007199254740992_9007199254740993"},
		{"pair", `{"f":9,"self":0}`, "bad item: no conversation is named"},
		{"pair", `{"c":"R:5","f":9,"self":0}`, "group group R:5"},
		{"", `{"c":"S:5","f":9,"self":0}`, "single conversation S:5"},
		{"", `{"f":9,"self":0}`, "bad item: no conversation is named"},
	} {
		d.ConversationRule = tt.rule
		it := one(t, made(t, d), tt.body)
		got := it.Err
		if got == "" {
			got = fmt.Sprintf("%s %s %s", it.Chat.Kind, it.Chat.Identities[0].Kind, it.Chat.Identities[0].Value)
		}
		if got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.rule, tt.body, got, tt.want)
		}
	}
}

// Keys tell facts apart as well as the vendor lets them.
func TestKeys(t *testing.T) {
	e := endpoint(t, "hub")
	key := func(body string) string { it := one(t, e, body); return gateway.EventID("unified", &it) }
	same := func(what, a, b string, want bool) {
		t.Helper()
		if (key(a) == key(b)) != want {
			t.Errorf("%s: %v", what, !want)
		}
	}
	same("one event, two spellings", hub(), hub("content", `"在吗\u003f"`), true)
	same("two events", hub(), hub("event_id", `"evt-2"`), false)
	same("one message, no events", hub("event_id", "-"), hub("event_id", "-", "content", `"x"`), true)
	same("no ids, one item", hub("event_id", "-", "msg_id", "-"), hub("event_id", "null", "msg_id", "-"), false)
	same("no ids, equal items", hub("event_id", "-", "msg_id", "-"), hub("event_id", "-", "msg_id", "-"), true)
	same("no ids, other accounts", hub("event_id", "-", "msg_id", "-"), hub("event_id", "-", "msg_id", "-", "guid", `"other"`), false)

	// Equal bodies of a kind without dedup are events of their own, the same one at
	// every reading.
	change := []byte(hub("event", `"contact_changed"`))
	a, b := payload(change), payload(change)
	b.ID = "pl_01JDX7Q4T5V8N2KZ0C9RB3MEHB"
	ids := func(p *gateway.Payload) (ids []string) {
		items, _, err := e.Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range items {
			ids = append(ids, gateway.EventID("unified", &items[i]))
		}
		return ids
	}
	if cmp.Equal(ids(a), ids(b)) || !cmp.Equal(ids(a), ids(a)) {
		t.Error("dedup none")
	}

	// Without ids and without a time: equal within a minute, and two in one body.
	e = endpoint(t, "worktool")
	p := payload(read(t, "gw_worktool_no_ids.json"))
	first := ids(p)
	p.ReceivedAt = p.ReceivedAt.Add(20 * time.Second)
	if !cmp.Equal(first, ids(p)) {
		t.Error("the vendor's second try is another event")
	}
	p.ReceivedAt = p.ReceivedAt.Add(time.Minute)
	if cmp.Equal(first, ids(p)) {
		t.Error("the same word a minute later is no event")
	}
	p.Body = []byte("[" + string(p.Body) + "," + string(p.Body) + "]")
	if two := ids(p); len(two) != 2 || two[0] == two[1] {
		t.Errorf("two in one body: %v", two)
	}
}

func TestTimes(t *testing.T) {
	want := time.Date(2026, 9, 21, 14, 16, 40, 0, time.UTC)
	for _, tt := range []struct{ unit, zone, in string }{
		{"", "", `1790000200`}, {"", "", `1790000200000`}, {"", "", `"1790000200000"`}, {"", "", `"2026-09-21T22:16:40+08:00"`},
		{"", "", `"2026-09-21 22:16:40"`}, {"", "+00:00", `"2026-09-21 14:16:40"`}, {"s", "", `1790000200`}, {"s", "", `1.7900002e9`},
		{"s", "", `"1790000200.0"`}, {"ms", "", `1790000200000`}, {"rfc3339", "", `"2026-09-21T14:16:40Z"`}, {"datetime", "+09:30", `"2026-09-21 23:46:40"`},
	} {
		e := made(t, unified.Decoding{Account: []string{"=a"}, Conversation: []string{"=c"}, FromSelf: []string{"=false"}, Time: []string{"t"}, TimeUnit: tt.unit, TimeZone: tt.zone})
		if got := one(t, e, `{"t":`+tt.in+`}`).OccurredAt; !got.Equal(want) {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	for _, in := range []string{`0`, `-1`, `"soon"`, `null`, `{}`, `1e99`, `"NaN"`, `"Inf"`, `99999999999999999999`, `"9999-01-01 00:00:00"`, `true`} {
		for _, unit := range []string{"", "s", "ms", "rfc3339", "datetime"} {
			e := made(t, unified.Decoding{Account: []string{"=a"}, Conversation: []string{"=c"}, FromSelf: []string{"=false"}, Time: []string{"t"}, TimeUnit: unit})
			if got := one(t, e, `{"t":`+in+`}`).OccurredAt; !got.IsZero() {
				t.Errorf("%s in %q: %v", in, unit, got)
			}
		}
	}
}

// What a message holds beside its text, and what a failed sending says.
func TestContents(t *testing.T) {
	e := endpoint(t, "hub")
	it := one(t, e, hub("msg_type", `"file"`, "content", `{"text":"报价","url":"https://files.example/1","name":"a.pdf","mime":"application/pdf"}`))
	c := it.Content
	if d := cmp.Diff(&gateway.Media{URL: "https://files.example/1", Filename: "a.pdf", MIME: "application/pdf"}, c.Media); d != "" || c.Text != "报价" || c.Type != "document" || it.Kind != gateway.KindMessage {
		t.Errorf("%+v %s", it, d)
	}
	it = one(t, e, hub("is_self", "true", "send_marker", `"`+ourMarker+`"`, "error_code", `"E7"`))
	if d := cmp.Diff(&gateway.Status{MessageID: "m-1", State: gateway.StatusFailed, Marker: ourMarker, Errors: []gateway.Problem{{Title: "E7"}}}, it.Content.Status); d != "" {
		t.Error(d)
	}
	it = one(t, e, hub("is_self", "true", "error_code", `301`, "conversation_id", "-"))
	if it.Content.Status.Errors[0].Code != 301 || it.Chat.Kind != gateway.ChatAccount {
		t.Errorf("%+v", it)
	}
	it = one(t, e, hub("event", `"contact_changed"`))
	if d := cmp.Diff(&gateway.StateChange{Of: gateway.Identity{Kind: "customer", Value: "2"}, What: "contact_changed"}, it.Content.Change); d != "" {
		t.Error(d)
	}
	it = one(t, endpoint(t, "phone"), `{"guid":"g","notify_type":6,"payload":null}`)
	if it.Kind != gateway.KindState || it.Content.Type != "room_changed" || it.Chat.Identities[0].Value != "g" || it.AccountID != "g" {
		t.Errorf("%+v", it)
	}
	it = one(t, endpoint(t, "quntool"), `{"userId":"u-1","wxid":"7","type":"message","isOpenApi":true,"sendMsgId":"sent-7","msgId":"srv-7","error_code":0,"data":{"text":"x"}}`)
	if d := cmp.Diff(&gateway.Echo{MessageID: "sent-7", Marker: "sent-7", To: it.Chat.Identities}, it.Content.Echo); d != "" || it.Key != "e:srv-7" {
		t.Errorf("%s %s", it.Key, d)
	}
}

// One odd item harms no other, and an empty list holds nothing.
func TestBatches(t *testing.T) {
	e := endpoint(t, "phone")
	items := decode(t, e, `{"guid":"g","notify_type":3,"payload":{"messages":[
		{"msg_id":1,"from_user_id":5,"to_user_id":1688850000000001,"msg_type":2,"content":"a"},
		7, null, [], {"msg_id":{"x":1}}, "text",
		{"msg_id":2,"from_user_id":5,"to_user_id":1688850000000001,"msg_type":2,"content":"b"}]}}`)
	var got []string
	for i := range items {
		got = append(got, whose(&items[i])+" "+items[i].Content.Text)
	}
	const bad = "bad item: no conversation is named "
	if d := cmp.Diff([]string{"message a", bad, bad, bad, bad, "message b"}, got); d != "" {
		t.Error(d)
	}
	for body, n := range map[string]int{
		`{"guid":"g","notify_type":3,"payload":{"messages":[]}}`: 0,
		`[]`: 0,
		`[{"guid":"g","notify_type":2},{"guid":"g","notify_type":1}]`:           2,
		"\xef\xbb\xbf {\"guid\":\"g\",\"notify_type\":1}\n":                     1,
		"{\"guid\":\"g\",\"notify_type\":1,\"x\":\"\xff\"}":                     1,
		`{"guid":"g","guid":"h","notify_type":1}`:                               1,
		`[` + strings.Repeat(`{},`, 9_999) + `{}]`:                              10_000,
		`{"payload":{"messages":[` + strings.Repeat(`{},`, 9_999) + `{}]}}`:     10_000,
		strings.Repeat(`{"payload":`, 9_000) + `1` + strings.Repeat(`}`, 9_000): 1,
	} {
		items, _, err := e.Decode(payload([]byte(body)))
		if err != nil || len(items) != n {
			t.Errorf("%.60s: %d items, want %d; %v", body, len(items), n, err)
		}
	}
	for _, body := range []string{``, ` `, `1`, `"x"`, `null`, `{`, `{"a":}`, `{"a":1}{"b":2}`, `<xml/>`, "\x00", `[` + strings.Repeat(`{},`, 10_000) + `{}]`,
		`{"payload":{"messages":[` + strings.Repeat(`{},`, 10_000) + `{}]}}`, strings.Repeat(`[`, 100_000)} {
		_, _, err := e.Decode(payload([]byte(body)))
		wantErr(t, err, gateway.ErrUndecodable)
		if err != nil && len(err.Error()) > 100 {
			t.Errorf("a long error: %v", err)
		}
	}
}
