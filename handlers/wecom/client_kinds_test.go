package wecom_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

const ourFile = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// store is the files of the gateway, brought to WeCom by the real upload; ids are
// remembered by account, file and type, as the media stage does it.
type store struct {
	body    []byte
	uploads *wecom.Uploads
	ids     map[string]string
	asks    []string
	forgot  int
	err     error
}

func (s *store) Upload(ctx context.Context, account, file, mime string) (string, error) {
	key := account + " " + file + " " + mime
	s.asks = append(s.asks, key)
	if s.err != nil || s.uploads == nil {
		return "WECOM-ID", s.err
	}
	if id := s.ids[key]; id != "" {
		return id, nil
	}
	id, err := s.uploads.Upload(ctx, bytes.NewReader(s.body), int64(len(s.body)), mime)
	if err == nil {
		s.ids[key] = id
	}
	return id, err
}

func (s *store) Forget(_ context.Context, account, file, mime string) {
	s.forgot++
	delete(s.ids, account+" "+file+" "+mime)
}

func newStoring(t *testing.T, base string, s *store) *wecom.Client {
	t.Helper()
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	return wecom.NewClient(wecom.ClientConfig{APIBase: base, CorpID: corpID, AgentID: agentID, Secret: secret, Uploader: s}, e, nil)
}

func addFault(t *testing.T, s *wecomtest.Sandbox, op string, code int) {
	t.Helper()
	if _, err := s.Faults().Add(sandbox.Fault{Op: op, Code: code}); err != nil {
		t.Fatal(err)
	}
}

// parsed is a reply as a worker writes it, through the gateway's own door.
func parsed(t *testing.T, reply string) gateway.Reply {
	t.Helper()
	a, err := gateway.ParseAnswer([]byte(`{"event":"ev_a","verdict":"done","replies":[` + reply + `]}`))
	if err != nil {
		t.Fatalf("%.200s: %v", reply, err)
	}
	return a.Replies[0]
}

func carrying(t *testing.T, reply string) gateway.Outgoing {
	t.Helper()
	out := outgoing(toMember("LinXiaoyu"), "", 1)
	out.Message.Reply, out.Message.Account = parsed(t, reply), "corp-a"
	return out
}

func ofOurs(kind, mime, rest string) string {
	return `{"type":"` + kind + `"` + rest + `,"file":{"file":"` + ourFile + `","mime":"` + mime + `"}}`
}

// cards is one whole card of each type.
func cards() map[string]string {
	return map[string]string{
		"text_notice":          `{"card_type":"text_notice","main_title":{"title":"<T>"},"card_action":{"type":1,"url":"https://x.test/?a=1&b=2"},"horizontal_content_list":[{"keyname":"n","value":"9007199254740993"}]}`,
		"news_notice":          `{"card_type":"news_notice","main_title":{"title":"T"},"card_image":{"url":"https://x.test/p"},"card_action":{"type":1,"url":"https://x.test"}}`,
		"button_interaction":   `{"card_type":"button_interaction","main_title":{"title":"T"},"button_list":[{"text":"Yes","style":1,"key":"y"},{"text":"No","style":2,"key":"n"}]}`,
		"vote_interaction":     `{"card_type":"vote_interaction","main_title":{"title":"T"},"checkbox":{"question_key":"q","mode":1,"option_list":[{"id":"1","text":"a"},{"id":"2","text":"b"}]},"submit_button":{"text":"Send","key":"s"}}`,
		"multiple_interaction": `{"card_type":"multiple_interaction","main_title":{"title":"T"},"select_list":[{"question_key":"q","title":"Q","option_list":[{"id":"1","text":"a"}]}],"submit_button":{"text":"Send","key":"s"}}`,
	}
}

const marker = "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA" // of outgoing

// Every kind becomes the request that WeCom documents.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	const send, update, recall = "message/send", "message/update_template_card", "message/recall"
	withTask := func(card, task string) string { return card[:len(card)-1] + `,"task_id":"` + task + `"}` }
	notice := cards()["text_notice"]
	for _, k := range []struct{ name, reply, call, want, asks string }{
		{"text", `{"text":"a <b> & c","preview":true,"quote":"m"}`, send, `"msgtype":"text","text":{"content":"a <b> & c"}`, ""},
		{"markdown", `{"type":"markdown","text":"**b**"}`, send, `"msgtype":"markdown","markdown":{"content":"**b**"}`, ""},
		{"image by id", `{"type":"image","file":{"id":"M-1"}}`, send, `"msgtype":"image","image":{"media_id":"M-1"}`, ""},
		{"image of ours", ofOurs("image", "image/png", ""), send, `"msgtype":"image","image":{"media_id":"WECOM-ID"}`, "image/png; kind=image"},
		{"voice of ours", ofOurs("voice", "audio/amr", ""), send, `"msgtype":"voice","voice":{"media_id":"WECOM-ID"}`, "audio/amr; kind=voice"},
		{"video of ours", ofOurs("video", "video/mp4", `,"text":"d"`), send, `"msgtype":"video","video":{"media_id":"WECOM-ID","description":"d"}`, "video/mp4; kind=video"},
		{"document of ours", `{"type":"document","file":{"file":"` + ourFile + `","mime":"image/png","name":"报价 1.png"}}`, send,
			`"msgtype":"file","file":{"media_id":"WECOM-ID"}`, "image/png; kind=file; name*=utf-8''%E6%8A%A5%E4%BB%B7%201.png"},
		{"news", `{"type":"news","news":[{"title":"T","description":"d","url":"http://x.test/?a=1&b=2","picture":"https://x.test/p"},{"title":"U","url":"https://x.test"}]}`, send,
			`"msgtype":"news","news":{"articles":[{"title":"T","description":"d","url":"http://x.test/?a=1&b=2","picurl":"https://x.test/p"},{"title":"U","url":"https://x.test"}]}`, ""},
		{"card", `{"type":"card","card":{"content":` + notice + `}}`, send, `"msgtype":"template_card","template_card":` + withTask(notice, marker), ""},
		{"card with a task", `{"type":"card","card":{"content":` + withTask(notice, "mine-1") + `}}`, send, `"msgtype":"template_card","template_card":` + withTask(notice, "mine-1"), ""},
		{"change of a card", `{"type":"card","card":{"code":"C1","content":` + notice + `}}`, update, `"userids":["LinXiaoyu"],"agentid":1000017,"response_code":"C1","template_card":` + notice, ""},
		{"change of a button", `{"type":"card","card":{"code":"C1","button":"Done"}}`, update, `"userids":["LinXiaoyu"],"agentid":1000017,"response_code":"C1","button":{"replace_name":"Done"}`, ""},
		{"recall", `{"type":"recall","quote":"MSG-1"}`, recall, `"msgid":"MSG-1"`, ""},
	} {
		a := newAPI(t, says(200, nil, `{"errcode":0,"errmsg":"ok"}`))
		files := &store{}
		if o := newStoring(t, a.URL, files).Send(t.Context(), carrying(t, k.reply)); o.Kind != gateway.OutcomeAccepted {
			t.Errorf("%s: %+v", k.name, o)
			continue
		}
		want := k.want
		if k.call == send {
			want = `"touser":"LinXiaoyu","agentid":1000017,"safe":0,"enable_id_trans":0,"enable_duplicate_check":0,` + want
		}
		if !strings.HasPrefix(a.urls[0], "POST /cgi-bin/"+k.call+"?access_token=") || strings.Contains(a.bodies[0], `\u00`) {
			t.Errorf("%s: %s\n%s", k.name, a.urls[0], a.bodies[0])
		}
		if d := cmp.Diff(readJSON(t, "{"+want+"}"), readJSON(t, a.bodies[0])); d != "" {
			t.Errorf("%s: %s", k.name, d)
		}
		if k.asks != "" && (len(files.asks) != 1 || files.asks[0] != "corp-a "+ourFile+" "+k.asks) {
			t.Errorf("%s: asked for %q", k.name, files.asks)
		}
	}
}

func readJSON(t *testing.T, s string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	return v
}

// What WeCom would refuse, or cut, is refused before a call, naming what is wrong.
func TestUnfitReplies(t *testing.T) {
	t.Parallel()
	a := newAPI(t, says(200, nil, `{"errcode":0}`))
	c := newStoring(t, a.URL, &store{})
	han := func(bytes int) string { return strings.Repeat("好", bytes/3) + strings.Repeat("x", bytes%3) }
	card := func(from, to string) string {
		s := strings.Replace(cards()["button_interaction"], from, to, 1)
		if s == cards()["button_interaction"] {
			t.Fatalf("the card has no %s", from)
		}
		return `{"type":"card","card":{"content":` + s + `}}`
	}
	news := func(title, description string) string {
		return fmt.Sprintf(`{"type":"news","news":[{"title":"ok","url":"https://x.test"},{"title":%q,"description":%q,"url":"https://x.test"}]}`, title, description)
	}
	for _, k := range []struct{ reply, code, detail string }{
		{`{"text":"` + han(2049) + `"}`, "too_long", "2048 bytes"},
		{`{"type":"markdown","text":"` + han(2049) + `"}`, "too_long", "2048 bytes"},
		{news(han(129), ""), "too_long", "news[1].title has more than 128 bytes"},
		{news("t", han(513)), "too_long", "news[1].description has more than 512 bytes"},
		{ofOurs("video", "video/mp4", `,"text":"`+han(513)+`"`), "too_long", "512 bytes"},
		{ofOurs("image", "image/png", `,"text":"caption"`), "unsupported", "caption"},
		{ofOurs("document", "image/png", `,"text":"caption"`), "unsupported", "caption"},
		{`{"type":"image","file":{"url":"https://x.test/a.png"}}`, "unsupported", "no URLs"},
		{`{"type":"audio","file":{"id":"1"}}`, "unsupported", "document"},
		{`{"type":"sticker","file":{"id":"1"}}`, "unsupported", ""},
		{`{"type":"location","location":{"latitude":1,"longitude":1}}`, "unsupported", ""},
		{`{"type":"contacts","contacts":[{"name":"n"}]}`, "unsupported", ""},
		{`{"type":"reaction","quote":"m","emoji":"👍"}`, "unsupported", ""},
		{`{"type":"template","template":{"name":"t","language":"en"}}`, "unsupported", ""},
		{`{"type":"buttons","text":"b","buttons":[{"id":"1","title":"t"}]}`, "unsupported", ""},
		{`{"type":"list","text":"b","list":{"button":"b","sections":[{"rows":[{"id":"1","title":"t"}]}]}}`, "unsupported", ""},
		{`{"type":"link","text":"b","link":{"title":"t","url":"https://x.test"}}`, "unsupported", ""},
		{`{"type":"flow","text":"b","flow":{"id":"1","title":"t"}}`, "unsupported", ""},
		{`{"type":"read","quote":"m"}`, "unsupported", ""},
		{ofOurs("image", "image/gif", ""), "unsupported_file", ""},
		{ofOurs("voice", "audio/ogg", ""), "unsupported_file", ""},
		{ofOurs("video", "video/3gpp", ""), "unsupported_file", ""},
		{card(`button_interaction`, `poll`), "bad_card", "card_type"},
		{card(`"card_type":"button_interaction"`, `"card_type":7`), "bad_card", "card_type"},
		{card(`"main_title"`, `"other"`), "bad_card", "main_title"},
		{card(`"button_list":[`, `"button_list":[{},{},{},{},{},`), "bad_card", "button_list must be a list of at most 6"},
		{card(`"button_list"`, `"x"`), "bad_card", "button_list must be set"},
		{card(`{"card_type"`, `{"task_id":"a b","card_type"`), "bad_card", "task_id"},
		{card(`{"card_type"`, `{"task_id":7,"card_type"`), "bad_card", "task_id"},
		{card(`{"card_type"`, `{"replace_text":"x","card_type"`), "bad_card", "replace_text"},
		{`{"type":"card","card":{"content":{"card_type":"text_notice","card_action":{}}}}`, "bad_card", "main_title or sub_title_text"},
		{`{"type":"card","card":{"content":{"card_type":"news_notice","main_title":{},"card_action":{}}}}`, "bad_card", "card_image or image_text_area"},
	} {
		o := c.Send(t.Context(), carrying(t, k.reply))
		if o.Kind != gateway.OutcomeRejected || o.Code != k.code || !strings.Contains(o.Detail, k.detail) {
			t.Errorf("%.90s: %+v, want %s %s", k.reply, o, k.code, k.detail)
		}
		checkQuiet(t, o, "好", "x.test")
	}
	if len(a.bodies) != 0 || a.tokens != 0 {
		t.Errorf("%d calls and %d tokens", len(a.bodies), a.tokens)
	}
	for _, fits := range []string{`{"text":"` + han(2048) + `"}`, `{"type":"markdown","text":"` + han(2048) + `"}`, news(han(128), han(512)),
		ofOurs("video", "video/mp4", `,"text":"`+han(512)+`"`)} {
		if o := c.Send(t.Context(), carrying(t, fits)); o.Kind != gateway.OutcomeAccepted {
			t.Errorf("the longest: %+v", o)
		}
	}
	bare := gateway.Outgoing{Message: gateway.Message{To: toMember("a"), Reply: gateway.Reply{Type: "poll"}}}
	if o := c.Send(t.Context(), bare); o.Code != "unsupported" {
		t.Errorf("a type of tomorrow: %+v", o)
	}
	bare.Message.Reply = gateway.Reply{Type: gateway.ReplyCard}
	if o := c.Send(t.Context(), bare); o.Code != "bad_reply" {
		t.Errorf("a card that is lost: %+v", o)
	}
}

// The sandbox, which checks by itself, takes all of it; files come there whole and
// with their names; a card is pressed, changed once, and messages are taken back.
func TestKindsAtTheSandbox(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	files := &store{body: []byte("\x89PNG\r\n\x1a\n whole"), ids: map[string]string{}}
	c := newStoring(t, s.URL(), files)
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	files.uploads = wecom.NewUploads(c, e)
	send := func(reply string) gateway.Outcome {
		t.Helper()
		return c.Send(t.Context(), carrying(t, reply))
	}
	taken := func(reply string) string {
		t.Helper()
		o := send(reply)
		if o.Kind != gateway.OutcomeAccepted {
			t.Errorf("%.90s: %+v", reply, o)
		}
		return o.ExternalID
	}
	first := taken(`{"text":"hello"}`)
	taken(`{"type":"markdown","text":"**b**"}`)
	taken(`{"type":"news","news":[{"title":"T","url":"http://x.test"}]}`)
	taken(ofOurs("image", "image/png", ""))
	taken(ofOurs("image", "image/png", ""))
	taken(`{"type":"document","file":{"file":"` + ourFile + `","mime":"image/png","name":"a\"b 报价.png"}}`)
	files.body = []byte("#!AMR\nxxxxxxx")
	taken(ofOurs("voice", "audio/amr", ""))
	files.body = []byte("\x00\x00\x00\x18ftypmp42xx")
	taken(ofOurs("video", "video/mp4", `,"text":"d"`))
	var got []string
	for _, f := range s.Files() {
		got = append(got, f.Kind+" "+f.Name+" "+f.MIME+" "+fmt.Sprint(len(f.Body)))
	}
	if d := cmp.Diff([]string{"image image.png image/png 14", `file a"b 报价.png image/png 14`, "voice voice.amr audio/amr 13", "video video.mp4 video/mp4 14"}, got); d != "" {
		t.Error(d)
	}
	for kind, content := range cards() {
		if o := c.Send(t.Context(), carrying(t, `{"type":"card","card":{"content":`+content[:len(content)-1]+`,"task_id":"`+kind+`"}}}`)); o.Kind != gateway.OutcomeAccepted || o.ExternalID == "" {
			t.Errorf("%s: %+v", kind, o)
		}
	}
	code, err := s.Press("linxiaoyu", "button_interaction", "y")
	if err != nil {
		t.Fatal(err)
	}
	taken(`{"type":"card","card":{"code":"` + code + `","button":"Done"}}`)
	if s.ButtonText("button_interaction") != "Done" {
		t.Error("the button did not change")
	}
	if o := send(`{"type":"card","card":{"code":"` + code + `","button":"Again"}}`); o.Kind != gateway.OutcomeRejected {
		t.Errorf("a code used twice: %+v", o)
	}
	if code, err = s.Press("LinXiaoyu", "vote_interaction", "s"); err != nil {
		t.Fatal(err)
	}
	taken(`{"type":"card","card":{"code":"` + code + `","content":` + cards()["text_notice"] + `}}`)
	taken(`{"type":"recall","quote":"` + first + `"}`)
	if !s.Recalled(first) {
		t.Error("the message was not taken back")
	}
	if o := send(`{"type":"recall","quote":"nothing"}`); o.Kind != gateway.OutcomeRejected {
		t.Errorf("recalled nothing: %+v", o)
	}
}

// A member whom the platform names, under errcode 0, got nothing.
func TestPartialFailures(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{Unknown: []string{"ghost"}})
	s.SetUnseen("Blind", true)
	s.SetUnlicensed("Poor", true)
	c := newSender(t, s.URL(), egress.Options{}, nil)
	for member, code := range map[string]string{"ghost": "81013", "blind": "invaliduser", "poor": "unlicenseduser"} {
		if o := c.Send(t.Context(), outgoing(toMember(member), "x", 1)); o.Kind != gateway.OutcomeRejected || o.Code != code {
			t.Errorf("%s: %+v", member, o)
		}
	}
	retired := []gateway.Identity{{Kind: "userid", Value: "old", As: "Old", Retired: true}, {Kind: "userid", Value: "new", As: "New"}}
	if o := c.Send(t.Context(), outgoing(retired, "x", 1)); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("%+v", o)
	}
	calls := s.Calls()
	if len(calls) != 4 || calls[3].To != "New" {
		t.Errorf("%+v", calls)
	}
}

// A platform that plays back all it was sent does not bring a word of it into an
// outcome.
func TestNoWordOfAReplyInOutcomes(t *testing.T) {
	t.Parallel()
	replies := []string{
		`{"text":"PRIVATE one"}`, `{"type":"markdown","text":"PRIVATE two"}`, `{"type":"recall","quote":"PRIVATE-3"}`, `{"type":"card","card":{"code":"PRIVATE-4","button":"PRIVATE five"}}`,
		`{"type":"news","news":[{"title":"PRIVATE six","description":"PRIVATE seven","url":"https://PRIVATE.test/8","picture":"https://x.test/PRIVATE"}]}`,
		ofOurs("video", "video/mp4", `,"text":"PRIVATE nine"`),
	}
	for kind := range cards() {
		replies = append(replies, `{"type":"card","card":{"content":`+strings.ReplaceAll(cards()[kind], `T"}`, `PRIVATE ten"}`)+`}}`)
	}
	for _, reply := range replies {
		var a *api
		a = newAPI(t, func(n int, w http.ResponseWriter) {
			a.mu.Lock()
			defer a.mu.Unlock()
			said, _ := json.Marshal(strings.ReplaceAll(a.bodies[n-1], `"`, " "))
			_, _ = fmt.Fprintf(w, `{"errcode":40058,"errmsg":%s}`, said)
		})
		o := newStoring(t, a.URL, &store{}).Send(t.Context(), carrying(t, reply))
		if o.Kind != gateway.OutcomeRejected || strings.Contains(strings.ToUpper(o.Detail), "PRIVATE") {
			t.Errorf("%.60s: %+v", reply, o)
		}
		checkQuiet(t, o, "LinXiaoyu")
	}
}
