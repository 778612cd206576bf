package wecom_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// welcoming is a welcome as a worker writes it, in a chat that has nobody to write
// to.
func welcoming(t *testing.T, code, rest string) gateway.Outgoing {
	t.Helper()
	out := carrying(t, `{"type":"welcome","handle":{"kind":"welcome","code":"`+code+`"}`+rest+`}`)
	out.Message.To = nil
	return out
}

func TestWelcomeRequest(t *testing.T) {
	t.Parallel()
	a := newAPI(t, says(200, nil, `{"errcode":0,"errmsg":"ok"}`))
	files := &store{}
	own := `"file":{"file":"` + ourFile + `","mime":"image/png"`
	out := welcoming(t, "CODE", `,"text":"a <b>","attachments":[{"type":"image",`+own+`}},{"type":"image","file":{"url":"https://x.test/p.png"}},`+
		`{"type":"page","page":{"title":"T","description":"d","url":"https://x.test/?a=1&b=2","picture":"https://x.test/p"}},`+
		`{"type":"mini","mini":{"title":"M","app_id":"wx1","page":"/p?a=1"},`+own+`}},{"type":"video","file":{"id":"V"}},{"type":"file",`+own+`,"name":"报价.png"}}]`)
	if o := newStoring(t, a.URL, files).Send(t.Context(), out); o.Kind != gateway.OutcomeAccepted || o.ExternalID != "" {
		t.Fatalf("%+v", o)
	}
	want := `{"welcome_code":"CODE","text":{"content":"a <b>"},"attachments":[{"msgtype":"image","image":{"media_id":"WECOM-ID"}},` +
		`{"msgtype":"image","image":{"pic_url":"https://x.test/p.png"}},` +
		`{"msgtype":"link","link":{"title":"T","picurl":"https://x.test/p","desc":"d","url":"https://x.test/?a=1&b=2"}},` +
		`{"msgtype":"miniprogram","miniprogram":{"title":"M","pic_media_id":"WECOM-ID","appid":"wx1","page":"/p?a=1"}},` +
		`{"msgtype":"video","video":{"media_id":"V"}},{"msgtype":"file","file":{"media_id":"WECOM-ID"}}]}`
	if d := cmp.Diff(readJSON(t, want), readJSON(t, a.bodies[0])); d != "" || !strings.HasPrefix(a.urls[0], "POST /cgi-bin/externalcontact/send_welcome_msg?access_token=") {
		t.Errorf("%s %s", a.urls[0], d)
	}
	wantAsks := []string{"image/png; kind=image", "image/png; kind=image", "image/png; kind=file; name*=utf-8''%E6%8A%A5%E4%BB%B7.png"}
	for i, ask := range files.asks {
		if ask != "corp-a "+ourFile+" "+wantAsks[i] {
			t.Errorf("upload %d: %s", i, ask)
		}
	}
}

func TestWelcomeNotFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rest, code string }{
		{`,"text":"` + strings.Repeat("好", 1334) + `"`, "too_long"},
		{`,"attachments":[{"type":"video","file":{"url":"https://x.test/v.mp4"}}]`, "unsupported"},
		{`,"attachments":[{"type":"image","file":{"id":"1","mime":"image/webp"}}]`, "unsupported_file"},
		{`,"attachments":[{"type":"page","page":{"title":"` + strings.Repeat("好", 43) + `","url":"https://x.test"}}]`, "too_long"},
		{`,"attachments":[{"type":"mini","mini":{"title":"` + strings.Repeat("好", 22) + `","app_id":"a","page":"p"},"file":{"id":"1"}}]`, "too_long"},
		{`,"attachments":[{"type":"file","file":{"file":"` + ourFile + `","mime":"text/plain"}}]`, "no_media_store"},
	} {
		a := newAPI(t, says(200, nil, `{"errcode":0}`))
		o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), welcoming(t, "SECRETCODE", c.rest))
		if o.Kind != gateway.OutcomeRejected || o.Code != c.code || len(a.bodies) != 0 || strings.Contains(o.Detail, "好") || strings.Contains(o.Detail, "SECRET") {
			t.Errorf("%.60s: %+v", c.rest, o)
		}
	}
	a := newAPI(t, says(200, nil, `{"errcode":0}`))
	for _, reply := range []string{`{"text":"x","handle":{"kind":"welcome","code":"k"}}`, `{"type":"welcome","text":"x","handle":{"kind":"session","code":"k"}}`} {
		if o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), carrying(t, reply)); o.Code != "unsupported" || len(a.bodies) != 0 {
			t.Errorf("%s: %+v", reply, o)
		}
	}
}

// The sandbox as the platform: a code greets once, within 20 seconds, and its words
// say no code and no text.
func TestWelcomeCodes(t *testing.T) {
	t.Parallel()
	clock := &movable{t: time.Now()}
	s := startSandbox(t, wecomtest.Options{Now: clock.now})
	c := newSender(t, s.URL(), egress.Options{}, nil)
	for i := range 4 {
		if _, _, err := s.Make(wecomtest.Event{Kind: "customer", Code: fmt.Sprint("SECRETCODE-", i)}); err != nil {
			t.Fatal(err)
		}
	}
	greet := func(code string) gateway.Outcome {
		o := c.Send(t.Context(), welcoming(t, code, `,"text":"SECRETWORDS"`))
		checkQuiet(t, o, "SECRETCODE", "SECRETWORDS")
		return o
	}
	if o := greet("SECRETCODE-0"); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("the first: %+v", o)
	}
	if o := greet("SECRETCODE-0"); o.Kind != gateway.OutcomeRejected || o.Code != "41051" {
		t.Errorf("again: %+v", o)
	}
	if o := greet("SECRETCODE-other"); o.Kind != gateway.OutcomeRejected || o.Code != "41050" {
		t.Errorf("a code of nobody: %+v", o)
	}
	clock.move(20 * time.Second)
	if o := greet("SECRETCODE-1"); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("in the last moment: %+v", o)
	}
	clock.move(time.Second)
	if o := greet("SECRETCODE-2"); o.Kind != gateway.OutcomeRejected || o.Code != "41050" {
		t.Errorf("too late: %+v", o)
	}
	addFault(t, s, sandbox.OpSend, 41096)
	if o := greet("SECRETCODE-3"); o.Kind != gateway.OutcomeRejected || o.Code != "41096" || o.Detail == "" {
		t.Errorf("another one is under way: %+v", o)
	}
	if got := len(callsOf(s, "welcome")); got != 6 {
		t.Errorf("%d calls, want one for each", got)
	}
}

func callsOf(s *wecomtest.Sandbox, kind string) (out []sandbox.Call) {
	for _, c := range s.Calls() {
		if c.Type == kind {
			out = append(out, c)
		}
	}
	return out
}

// An upload that WeCom forgot is brought there again for the next message; this
// one had its only try.
func TestWelcomeStaleUpload(t *testing.T) {
	t.Parallel()
	a := newAPI(t, says(200, nil, `{"errcode":40007}`))
	files := &store{}
	out := welcoming(t, "CODE", `,"attachments":[{"type":"file","file":{"file":"`+ourFile+`","mime":"text/plain"}}]`)
	newStoring(t, a.URL, files).Send(t.Context(), out)
	if files.forgot != 1 {
		t.Errorf("forgotten %d times, want once", files.forgot)
	}
}
