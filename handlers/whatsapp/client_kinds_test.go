package whatsapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const ourFile = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// uploads is a store of one file.
type uploads struct {
	err  error
	asks []string
}

func (u *uploads) Forget(context.Context, string, string, string) {}

func (u *uploads) Upload(_ context.Context, account, file, mime string) (string, error) {
	u.asks = append(u.asks, account+" "+file+" "+mime)
	return "700001", u.err
}

// parsed is a reply as a worker writes it, through the gateway's own door.
func parsed(t *testing.T, reply string) gateway.Reply {
	t.Helper()
	a, err := gateway.ParseAnswer([]byte(`{"event":"ev_a","verdict":"done","replies":[` + reply + `]}`))
	if err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	return a.Replies[0]
}

// kinds is one reply of each kind and the request it becomes, without the parts
// that all have.
func kinds() map[string]struct{ reply, want string } {
	return map[string]struct{ reply, want string }{
		"text, preview, quote": {`{"text":"see https://x.test","preview":true,"quote":"wamid.Q"}`, `"context":{"message_id":"wamid.Q"},"type":"text","text":{"body":"see https://x.test","preview_url":true}`},
		"image by url":         {`{"type":"image","text":"<c>","file":{"url":"https://x.test/a.jpg?b=1&c=2"}}`, `"type":"image","image":{"link":"https://x.test/a.jpg?b=1&c=2","caption":"<c>"}`},
		"image of ours":        {`{"type":"image","file":{"file":"` + ourFile + `","mime":"image/jpeg"}}`, `"type":"image","image":{"id":"700001"}`},
		"video by id":          {`{"type":"video","text":"c","file":{"id":"123"}}`, `"type":"video","video":{"id":"123","caption":"c"}`},
		"audio":                {`{"type":"audio","file":{"id":"123"}}`, `"type":"audio","audio":{"id":"123"}`},
		"voice":                {`{"type":"voice","file":{"id":"123","mime":"audio/ogg; codecs=opus"},"quote":"wamid.Q"}`, `"context":{"message_id":"wamid.Q"},"type":"audio","audio":{"id":"123","voice":true}`},
		"document":             {`{"type":"document","text":"c","file":{"url":"https://x.test/a","name":"Größe.pdf","mime":"application/x-anything"}}`, `"type":"document","document":{"link":"https://x.test/a","caption":"c","filename":"Größe.pdf"}`},
		"sticker":              {`{"type":"sticker","file":{"id":"123"}}`, `"type":"sticker","sticker":{"id":"123"}`},
		"location":             {`{"type":"location","location":{"latitude":0,"longitude":-122.148981,"name":"n","address":"a"}}`, `"type":"location","location":{"latitude":0,"longitude":-122.148981,"name":"n","address":"a"}`},
		"contacts": {
			`{"type":"contacts","contacts":[{"name":"Ana B","phones":["+1 555 010 0001"],"emails":["a@x.test"],"org":"O"},{"name":"C"}]}`,
			`"type":"contacts","contacts":[{"name":{"formatted_name":"Ana B","first_name":"Ana B"},"phones":[{"phone":"+1 555 010 0001"}],"emails":[{"email":"a@x.test"}],"org":{"company":"O"}},{"name":{"formatted_name":"C","first_name":"C"}}]`,
		},
		"reaction":           {`{"type":"reaction","quote":"wamid.Q","emoji":"👍"}`, `"type":"reaction","reaction":{"message_id":"wamid.Q","emoji":"👍"}`},
		"reaction taken off": {`{"type":"reaction","quote":"wamid.Q"}`, `"type":"reaction","reaction":{"message_id":"wamid.Q","emoji":""}`},
		"template":           {`{"type":"template","template":{"name":"hello","language":"en_US"}}`, `"type":"template","template":{"name":"hello","language":{"code":"en_US"}}`},
		"template with parts": {
			`{"type":"template","quote":"wamid.Q","template":{"name":"t","language":"de","components":[{"type":"body","parameters":[{"type":"text","text":"<x>"}]}]}}`,
			`"context":{"message_id":"wamid.Q"},"type":"template","template":{"name":"t","language":{"code":"de"},"components":[{"type":"body","parameters":[{"type":"text","text":"<x>"}]}]}`,
		},
		"buttons": {
			`{"type":"buttons","text":"b","header":"h","footer":"f","buttons":[{"id":"1","title":"Yes"},{"id":"2","title":"No"}]}`,
			`"type":"interactive","interactive":{"type":"button","header":{"type":"text","text":"h"},"body":{"text":"b"},"footer":{"text":"f"},"action":{"buttons":[{"type":"reply","reply":{"id":"1","title":"Yes"}},{"type":"reply","reply":{"id":"2","title":"No"}}]}}`,
		},
		"list": {
			`{"type":"list","text":"b","list":{"button":"Open","sections":[{"title":"A","rows":[{"id":"1","title":"R","description":"d"}]},{"title":"B","rows":[{"id":"2","title":"S"}]}]}}`,
			`"type":"interactive","interactive":{"type":"list","body":{"text":"b"},"action":{"button":"Open","sections":[{"title":"A","rows":[{"id":"1","title":"R","description":"d"}]},{"title":"B","rows":[{"id":"2","title":"S"}]}]}}`,
		},
		"link": {
			`{"type":"link","text":"b","footer":"f","link":{"title":"Look","url":"https://x.test/p"}}`,
			`"type":"interactive","interactive":{"type":"cta_url","body":{"text":"b"},"footer":{"text":"f"},"action":{"name":"cta_url","parameters":{"display_text":"Look","url":"https://x.test/p"}}}`,
		},
		"flow": {
			`{"type":"flow","text":"b","flow":{"id":"123","title":"Book","token":"k","screen":"FIRST","data":{"a":9007199254740993}}}`,
			`"type":"interactive","interactive":{"type":"flow","body":{"text":"b"},"action":{"name":"flow","parameters":{"flow_message_version":"3","flow_token":"k","flow_id":"123","flow_cta":"Book","flow_action":"navigate","flow_action_payload":{"screen":"FIRST","data":{"a":9007199254740993}}}}}`,
		},
		"flow by endpoint": {
			`{"type":"flow","text":"b","flow":{"id":"123","title":"Book","action":"data_exchange"}}`,
			`"type":"interactive","interactive":{"type":"flow","body":{"text":"b"},"action":{"name":"flow","parameters":{"flow_message_version":"3","flow_id":"123","flow_cta":"Book","flow_action":"data_exchange"}}}`,
		},
	}
}

// capture is a server that keeps the last body and answers with one.
func capture(t *testing.T, answer string) (base string, last func() string) {
	t.Helper()
	bodies := make(chan string, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		select {
		case b := <-bodies:
			return b
		default:
			return ""
		}
	}
}

func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	dec := func(s string, v any) error {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		return d.Decode(v)
	}
	if err := errors.Join(dec(got, &g), dec(want, &w)); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Error(d)
	}
}

func withUploads(t *testing.T, base string, u whatsapp.Uploader) *whatsapp.Client {
	t.Helper()
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	return whatsapp.NewClient(whatsapp.ClientConfig{APIBase: base, PhoneNumberID: numberID, AccessToken: accessToken, Uploader: u}, e)
}

func carrying(to []gateway.Identity, r gateway.Reply) gateway.Outgoing {
	out := outgoing(to, "", 1)
	out.Message.Reply, out.Message.Account = r, "shop-a"
	return out
}

// Every kind becomes the request that Meta documents, with our marker.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	base, last := capture(t, `{"messages":[{"id":"wamid.X"}]}`)
	up := &uploads{}
	c := withUploads(t, base, up)
	for name, k := range kinds() {
		o := c.Send(t.Context(), carrying(toPhone("15550100025"), parsed(t, k.reply)))
		if o.Kind != gateway.OutcomeAccepted || o.ExternalID != "wamid.X" {
			t.Errorf("%s: %+v", name, o)
			continue
		}
		body := last()
		t.Run(name, func(t *testing.T) {
			sameJSON(t, body, `{"messaging_product":"whatsapp","recipient_type":"individual","to":"+15550100025",`+k.want+`,"biz_opaque_callback_data":"`+markerID+`"}`)
			if strings.Contains(body, `\u003c`) || strings.Contains(body, `\u0026`) {
				t.Errorf("HTML was escaped: %s", body)
			}
		})
	}
	if d := cmp.Diff([]string{"shop-a " + ourFile + " image/jpeg"}, up.asks); d != "" {
		t.Error(d)
	}
}

// Marking read has no recipient and no marker; success is all that is said.
func TestMarkRead(t *testing.T) {
	t.Parallel()
	base, last := capture(t, `{"success":true}`)
	c := newSender(t, base, egress.Options{})
	for reply, want := range map[string]string{
		`{"type":"read","quote":"wamid.Q"}`:               `{"messaging_product":"whatsapp","status":"read","message_id":"wamid.Q"}`,
		`{"type":"read","quote":"wamid.Q","typing":true}`: `{"messaging_product":"whatsapp","status":"read","message_id":"wamid.Q","typing_indicator":{"type":"text"}}`,
	} {
		o := c.Send(t.Context(), carrying(nil, parsed(t, reply)))
		if d := cmp.Diff(gateway.Outcome{Kind: gateway.OutcomeAccepted}, o); d != "" {
			t.Error(d)
		}
		sameJSON(t, last(), want)
	}
	mark := parsed(t, `{"type":"read","quote":"wamid.Q"}`)
	for body, want := range map[string]gateway.Outcome{
		`{"success":false}`:                   {Kind: gateway.OutcomeUnknown, Code: "unreadable"},
		`<html>`:                              {Kind: gateway.OutcomeUnknown, Code: "unreadable"},
		`{"error":{"code":131009}}`:           {Kind: gateway.OutcomeRejected, Code: "131009"},
		`{"error":{"code":130429}}`:           {Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Blame: gateway.BlamePace, Code: "130429", After: time.Second},
		`{"messages":[{"id":"wamid.other"}]}`: {Kind: gateway.OutcomeUnknown, Code: "unreadable"},
	} {
		o := newSender(t, answering(t, 200, nil, body), egress.Options{}).Send(t.Context(), carrying(nil, mark))
		o.Detail = ""
		if d := cmp.Diff(want, o); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
}

// Groups take texts, files and templates; a BSUID is addressed as such, and a
// name that was retired is never written to.
func TestKindsByRecipient(t *testing.T) {
	t.Parallel()
	base, last := capture(t, `{"messages":[{"id":"wamid.X"}]}`)
	c := withUploads(t, base, &uploads{})
	for name, k := range kinds() {
		r := parsed(t, k.reply)
		o := c.Send(t.Context(), carrying([]gateway.Identity{{Kind: "group", Value: "Zm9v=="}}, r))
		body := last()
		switch r.Type {
		case gateway.ReplyText, gateway.ReplyTemplate, gateway.ReplyImage, gateway.ReplyVideo, gateway.ReplyAudio, gateway.ReplyVoice, gateway.ReplyDocument, gateway.ReplySticker:
			if o.Kind != gateway.OutcomeAccepted || !strings.Contains(body, `"recipient_type":"group","to":"Zm9v=="`) {
				t.Errorf("%s to a group: %+v %s", name, o, body)
			}
		default:
			if o.Kind != gateway.OutcomeRejected || o.Code != "unsupported_in_group" || body != "" {
				t.Errorf("%s to a group: %+v %s", name, o, body)
			}
		}
		o = c.Send(t.Context(), carrying([]gateway.Identity{{Kind: "phone", Value: "15550100025", Retired: true}, {Kind: "bsuid", Value: "US.1a"}}, r))
		if body = last(); o.Kind != gateway.OutcomeAccepted || !strings.Contains(body, `"recipient":"US.1a"`) || strings.Contains(body, `"to"`) {
			t.Errorf("%s to a BSUID: %+v %s", name, o, body)
		}
	}
	o := c.Send(t.Context(), carrying([]gateway.Identity{{Kind: "phone", Value: "15550100025", Retired: true}}, parsed(t, `{"text":"x"}`)))
	if o.Code != "no_recipient" || last() != "" {
		t.Errorf("to a retired number: %+v", o)
	}
}

// What is not fit is refused before the call, with a code.
func TestUnfitReplies(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a call was made") }))
	defer s.Close()
	file := func(mime string) *gateway.FileReply { return &gateway.FileReply{ID: "1", MIME: mime} }
	ours := &gateway.FileReply{File: ourFile, MIME: "image/png"}
	const secret = "SECRETWORDS"
	for _, c := range []struct {
		name  string
		up    whatsapp.Uploader
		reply gateway.Reply
		want  gateway.Outcome
	}{
		{"no such kind", nil, gateway.Reply{Type: "poll"}, gateway.Outcome{Code: "unsupported"}},
		{"markdown", nil, gateway.Reply{Type: gateway.ReplyMarkdown, Text: secret}, gateway.Outcome{Code: "unsupported"}},
		{"news", nil, gateway.Reply{Type: gateway.ReplyNews, News: []gateway.Article{{Title: secret, URL: "https://x.test"}}}, gateway.Outcome{Code: "unsupported"}},
		{"card", nil, gateway.Reply{Type: gateway.ReplyCard, Card: &gateway.CardReply{Button: secret, Code: "c"}}, gateway.Outcome{Code: "unsupported"}},
		{"transfer", nil, gateway.Reply{Type: gateway.ReplyTransfer, Transfer: &gateway.TransferReply{To: gateway.SessionPool}}, gateway.Outcome{Code: "unsupported"}},
		{"recall", nil, gateway.Reply{Type: gateway.ReplyRecall, Quote: "wamid.X"}, gateway.Outcome{Code: "unsupported"}},
		{"a row that lost its parts", nil, gateway.Reply{Type: gateway.ReplyImage, Text: secret}, gateway.Outcome{Code: "bad_reply"}},
		{"a long caption", nil, gateway.Reply{Type: gateway.ReplyImage, Text: secret + strings.Repeat("x", 1024), File: file("")}, gateway.Outcome{Code: "bad_reply"}},
		{"a long text", nil, gateway.Reply{Text: secret + strings.Repeat("x", 4096)}, gateway.Outcome{Code: "too_long"}},
		{"image of a wrong type", nil, gateway.Reply{Type: gateway.ReplyImage, File: file("image/gif")}, gateway.Outcome{Code: "unsupported_file"}},
		{"sticker of a wrong type", nil, gateway.Reply{Type: gateway.ReplySticker, File: file("image/png")}, gateway.Outcome{Code: "unsupported_file"}},
		{"voice that is no Ogg", nil, gateway.Reply{Type: gateway.ReplyVoice, File: file("audio/mpeg")}, gateway.Outcome{Code: "unsupported_file"}},
		{"video of a wrong type", nil, gateway.Reply{Type: gateway.ReplyVideo, File: file("video/webm")}, gateway.Outcome{Code: "unsupported_file"}},
		{"audio of a wrong type", nil, gateway.Reply{Type: gateway.ReplyAudio, File: file("audio/wav")}, gateway.Outcome{Code: "unsupported_file"}},
		{"no store", nil, gateway.Reply{Type: gateway.ReplyImage, File: ours}, gateway.Outcome{Code: "no_media_store"}},
		{"no file", &uploads{err: fmt.Errorf("%s: %w", secret, gateway.ErrNotFound)}, gateway.Reply{Type: gateway.ReplyImage, File: ours}, gateway.Outcome{Code: "no_file"}},
		{"refused", &uploads{err: fmt.Errorf("%s: %w", secret, gateway.ErrConflict)}, gateway.Reply{Type: gateway.ReplyImage, File: ours}, gateway.Outcome{Code: "file_refused"}},
		{"not now", &uploads{err: errors.New(secret)}, gateway.Reply{Type: gateway.ReplyImage, File: ours}, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "upload"}},
	} {
		if c.want.Kind == "" {
			c.want.Kind = gateway.OutcomeRejected
		}
		o := withUploads(t, s.URL, c.up).Send(t.Context(), carrying(toPhone("15550100025"), c.reply))
		if strings.Contains(o.Detail, secret) || o.Detail == "" {
			t.Errorf("%s: detail %q", c.name, o.Detail)
		}
		o.Detail = ""
		if d := cmp.Diff(c.want, o); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// The platform plays back what it was sent; no word of any kind of reply comes
// through.
func TestNoWordOfAReplyInOutcomes(t *testing.T) {
	t.Parallel()
	for name, k := range kinds() {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			var said []string
			var walk func(any)
			walk = func(v any) {
				switch v := v.(type) {
				case string:
					said = append(said, v)
				case []any:
					for _, e := range v {
						walk(e)
					}
				case map[string]any:
					for _, e := range v {
						walk(e)
					}
				}
			}
			for _, part := range []string{"text", "image", "audio", "video", "document", "sticker", "location", "contacts", "reaction", "template", "interactive", "context"} {
				walk(body[part])
			}
			w.WriteHeader(400)
			b, _ := json.Marshal(map[string]any{"error": map[string]any{"code": 100, "error_data": map[string]any{"details": strings.Join(said, " / ")}}})
			_, _ = w.Write(b)
		}))
		reply := strings.NewReplacer(`"text":"b"`, `"text":"PRIVATE-b"`, `"name":"Ana B"`, `"name":"PRIVATE-Ana"`, `Größe`, `PRIVATE-Groesse`, `"title":"Yes"`, `"title":"PRIVATE-yes"`,
			`x.test`, `private.test`, `wamid.Q`, `wamid.PRIVATE`, `"title":"R"`, `"title":"PRIVATE-R"`, `"token":"k"`, `"token":"PRIVATE"`).Replace(k.reply)
		o := withUploads(t, s.URL, &uploads{}).Send(t.Context(), carrying(toPhone("15550100025"), parsed(t, reply)))
		s.Close()
		want := gateway.OutcomeRejected
		if name == "image of ours" { // its upload is made once more
			want = gateway.OutcomeRetry
		}
		if o.Kind != want || strings.Contains(strings.ToUpper(o.Detail), "PRIVATE") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// The sandbox, which checks what Meta documents, takes every kind as we send it,
// to a person and, where groups allow it, to a group.
func TestEveryKindAtTheSandbox(t *testing.T) {
	t.Parallel()
	s, err := whatsapptest.New(whatsapptest.Options{AppSecret: "app", AccessToken: accessToken, PhoneNumberID: numberID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, tpl := range []whatsapptest.Template{{Name: "hello", Language: "en_US"}, {Name: "t", Language: "de", BodyParams: 1}} {
		if err := s.SetTemplate(tpl); err != nil {
			t.Fatal(err)
		}
	}
	c := withUploads(t, s.URL(), &uploads{})
	taken := 0
	for name, k := range kinds() {
		r := parsed(t, k.reply)
		for _, to := range []gateway.Identity{{Kind: "phone", Value: "15550100025"}, {Kind: "bsuid", Value: "US.40917755238106644215"}, {Kind: "group", Value: "Zm9v"}} {
			o := c.Send(t.Context(), carrying([]gateway.Identity{to}, r))
			switch {
			case o.Kind == gateway.OutcomeAccepted && o.ExternalID != "":
				taken++
			case to.Kind == "group" && o.Code == "unsupported_in_group":
			default:
				t.Errorf("%s to a %s: %+v", name, to.Kind, o)
			}
		}
	}
	if o := c.Send(t.Context(), carrying(nil, parsed(t, `{"type":"read","quote":"wamid.Q","typing":true}`))); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("read: %+v", o)
	}
	if n := s.CallLog().Accepted()[markerID]; n != taken || taken < 2*len(kinds()) {
		t.Errorf("%d calls with our marker, %d taken", n, taken)
	}
}
