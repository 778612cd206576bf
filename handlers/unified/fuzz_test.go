package unified_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/unified"
)

// FuzzDecode: whatever a vendor sends, decoding does not panic, is pure, and every
// item is one that the relay takes; a message never has our marker on it.
func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(read(f, s.File))
	}
	f.Add([]byte(hub("is_self", "-", "send_marker", `"`+ourMarker+`"`)))
	f.Add([]byte(`{"guid":"g","notify_type":3,"payload":{"messages":[1,null,[],{"msg_id":{}}]}}`))
	f.Add([]byte("{\"guid\":\"g\\ud800\",\"event\":\"message\",\"content\":\"\xff\"}"))
	var list []*unified.Endpoint
	for _, name := range []string{"hub", "phone", "quntool", "worktool"} {
		list = append(list, endpoint(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, e := range list {
			p := payload(body)
			items, _, err := e.Decode(p)
			if err != nil {
				wantErr(t, err, gateway.ErrUndecodable)
				return
			}
			again, _, _ := e.Decode(p)
			if !reflect.DeepEqual(items, again) {
				t.Fatalf("read twice: %+v, %+v", items, again)
			}
			keys := map[string]bool{}
			for i := range items {
				it := &items[i]
				if it.Key == "" || len(it.Chat.Identities) != 1 {
					t.Fatalf("%+v", it)
				}
				if strings.HasPrefix(it.Key, "h:") && keys[it.Key] {
					t.Fatalf("two items are one: %s", it.Key)
				}
				keys[it.Key] = true
				if it.Err == "" {
					fits(t, it)
				}
				if it.Kind == gateway.KindMessage && it.Content.Echo != nil {
					t.Fatalf("an echo is a message: %+v", it)
				}
			}
		}
	})
}

// FuzzBody: whatever is put into a template, the call is JSON and says it back.
func FuzzBody(f *testing.F) {
	f.Add("在吗", "S:1_2")
	f.Add(`"},"x":"`, `{{text}}`)
	f.Add("\\\x00\u2028\xff", "")
	sending := file(f).Accounts[0].Send
	f.Fuzz(func(t *testing.T, text, to string) {
		body := unified.Fill(sending.Messages[0].Body, map[string]string{"text": text, "to": to, "guid": "g", "marker": ourMarker})
		if !json.Valid(body) {
			t.Fatalf("no JSON: %s", body)
		}
		said, ok := sending.Read("POST", "/message/sendText", body)
		if want := strings.ToValidUTF8(text, "\ufffd"); !ok || said.Marker != ourMarker || said.To != strings.ToValidUTF8(to, "\ufffd") && !invalid(to) || said.Text != want && !invalid(text) {
			t.Errorf("%+v, want %q", said, want)
		}
	})
}

// invalid text is written with one replacement for each byte that is none of UTF-8.
func invalid(s string) bool { return strings.ToValidUTF8(s, "") != s }
