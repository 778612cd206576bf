package gateway_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

func row(content string) *gateway.EventRow {
	return &gateway.EventRow{
		N: 7, ID: "ev_abcdefghijklmnopqrstuvwxyz", Platform: "whatsapp", Account: "shop-a", Conv: "cccccccccccccccccccccccccc",
		Chat: gateway.ChatSingle, Seq: 12, Kind: gateway.KindMessage, Origin: gateway.OriginLive, Payload: "pl_X",
		ReceivedAt: time.Unix(1760000000, 5e8).UTC(), OccurredAt: time.Unix(1760000000, 0).UTC(), Content: []byte(content),
	}
}

// What Body writes by hand is what the Event type reads.
func TestBodyIsTheEvent(t *testing.T) {
	content, err := gateway.EncodeContent(&gateway.Content{Type: "text", ID: "wamid.1", Text: "a <b> & \"c\" 😀\u2028",
		Raw: json.RawMessage(`{"n":12345678901234567890,"s":"\ud83d"}`)})
	if err != nil {
		t.Fatal(err)
	}
	e := row(string(content))
	var got gateway.Event
	if err := json.Unmarshal(e.Body("ev_abc.q1"), &got); err != nil {
		t.Fatal(err)
	}
	at := e.OccurredAt
	want := gateway.Event{Event: e.ID, Delivery: "ev_abc.q1", Conv: e.Conv, Seq: 12, Kind: gateway.KindMessage, Origin: gateway.OriginLive,
		Platform: "whatsapp", Account: "shop-a", Chat: gateway.ChatSingle, Payload: "pl_X", ReceivedAt: e.ReceivedAt, OccurredAt: &at,
		Content: gateway.Content{Type: "text", ID: "wamid.1", Text: "a <b> & \"c\" 😀\u2028", Raw: json.RawMessage(`{"n":12345678901234567890,"s":"\ud83d"}`)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(e.Body("x")), "a <b> &") {
		t.Error("HTML characters are escaped")
	}
}

// DecodeEvent reads the same as the ordinary way, also when a text looks like
// the field it looks for.
func TestDecodeEvent(t *testing.T) {
	for name, c := range map[string]gateway.Content{
		"plain":      {Type: "text", Text: "hi", Raw: json.RawMessage(`{"a":[1,{"raw":2}],"b":"}"}`)},
		"tricky":     {Type: "text", Text: `","raw":{"x":1}`, Raw: json.RawMessage("\"<xml>,\\\"raw\\\":</xml>\"")},
		"no raw":     {Type: "text", Text: `,"raw":`},
		"empty":      {},
		"text":       {Type: "text", ID: "m", Text: "grüß <dich> & 你好 👋", From: &gateway.Party{Name: "Ä", Username: "a", Identities: []gateway.Identity{{Kind: "bsuid", Value: "US.1"}, {Kind: "userid", Value: "zhang", As: "Zhang"}}}},
		"escaped":    {Type: "text", ID: "m", Text: "one\ntwo \"three\" \\ \u2028", From: &gateway.Party{Name: "\t"}, Raw: json.RawMessage(`1`)},
		"broken":     {Type: "text", Text: "a\xffb", From: &gateway.Party{}},
		"sender":     {Type: "text", From: &gateway.Party{Name: "A"}, QuotedID: "q", Raw: json.RawMessage(`1`)},
		"nobody":     {Type: "text", From: &gateway.Party{Identities: []gateway.Identity{{}}}, Text: "x"},
		"everything": {Type: "image", Media: &gateway.Media{ID: "1"}, From: &gateway.Party{Name: `,"raw":1}`}, Raw: json.RawMessage(`null`)},
	} {
		content, err := gateway.EncodeContent(&c)
		if err != nil {
			t.Fatal(err)
		}
		body := row(string(content)).Body("d")
		var want gateway.Event
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		got, err := gateway.DecodeEvent(body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, bad := range []string{"", "{", `{"event":1}`, `{"event":"e","raw":`, `x,"raw":1}`} {
		if _, err := gateway.DecodeEvent([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// The raw part goes, whatever fields of that name are inside others.
func TestWithoutRaw(t *testing.T) {
	for content, want := range map[string]string{
		`{"type":"t","raw":{"a":1,"raw":2}}`:                        `{"type":"t"}`,
		`{"type":"t","form":{"response":{"a":1,"raw":2}},"raw":[]}`: `{"type":"t","form":{"response":{"a":1,"raw":2}}}`,
		`{"type":"t","text":",\"raw\":"}`:                           "",
		`{"type":"t"}`:                                              "",
	} {
		e := row(content)
		got, had := e.WithoutRaw()
		if had != (want != "") || had && string(got) != want || string(e.Content) != content {
			t.Errorf("%s: %s, %v", content, got, had)
		}
	}
}

// FuzzDecodeEvent: reading a body by its layout gives what the JSON library gives,
// for every content that EncodeContent writes; the ledger holds no other.
func FuzzDecodeEvent(f *testing.F) {
	for _, c := range []string{
		`{}`, `{ }`, `{"type":"text","text":"hi","raw":{"raw":1}}`, `{"type":"x","media":{"id":"1"},"raw":"<xml>,\"raw\":</xml>"}`,
		`{"type":"x","status":{"message_id":"m","state":"read"}}`, `{"raw":1,"raw":2}`, `{"type":1}`,
		`{"form":{"response":{"b":1,"raw":2}},"type":"t"}`, `{"raw":1,"r\u0061w":2}`,
		`{"type":"text","id":"m","from":{"name":"a","username":"b","identities":[{"kind":"k","value":"v","as":"w"},{"kind":"","value":""}]},"text":"ü\n"}`,
		`{"type":"text","from":{"name":"a"},"text":"b","quoted_id":"q","raw":1}`, `{"type":"text","from":{"identities":[]}}`,
	} {
		f.Add("ev_a", "ev_a.q1", int64(3), "", "shop", c)
		f.Add("", `a\u0041"b`, int64(0), "run_1", "é", c)
	}
	f.Fuzz(func(t *testing.T, id, delivery string, seq int64, run, account, from string) {
		var c gateway.Content
		if json.Unmarshal([]byte(from), &c) != nil {
			t.Skip()
		}
		content, err := gateway.EncodeContent(&c)
		if err != nil {
			t.Fatal(err)
		}
		e := row(string(content))
		e.ID, e.Seq, e.Run, e.Account = id, seq, run, account
		body := e.Body(delivery)
		want := new(gateway.Event)
		wantErr := json.Unmarshal(body, want)
		got, err := gateway.DecodeEvent(body)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%v, the library says %v", err, wantErr)
		}
		if err == nil && !cmp.Equal(bytes.TrimSpace(want.Raw), bytes.TrimSpace(got.Raw)) {
			t.Fatalf("raw is %q, not %q", got.Raw, want.Raw)
		}
		want.Raw, got = nil, clone(got)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatal(diff)
		}
	})
}

// clone leaves out what is compared by itself.
func clone(e *gateway.Event) *gateway.Event {
	if e == nil {
		return nil
	}
	c := *e
	c.Raw = nil
	return &c
}

func BenchmarkDecodeEvent(b *testing.B) {
	content, err := gateway.EncodeContent(&gateway.Content{Type: "text", ID: "wamid.HBgLMTU1NTAxMDAwMDEVAgASGBQzQTdB", Text: "hello",
		From: &gateway.Party{Name: "A", Identities: []gateway.Identity{{Kind: "bsuid", Value: "US.40917755238106644215"}, {Kind: "phone", Value: "15550100001"}}},
		Raw:  json.RawMessage(`{"from":"15550100001","id":"wamid.HBgLMTU1NTAxMDAwMDEVAgASGBQzQTdB","timestamp":"1760000000","type":"text","text":{"body":"` + strings.Repeat("hello ", 40) + `"}}`)})
	if err != nil {
		b.Fatal(err)
	}
	body := row(string(content)).Body("d")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gateway.DecodeEvent(body); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBodyWithoutTimesOrContent(t *testing.T) {
	e := row("{}")
	e.OccurredAt, e.Seq, e.Run = time.Time{}, 0, "run_1"
	var got map[string]any
	if err := json.Unmarshal(e.Body(e.ID), &got); err != nil {
		t.Fatal(err)
	}
	if _, has := got["seq"]; has || got["occurred_at"] != nil || got["run"] != "run_1" {
		t.Errorf("got %v", got)
	}
}

// An id depends on each of its parts, and parts cannot run into each other.
func TestIDsAreInjective(t *testing.T) {
	base := gateway.Item{AccountID: "1", Kind: gateway.KindMessage, Key: "23"}
	seen := map[string]string{}
	for name, v := range map[string]struct {
		platform string
		it       gateway.Item
	}{
		"base":          {"whatsapp", base},
		"shifted":       {"whatsapp", gateway.Item{AccountID: "12", Kind: base.Kind, Key: "3"}},
		"other kind":    {"whatsapp", gateway.Item{AccountID: "1", Kind: gateway.KindEcho, Key: "23"}},
		"other key":     {"whatsapp", gateway.Item{AccountID: "1", Kind: base.Kind, Key: "24"}},
		"other account": {"whatsapp", gateway.Item{AccountID: "2", Kind: base.Kind, Key: "23"}},
		"platform":      {"wecom", base},
	} {
		id := gateway.EventID(v.platform, &v.it)
		if len(id) != 29 || seen[id] != "" {
			t.Errorf("%s: id %s, also of %s", name, id, seen[id])
		}
		seen[id] = name
	}
	it := base
	it.Chat = gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: "1"}}}
	if gateway.EventID("whatsapp", &it) != gateway.EventID("whatsapp", &base) {
		t.Error("the id of an event must not depend on its conversation")
	}
	a := gateway.ConvID([]byte("s"), "whatsapp", "a", gateway.ChatSingle, gateway.Identity{Kind: "phone", Value: "1"})
	b := gateway.ConvID([]byte("t"), "whatsapp", "a", gateway.ChatSingle, gateway.Identity{Kind: "phone", Value: "1"})
	if a == b || len(a) != 26 || strings.Trim(a, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("conv ids %s, %s", a, b)
	}
}

func TestDeliveryIDRoundTrip(t *testing.T) {
	for _, c := range []struct {
		event, run string
		requeues   int
		id         string
	}{
		{"ev_a", "", 0, "ev_a"}, {"ev_a", "", 3, "ev_a.q3"}, {"ev_a", "run_01", 0, "ev_a.run_01"}, {"ev_a", "run_01", 2, "ev_a.run_01"},
	} {
		id := gateway.DeliveryID(c.event, c.run, c.requeues)
		event, run := gateway.SplitDeliveryID(id)
		if id != c.id || event != c.event || run != c.run {
			t.Errorf("%+v: id %q, back %q %q", c, id, event, run)
		}
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "shop-a": true, "0": true, "": false, "-a": false, "a-": false, "A": false, "a.b": false,
		"a*": false, ">": false, "a b": false, "ä": false, strings.Repeat("a", 40): true, strings.Repeat("a", 41): false} {
		if got := gateway.ValidName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestDecide(t *testing.T) {
	now := time.Unix(1000, 0)
	app := &gateway.Application{Name: "a", Tries: 3, Delays: []time.Duration{time.Second, 5 * time.Second}, Replies: true}
	replies := []gateway.Reply{{Type: "text", Text: "hi"}}
	for name, c := range map[string]struct {
		app   *gateway.Application
		tries int
		a     gateway.Answer
		want  gateway.Decision
	}{
		"done":              {app, 1, gateway.Answer{Verdict: "done", Replies: replies}, gateway.Decision{State: "settled", Reason: "done", Tries: 2, Replies: replies}},
		"done, observer":    {&gateway.Application{Tries: 3}, 0, gateway.Answer{Verdict: "done", Replies: replies}, gateway.Decision{State: "settled", Reason: "done", Tries: 1}},
		"done always wins":  {app, 9, gateway.Answer{Verdict: "done", Delivered: 9}, gateway.Decision{State: "settled", Reason: "done", Tries: 18}},
		"first retry":       {app, 0, gateway.Answer{Verdict: "retry", Error: "x"}, gateway.Decision{State: "pending", Reason: "retry", Tries: 1, NextAt: now.Add(time.Second), Detail: "x", Failed: true}},
		"second retry":      {app, 1, gateway.Answer{Verdict: "retry"}, gateway.Decision{State: "pending", Reason: "retry", Tries: 2, NextAt: now.Add(5 * time.Second), Failed: true}},
		"last retry":        {app, 2, gateway.Answer{Verdict: "retry", Error: "x"}, gateway.Decision{State: "dead", Reason: "tries", Tries: 3, Detail: "x", Failed: true}},
		"silent counts":     {app, 0, gateway.Answer{Verdict: "retry", Delivered: 3}, gateway.Decision{State: "dead", Reason: "tries", Tries: 3, Failed: true}},
		"retry after":       {app, 0, gateway.Answer{Verdict: "retry", AfterMS: 250}, gateway.Decision{State: "pending", Reason: "retry", Tries: 1, NextAt: now.Add(250 * time.Millisecond), Failed: true}},
		"dead":              {app, 0, gateway.Answer{Verdict: "dead", Error: "no"}, gateway.Decision{State: "dead", Reason: "verdict", Tries: 1, Detail: "no"}},
		"handback":          {app, 2, gateway.Answer{Verdict: "handback"}, gateway.Decision{State: "pending", Reason: "handback", Tries: 2}},
		"handback, later":   {app, 2, gateway.Answer{Verdict: "handback", AfterMS: 1000}, gateway.Decision{State: "pending", Reason: "handback", Tries: 2, NextAt: now.Add(time.Second)}},
		"handback and died": {app, 2, gateway.Answer{Verdict: "handback", Delivered: 5}, gateway.Decision{State: "pending", Reason: "handback", Tries: 2}},
	} {
		if diff := cmp.Diff(c.want, gateway.Decide(c.app, &gateway.Pending{Tries: c.tries}, &c.a, now)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if d := gateway.DecideSilent(&gateway.Application{AckDone: true, Tries: 1}, &gateway.Pending{}, now); d.State != gateway.EventSettled {
		t.Errorf("ack: done: %+v", d)
	}
	if d := gateway.DecideSilent(app, &gateway.Pending{Tries: 2}, now); d.State != gateway.EventDead || d.Reason != gateway.ReasonSilent {
		t.Errorf("silent: %+v", d)
	}
}

// Statuses move a message forward only, whatever order they come in (case 20).
func TestForwardInEveryOrder(t *testing.T) {
	states := []gateway.StatusState{"sent", "delivered", "read"}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 2, 0}, {0, 2, 1}} {
		var have gateway.StatusState
		best := 0
		for _, i := range order {
			now, _, changed := gateway.Forward(have, nil, &gateway.Status{State: states[i]})
			if changed != (i+1 > best) {
				t.Errorf("order %v at %s: changed %v", order, states[i], changed)
			}
			best, have = max(best, i+1), now
		}
		if have != states[best-1] {
			t.Errorf("order %v ends as %s", order, have)
		}
	}
}

func TestForwardKeepsFailed(t *testing.T) {
	failed := &gateway.Status{State: "failed", Errors: []gateway.Problem{{Code: 131026}}}
	have, p, changed := gateway.Forward("sent", nil, failed)
	if have != "sent" || p == nil || p.Code != 131026 || !changed {
		t.Fatalf("%s %v %v", have, p, changed)
	}
	if _, q, changed := gateway.Forward("sent", p, &gateway.Status{State: "delivered"}); q != p || !changed {
		t.Error("a later state must not hide the failure")
	}
	if _, _, changed := gateway.Forward("sent", p, failed); changed {
		t.Error("a repeat changes nothing")
	}
	one := &gateway.Status{State: "failed", Participant: &gateway.Identity{Kind: "phone", Value: "1"}}
	if _, p, changed := gateway.Forward("sent", nil, one); p != nil || changed {
		t.Error("one member's failure is not the message's")
	}
	if have, _, changed := gateway.Forward("sent", nil, &gateway.Status{State: "deleted"}); have != "sent" || changed {
		t.Error("a state nobody knows moves nothing")
	}
}

func TestWants(t *testing.T) {
	plain := gateway.Application{}
	only := gateway.Application{Platforms: []string{"wecom"}, Accounts: []string{"corp-a"}, Kinds: []gateway.Kind{"notice"}, Chats: []gateway.ChatKind{"account"}}
	for _, c := range []struct {
		app               *gateway.Application
		platform, account string
		kind              gateway.Kind
		chat              gateway.ChatKind
		want              bool
	}{
		{&plain, "whatsapp", "x", "message", "single", true},
		{&plain, "whatsapp", "x", "message", "group", false},
		{&plain, "whatsapp", "x", "notice", "single", false},
		{&only, "wecom", "corp-a", "notice", "account", true},
		{&only, "wecom", "corp-b", "notice", "account", false},
		{&only, "whatsapp", "corp-a", "notice", "account", false},
		{&gateway.Application{Kinds: []gateway.Kind{"status"}}, "whatsapp", "x", "status", "single", false},
	} {
		if got := c.app.Wants(c.platform, c.account, c.kind, c.chat); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestSumsBroken(t *testing.T) {
	var s gateway.Sums
	s.Apps = map[string]gateway.AppSums{"bot": {Wanted: 3, Settled: 2, Pending: 1}}
	s.Payloads.Archived, s.Payloads.Relayed = 2, 2
	if b := s.Broken(); len(b) != 0 {
		t.Errorf("whole: %v", b)
	}
	s.Apps["bot"] = gateway.AppSums{Wanted: 3, Settled: 2}
	s.Messages.Taken = 1
	if b := s.Broken(); len(b) != 2 || !strings.Contains(b[0], "events of bot") {
		t.Errorf("broken: %v", b)
	}
}

// What cannot be read says which field is wrong, and nothing of what stood there.
func TestParseAnswerNamesTheField(t *testing.T) {
	for body, want := range map[string]string{
		`<html>hello</html>`: "not the JSON of an answer",
		`{"answer":"hello"}`: "verdict must be",
		`{"event":"ev_a","verdict":"done","replies":"hello"}`:            "replies is of the wrong type",
		`{"event":"ev_a","verdict":"done","replies":[{"text":17}]}`:      "replies.text is of the wrong type",
		`{"event":"ev_a","verdict":"retry","after_ms":"soon"}`:           "after_ms is of the wrong type",
		`{"event":"ev_a","verdict":"done","replies":[{"type":"hello"}]}`: "replies[0].type",
		`[]`: "not the JSON of an answer",
	} {
		_, err := gateway.ParseAnswer([]byte(body))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

func TestParseAnswerTo(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"verdict":"done"}`:                      true,
		`{"event":"ev_a.q1","verdict":"done"}`:    true,
		`{"event":"ev_b","verdict":"done"}`:       false,
		`{"event":"ev_a.q1","verdict":"perhaps"}`: false,
	} {
		a, err := gateway.ParseAnswerTo("ev_a.q1", []byte(body))
		if (err == nil) != ok || ok && a.Event != "ev_a.q1" {
			t.Errorf("%s: %+v, %v", body, a, err)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"event":"ev_a","verdict":"done","replies":[{"text":"hi"}]}`))
	f.Add([]byte(`{"event":"ev_a","verdict":"retry","after_ms":5}`))
	f.Add([]byte(`{"event":"","verdict":"done"}`))
	f.Add([]byte(`{"event":"ev_a","verdict":"done","replies":null,"error":"\ud800"}`))
	f.Add([]byte(`[]`))
	for _, r := range goodReplies() {
		f.Add([]byte(`{"event":"ev_a","verdict":"done","replies":[` + r + `]}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := gateway.ParseAnswer(b)
		if err != nil {
			return
		}
		if a.Event == "" || len(a.Replies) > gateway.MaxReplies || a.AfterMS < 0 {
			t.Errorf("accepted: %+v", a)
		}
		checkAccepted(t, a.Replies)
		if d := gateway.Decide(&gateway.Application{Tries: 1}, &gateway.Pending{}, &a, time.Unix(0, 0)); d.State == "" {
			t.Error("no decision")
		}
	})
}

// What the ledger adds to stored content is read back by every reader, and Raw stays
// the last field.
func TestSupersede(t *testing.T) {
	raw := json.RawMessage(`{"a":"}{"}`)
	for _, c := range []gateway.Content{{Type: "reaction"}, {}, {Type: "edit", Text: `"superseded":"x"`, Raw: raw}} {
		plain, err := gateway.EncodeContent(&c)
		if err != nil {
			t.Fatal(err)
		}
		row := gateway.EventRow{ID: "ev_x", Kind: gateway.KindChange, Content: gateway.Supersede(plain, gateway.SupersededNewer)}
		e, err := gateway.DecodeEvent(row.Body("ev_x"))
		if err != nil {
			t.Fatalf("%s: %v", row.Content, err)
		}
		c.Superseded = gateway.SupersededNewer
		if d := cmp.Diff(c, e.Content); d != "" {
			t.Errorf("content (-want +got):\n%s", d)
		}
	}
	for _, none := range []string{"", "{}"} {
		if got := string(gateway.Supersede([]byte(none), gateway.SupersededRevoked)); got != `{"superseded":"revoked"}` {
			t.Errorf("of %q: %s", none, got)
		}
	}
}
