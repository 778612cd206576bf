package unified_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/unified"
)

// What is composed by a description is read the same by it.
func TestCompose(t *testing.T) {
	c := file(t)
	at := time.Date(2026, 11, 29, 1, 2, 3, 0, time.UTC)
	for i := range c.Endpoints {
		name := c.Endpoints[i].Name
		d := c.Endpoints[i].Decode
		theirs := unified.Facts{Kind: "message", Account: "guid-1", EventID: "e1", MessageID: "m1", Conversation: "7", Sender: "7",
			Recipient: "1688850000000001", Self: "false", At: at, Type: "text", Text: `"hello"`}
		ours := theirs
		ours.Sender, ours.Recipient, ours.Self, ours.SentID, ours.Marker, ours.EventID, ours.MessageID = theirs.Recipient, "7", "true", "s1", ourMarker, "e2", "m2"
		for _, f := range []unified.Facts{theirs, ours} {
			body, err := d.Compose(f)
			if err != nil {
				t.Fatal(err)
			}
			it := one(t, endpoint(t, name), string(body))
			want := "message"
			if f.Self == "true" && name != "worktool" { // which has no words for it
				want = "echo human"
			}
			if got := whose(&it); got != want || it.Chat.Identities[0].Value != "7" || it.Content.Text != `"hello"` {
				t.Errorf("%s: %s: %s, want %s", name, body, got, want)
			}
			if len(d.Time) > 0 && !it.OccurredAt.Equal(at) {
				t.Errorf("%s: %v", name, it.OccurredAt)
			}
			if len(d.Marker) > 0 && f.Marker != "" && name == "hub" {
				if diff := cmp.Diff(&gateway.Echo{MessageID: "m2", Marker: ourMarker, To: it.Chat.Identities}, it.Content.Echo); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		}
		body, err := d.Compose(theirs, ours)
		if several := len(d.Items) > 0; (err == nil) != several {
			t.Errorf("%s: several items: %s, %v", name, body, err)
		} else if several && len(decode(t, endpoint(t, name), string(body))) != 2 {
			t.Errorf("%s: %s", name, body)
		}
	}
	if _, err := c.Endpoints[0].Decode.Compose(unified.Facts{Kind: "room"}); err == nil || !strings.Contains(err.Error(), "room") {
		t.Errorf("a kind without a value: %v", err)
	}
}

// Calls are recognised by their templates, and nothing else is.
func TestReadCalls(t *testing.T) {
	s := unified.Sending{Messages: []unified.MessageCall{
		{Types: []string{"text"}, Path: "/v1/{{guid}}/send", Body: `{"to":["user:{{to}}"],"n":1,"text":"[{{marker}}] {{text}}"}`},
		{Types: []string{"image"}, Path: "/v1/send", Method: "PUT", Body: `{"to":"{{to}}","url":"{{url}}"}`},
	}}
	said, ok := s.Read("POST", "/v1/g/send", []byte(`{"n":1,"to":["user:7"],"text":"[m] a ] b"}`))
	if d := cmp.Diff(unified.Sent{Type: "text", GUID: "g", To: "7", Marker: "m", Text: "a ] b"}, said); d != "" || !ok {
		t.Error(d)
	}
	for _, c := range [][3]string{
		{"PUT", "/v1/g/send", `{"n":1,"to":["user:7"],"text":"[m] a"}`},
		{"POST", "/v2/g/send", `{"n":1,"to":["user:7"],"text":"[m] a"}`},
		{"POST", "/v1/g/send", `{"n":2,"to":["user:7"],"text":"[m] a"}`},
		{"POST", "/v1/g/send", `{"n":1,"to":["user:7"],"text":"[m a"}`},
		{"POST", "/v1/g/send", `{"n":1,"to":["7"],"text":"[m] a"}`},
		{"POST", "/v1/g/send", `{"n":1,"to":[],"text":"[m] a"}`},
		{"POST", "/v1/g/send", `{"n":1,"to":["user:7"],"text":"[m] a","more":1}`},
		{"POST", "/v1/g/send", `no`}, {"PUT", "/v1/send", `{"to":7,"url":"u"}`},
	} {
		if said, ok := s.Read(c[0], c[1], []byte(c[2])); ok {
			t.Errorf("%v is read as %+v", c, said)
		}
	}
}
