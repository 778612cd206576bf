package sqlite

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// Every field of a reply survives, one by one: a field added to gateway.Reply and
// forgotten by plain would be lost here.
func TestEveryFieldOfAReplySurvives(t *testing.T) {
	t.Parallel()
	until := time.Unix(1_800_000_000, 5).UTC()
	full := gateway.Reply{
		Type: gateway.ReplyText, Text: "a\x00b", Preview: true, Header: "h<&>", Footer: "f", Quote: "q",
		File:     &gateway.FileReply{ID: "1", URL: "u", File: "f", Name: "n", MIME: "m"},
		Location: &gateway.Location{Latitude: 52.520008, Longitude: -13.4, Name: "n", Address: "a"},
		Contacts: []gateway.ContactCard{{Name: "n", Phones: []string{"1"}, Emails: []string{"e"}, Org: "o"}},
		Emoji:    "👍", Template: &gateway.TemplateReply{Name: "n", Language: "l", Components: json.RawMessage(`[{"n":12345678901234567890.10,"s":"<\ud83d>"}]`)},
		Buttons:     []gateway.Choice{{ID: "i", Title: "t"}},
		List:        &gateway.MenuReply{Button: "b", Sections: []gateway.MenuSection{{Title: "t", Rows: []gateway.Choice{{ID: "i", Title: "t", Description: "d"}}}}},
		Link:        &gateway.LinkReply{Title: "t", URL: "u"},
		Flow:        &gateway.FormReply{ID: "i", Title: "t", Token: "k", Action: "navigate", Screen: "S", Data: json.RawMessage(`{"a":1e400}`)},
		Typing:      true,
		News:        []gateway.Article{{Title: "t", Description: "d", URL: "u", Picture: "p"}},
		Card:        &gateway.CardReply{Content: json.RawMessage(`{"n":9007199254740993}`), Code: "c", Button: "b"},
		Handle:      &gateway.Handle{Kind: "welcome", Code: "c", Until: &until},
		Attachments: []gateway.Attachment{{Type: gateway.AttachImage, File: &gateway.FileReply{ID: "1"}}},
		Transfer:    &gateway.TransferReply{To: gateway.SessionHuman, Servicer: "s"},
	}
	all := reflect.ValueOf(full)
	for i := range all.NumField() {
		if all.Field(i).IsZero() {
			t.Fatalf("the test gives no value to %s", all.Type().Field(i).Name)
		}
		one := gateway.Reply{}
		reflect.ValueOf(&one).Elem().Field(i).Set(all.Field(i))
		checkStored(t, one)
	}
	checkStored(t, full)
	rest, err := restOf(&gateway.Reply{Type: "text", Text: "x"})
	if err != nil || rest == nil || len(rest) != 0 {
		t.Errorf("a plain text has the rest %q, %v", rest, err)
	}
	if r := replyOf("image", nil, []byte("{")); r.Type != "image" || r.File != nil {
		t.Errorf("a rest that cannot be read: %+v", r)
	}
}

func checkStored(t *testing.T, r gateway.Reply) {
	t.Helper()
	rest, err := restOf(&r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(rest), `\u003c`) {
		t.Errorf("escaped: %s", rest)
	}
	if d := cmp.Diff(r, replyOf(string(r.Type), []byte(r.Text), rest)); d != "" {
		t.Error(d)
	}
}
