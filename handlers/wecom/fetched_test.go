package wecom_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// fetched decodes what no callback brings, as the relay does.
func fetched(t testing.TB, p *gateway.Payload) []gateway.Item {
	t.Helper()
	decode := wecom.Fetched(p)
	if decode == nil {
		t.Fatalf("nobody reads what comes as %s", p.Endpoint)
	}
	items, err := decode(p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		checkItem(t, &items[i])
	}
	return items
}

func fetchedSamples(t testing.TB) []sample {
	t.Helper()
	var f struct {
		Files []sample `json:"files"`
	}
	if err := json.Unmarshal(read(t, "fetched_index.json"), &f); err != nil || len(f.Files) < 7 {
		t.Fatalf("%d samples, %v", len(f.Files), err)
	}
	return f.Files
}

// fetchedSample is a sample as it is archived.
func fetchedSample(t testing.TB, file string) *gateway.Payload {
	t.Helper()
	body := read(t, file)
	switch {
	case strings.HasPrefix(file, "aibot_ws_"):
		return frame(string(body))
	case strings.HasPrefix(file, "msgaudit_"):
		return record(string(body))
	}
	return kfPage(string(body), time.Unix(1_700_000_000, 0))
}

func frame(body string) *gateway.Payload {
	return &gateway.Payload{Platform: "wecom", Endpoint: wecom.FrameEndpoint("bot"), Body: []byte(body), ReceivedAt: botNow()}
}

func record(body string) *gateway.Payload {
	return &gateway.Payload{Platform: "wecom", Endpoint: wecom.RecordEndpoint("desk"), Body: []byte(body), Header: http.Header{"Cw-Account": {corp + "/"}}}
}

// TestFetchedSamples holds every sample of what is fetched against the index.
func TestFetchedSamples(t *testing.T) {
	for _, s := range fetchedSamples(t) {
		t.Run(s.File, func(t *testing.T) {
			plain := read(t, s.File)
			items := fetched(t, fetchedSample(t, s.File))
			if s.Class == "pull_page" { // a page without messages
				if len(items) != 0 {
					t.Errorf("%d items", len(items))
				}
				return
			}
			if len(items) == 0 || len(items) > 1 && !strings.HasPrefix(s.File, "kf_") {
				t.Fatalf("%d items", len(items))
			}
			for i := range items {
				it := &items[i]
				if got := fetchedKey(it); got != strings.Replace(s.Key, "<external_userid in event>", customer, 1) {
					t.Errorf("in %s, want %s", got, s.Key)
				}
				known := map[bool]gateway.Kind{true: gateway.KindMessage, false: gateway.KindNotice}[s.Class == "message"]
				if !strings.HasPrefix(s.File, "kf_") && it.Kind != known { // TestKfSamples says what those are
					t.Errorf("a %s is %s", s.Class, it.Kind)
				}
				if want, ok := fetchedFact(t, &s, it, plain); !ok {
					t.Errorf("key %s, want %s", it.Key, want)
				}
			}
		})
	}
}

// fetchedFact says which fact an item must be.
func fetchedFact(t *testing.T, s *sample, it *gateway.Item, plain []byte) (want string, ok bool) {
	t.Helper()
	switch id, isID := strings.CutPrefix(s.Dedup, "msgid:"); {
	case isID:
		return "m:" + id, it.Key == "m:"+id && it.Content.ID == id
	case s.Dedup == "audit msgid":
		var r struct{ MsgID string }
		if err := json.Unmarshal(plain, &r); err != nil {
			t.Fatal(err)
		}
		return "a:" + r.MsgID, it.Key == "a:"+r.MsgID && it.Content.ID == r.MsgID
	default: // "kf msgid", "kf msgid:<id>"
		_, id, _ := strings.Cut(s.Dedup, ":")
		return "k:" + kfID + ":" + id, strings.HasPrefix(it.Key, "k:"+kfID+":"+id)
	}
}

// fetchedKey writes whose an item is as the index of the samples does.
func fetchedKey(it *gateway.Item) string {
	id := it.Chat.Identities[0]
	who, _, _ := strings.Cut(it.AccountID, "/")
	switch id.Kind {
	case "audit":
		return "audit|" + who + "|" + id.Value
	case "account":
		return "account|" + strings.TrimPrefix(id.Value, "bot:")
	case "userid":
		return strings.Replace(it.AccountID, ":", "|", 1) + "|u|" + id.Spelling()
	case "member": // of a page: a colleague, whose state it is
		return "kf|" + kfID + "|" + customer
	}
	return "kf|" + kfID + "|" + id.Spelling()
}

// A frame is the fact that a callback would be, and what is none is refused.
func TestFrames(t *testing.T) {
	const said = `{"msgid":"m1","aibotid":"aib1","chattype":"single","from":{"userid":"u"},"response_url":"https://x.test/r","msgtype":"text","text":{"content":"x"}}`
	called, err := decodeBots(t, []byte(said))
	if err != nil {
		t.Fatal(err)
	}
	got := fetched(t, frame(`{"cmd":"aibot_msg_callback","headers":{"req_id":"r"},"body":`+said+`}`))
	if d := cmp.Diff(called, got); d != "" {
		t.Errorf("(-callback +frame):\n%s", d)
	}
	mixed := fetched(t, frame(`{"cmd":"aibot_msg_callback","body":{"msgid":"m2","aibotid":"aib1","chattype":"group","chatid":"g","from":{"userid":"u"},"msgtype":"mixed","mixed":`+
		`{"msg_item":[{"msgtype":"image","image":{"url":"https://x.test/1","aeskey":"k"}},{"msgtype":"text","text":{"content":"x"}},{"msgtype":"image","image":{"url":"https://x.test/2"}}]}}}`))
	if len(mixed) != 1 || mixed[0].Content.Media != nil || mixed[0].Content.Text != "x" {
		t.Errorf("%d items, %+v", len(mixed), mixed[0].Content)
	}
	for _, body := range []string{"", "[]", `{"cmd":"pong","headers":{}}`, `{"body":null}`, `{"body":7}`, `{"body":` + said + `,"Body":{}}`, `{"errcode":0,"body":{}}`} {
		_, err := wecom.DecodeFrame(frame(body))
		wantErr(t, err, gateway.ErrUndecodable)
	}
}

// Records of every form: whoever writes, the two stand under one key; what tells no
// room and no one to talk to stands with the corp.
func TestRecords(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"the customer answers": {`{"msgid":"1","action":"send","from":"` + customer + `","tolist":["ChenHao"],"roomid":"","msgtime":1790000170123,"msgtype":"text","text":{"content":"x"}}`,
			`notice ` + corp + `/ a:1 [account: audit ChenHao|` + customer + `] {"type":"record.text","id":"1","from":{"identities":[{"kind":"external_userid","value":"` + customer + `"}]},"text":"x"}`},
		"another corp is entered": {`{"msgid":"2","action":"switch","time":1790000170123,"user":"ChenHao"}`,
			`notice ` + corp + `/ a:2 [account: account ` + corp + `/] {"type":"record.switch","id":"2","from":{"identities":[{"kind":"userid","value":"chenhao","as":"ChenHao"}]}}`},
		"a broadcast": {`{"msgid":"3","from":"a","tolist":["b","c"],"msgtype":"image","image":{"sdkfileid":"f"}}`,
			`notice ` + corp + `/ a:3 [account: account ` + corp + `/] {"type":"record.image","id":"3","from":{"identities":[{"kind":"userid","value":"a","as":"a"}]}}`},
		"nothing in it": {`{}`, `notice ` + corp + `/ h:… [account: account ` + corp + `/] {"type":"record.unknown"}`},
		"a control character in somebody's words": {"{\"msgid\":\"4\",\"from\":\"b\",\"tolist\":[\"a\"],\"msgtype\":\"text\",\"text\":{\"content\":\"x\x01\"}}",
			`notice ` + corp + `/ a:4 [account: audit a|b] {"type":"record.text","id":"4","from":{"identities":[{"kind":"userid","value":"b","as":"b"}]},"text":"x\u0001"}`},
	} {
		items := fetched(t, record(c.body))
		if got := inShort(t, &items[0]); len(items) != 1 || got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	bad := record(`{}`)
	bad.Header = http.Header{"Cw-Account": {corp + "/kf:x"}}
	for _, p := range []*gateway.Payload{bad, record(""), record(`[{"msgid":"1"}]`), record(`{"msgid":"1","MsgId":"2"}`)} {
		_, err := wecom.DecodeRecord(p)
		wantErr(t, err, gateway.ErrUndecodable)
	}
}

// FuzzFetched: no frame and no record panics, and two readings are the same.
func FuzzFetched(f *testing.F) {
	for _, s := range fetchedSamples(f) {
		f.Add(read(f, s.File))
	}
	f.Add([]byte(`{"from":7,"tolist":{"a":1},"roomid":"` + strings.Repeat("r", 300) + `","msgtype":"text","text":"flat"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range []*gateway.Payload{frame(string(body)), record(string(body))} {
			items, err := wecom.Fetched(p)(p)
			again, _ := wecom.Fetched(p)(p)
			if d := cmp.Diff(items, again); d != "" {
				t.Errorf("decoding is not pure:\n%s", d)
			}
			if err != nil {
				wantErr(t, err, gateway.ErrUndecodable)
			}
			for i := range items {
				checkItem(t, &items[i])
			}
		}
	})
}
