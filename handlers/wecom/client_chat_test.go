package wecom_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

func toChat(id string) []gateway.Identity { return []gateway.Identity{{Kind: "group", Value: id}} }

func sent(to []gateway.Identity, r gateway.Reply, attempt int) gateway.Outgoing {
	return gateway.Outgoing{Message: gateway.Message{ID: "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA", Account: "corp", Reply: r, To: to, Attempts: attempt},
		VoidAfter: time.Now().Add(time.Minute)}
}

// Every kind that appchat/send takes goes by it to the chat; the others are refused
// before any call.
func TestChatsTakeTheirKinds(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	id, _ := s.MakeChat("CHAT1", "a", "b")
	c := newStoring(t, s.URL(), &store{})
	file := func(kind, mime string) string { return s.AddFile(kind, "f", mime, []byte("x")) }
	var want []string
	for _, tt := range []struct{ reply, as, code string }{
		{`{"text":"Hi <b> & \"you\""}`, `text Hi <b> & "you"`, ""},
		{`{"type":"markdown","text":"**b**"}`, "markdown **b**", ""},
		{`{"type":"image","file":{"id":"` + file("image", "image/png") + `"}}`, "image ", ""},
		{`{"type":"voice","file":{"id":"` + file("voice", "audio/amr") + `"}}`, "voice ", ""},
		{`{"type":"video","text":"look","file":{"id":"` + file("video", "video/mp4") + `"}}`, "video look", ""},
		{`{"type":"document","file":{"id":"` + file("file", "application/pdf") + `"}}`, "file ", ""},
		{`{"type":"news","news":[{"title":"T","url":"https://x.test"}]}`, "news T", ""},
		{`{"type":"card","card":{"content":{"card_type":"text_notice","main_title":{"title":"T"},"card_action":{"type":1,"url":"https://x.test"}}}}`, "", "unsupported"},
		{`{"type":"recall","quote":"m1"}`, "", "unsupported"},
		{`{"type":"read","quote":"m1"}`, "", "unsupported"},
		{`{"text":"` + strings.Repeat("x", 2049) + `"}`, "", "too_long"},
	} {
		out := sent(toChat(id), parsed(t, tt.reply), 1)
		fits := c.Fits(&out.Message)
		o := c.Send(t.Context(), out)
		if tt.code != "" {
			var wrong *gateway.FieldError
			if o.Kind != gateway.OutcomeRejected || o.Code != tt.code || !errors.As(fits, &wrong) || wrong.Field == "" {
				t.Errorf("%.60s: %+v, fits: %v", tt.reply, o, fits)
			}
			continue
		}
		want = append(want, "CHAT1 "+tt.as)
		if o.Kind != gateway.OutcomeAccepted || o.ExternalID != "" || fits != nil {
			t.Errorf("%.60s: %+v, fits: %v", tt.reply, o, fits)
		}
	}
	var got []string
	for _, call := range s.Calls() {
		if call.Accepted {
			got = append(got, call.To+" "+call.Type+" "+call.Text)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The body holds what WeCom documents and nothing of message/send.
func TestBodyForAChat(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(_ int, w http.ResponseWriter) { _, _ = fmt.Fprint(w, `{"errcode":0,"errmsg":"ok"}`) })
	out := sent(toChat("wrOgQ_-1"), gateway.Reply{Type: "text", Text: "hello"}, 1)
	if o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), out); o.Kind != gateway.OutcomeAccepted {
		t.Fatalf("%+v", o)
	}
	if want := `{"chatid":"wrOgQ_-1","msgtype":"text","text":{"content":"hello"},"safe":0}`; a.bodies[0] != want {
		t.Errorf("body %s", a.bodies[0])
	}
	if want := "POST /cgi-bin/appchat/send?access_token=TOKENMARK-1"; a.urls[0] != want {
		t.Errorf("url %s", a.urls[0])
	}
}

// What WeCom says of a chat, and what follows; the chat's id is in no detail.
func TestChatsRefusals(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	c := newSender(t, s.URL(), egress.Options{}, nil)
	left, _ := s.MakeChat("CHATLEFT", "a", "b")
	s.LeaveChat(left)
	full, _ := s.MakeChat("CHATFULL", "a", "b")
	for _, tt := range []struct {
		chat, code string
		fault      int
		kind       gateway.OutcomeKind
		scope      gateway.Scope
	}{
		{"CHATNONE", "86003", 0, gateway.OutcomeRejected, ""},
		{left, "86008", 0, gateway.OutcomeRejected, ""},
		{full, "86001", 86001, gateway.OutcomeRejected, ""},
		{full, "45009", 45009, gateway.OutcomeRetry, gateway.ScopeAccount},
	} {
		if tt.fault != 0 {
			if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpSend, Code: tt.fault, Next: 1}); err != nil {
				t.Fatal(err)
			}
		}
		o := c.Send(t.Context(), sent(toChat(tt.chat), gateway.Reply{Type: "text", Text: "hello"}, 1))
		if o.Kind != tt.kind || o.Code != tt.code || o.Scope != tt.scope || strings.Contains(o.Detail, tt.chat) {
			t.Errorf("%s: %+v", tt.chat, o)
		}
	}
}

// What is wrong with a message is told by its field.
func TestFits(t *testing.T) {
	t.Parallel()
	c := newSender(t, "https://qyapi.weixin.qq.com", egress.Options{}, nil)
	for _, tt := range []struct {
		to           []gateway.Identity
		reply, field string
	}{
		{toMember("LiSi"), `{"text":"hello"}`, ""},
		{toMember("LiSi"), `{"text":"` + strings.Repeat("谢", 683) + `"}`, "text"},
		{toMember("LiSi"), `{"type":"sticker","file":{"id":"1"}}`, "type"},
		{toMember("LiSi"), `{"type":"image","file":{"id":"1","mime":"image/gif"}}`, "file.mime"},
		{toMember("LiSi"), `{"type":"news","news":[{"title":"ok","url":"https://x.test"},{"title":"` + strings.Repeat("谢", 43) + `","url":"https://x.test"}]}`, "news[1].title"},
		{toMember("LiSi"), `{"type":"card","card":{"content":{"card_type":"nothing"}}}`, "card.content"},
		{toMember("@all"), `{"text":"hello"}`, "to"},
		{nil, `{"text":"hello"}`, "to"},
	} {
		out := sent(tt.to, parsed(t, tt.reply), 1)
		err := c.Fits(&out.Message)
		var wrong *gateway.FieldError
		if tt.field == "" && err != nil || tt.field != "" && (!errors.As(err, &wrong) || wrong.Field != tt.field) {
			t.Errorf("%.60s: %v, want field %q", tt.reply, err, tt.field)
		}
	}
	bad := sent(toMember("LiSi"), gateway.Reply{Type: "text", Text: "x", Header: "h"}, 1)
	if err := c.Fits(&bad.Message); err == nil || !strings.HasPrefix(err.Error(), "header must be empty") {
		t.Errorf("a field too many: %v", err)
	}
}
