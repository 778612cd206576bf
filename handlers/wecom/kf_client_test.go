package wecom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

func newKfClient(t *testing.T, base string, change ...func(*wecom.KfConfig)) *wecom.KfClient {
	t.Helper()
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	c := wecom.KfConfig{Account: "desk", OpenKfID: kfID, Pages: e, ClientConfig: wecom.ClientConfig{APIBase: base, CorpID: corpID, Secret: secret}}
	for _, f := range change {
		f(&c)
	}
	return wecom.NewKfClient(c, e, nil)
}

// reply is a message of ours to the customer, at its n-th attempt.
func kfMessage(r gateway.Reply, n int) gateway.Outgoing {
	return gateway.Outgoing{Message: gateway.Message{ID: marker, Account: "desk", Reply: r, Attempts: n,
		To: []gateway.Identity{{Kind: "external_userid", Value: customer}}}}
}

func kfText(s string) gateway.Reply { return gateway.Reply{Type: gateway.ReplyText, Text: s} }

// sent is the request that a reply becomes, or the code and words of its refusal.
func kfSent(t *testing.T, r gateway.Reply) string {
	t.Helper()
	body := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "gettoken") {
			_, _ = io.WriteString(w, `{"errcode":0,"access_token":"T","expires_in":7200}`)
			return
		}
		b, _ := io.ReadAll(req.Body)
		body = strings.TrimPrefix(req.URL.Path, "/cgi-bin/kf/") + " " + string(b)
		_, _ = io.WriteString(w, `{"errcode":0,"errmsg":"ok","msgid":"`+marker+`"}`)
	}))
	defer s.Close()
	o := newKfClient(t, s.URL).Send(t.Context(), kfMessage(r, 1))
	if body == "" {
		return o.Code + ": " + o.Detail
	}
	if o.Kind != gateway.OutcomeAccepted || o.ExternalID != marker {
		t.Errorf("%+v", o)
	}
	return body
}

// Every kind becomes the request that WeCom documents, and what customer service
// has no counterpart for is refused before the call.
func TestKfEveryKind(t *testing.T) {
	t.Parallel()
	file := &gateway.FileReply{ID: "M"}
	head := `{"touser":"` + customer + `","open_kfid":"` + kfID + `","msgid":"` + marker + `","msgtype":`
	long := func(n int) string { return strings.Repeat("你", n/3) + strings.Repeat("x", n%3) }
	rows := func(n int) (rows []gateway.Choice) {
		for i := range n {
			rows = append(rows, gateway.Choice{ID: fmt.Sprint(i), Title: fmt.Sprint("row ", i)})
		}
		return rows
	}
	handle := &gateway.Handle{Kind: gateway.HandleSession, Code: "c1"}
	for _, c := range []struct {
		name string
		r    gateway.Reply
		want string
	}{
		{"text", kfText("a <b> & 你"), `send_msg ` + head + `"text","text":{"content":"a <b> & 你"}}`},
		{"longest text", kfText(long(2048)), `send_msg ` + head + `"text","text":{"content":"` + long(2048) + `"}}`},
		{"too long", kfText(long(2049)), "too_long: the text has more than 2048 bytes"},
		{"empty", kfText(""), "empty: the text is empty"},
		{"image", gateway.Reply{Type: gateway.ReplyImage, File: file}, `send_msg ` + head + `"image","image":{"media_id":"M"}}`},
		{"voice", gateway.Reply{Type: gateway.ReplyVoice, File: file}, `send_msg ` + head + `"voice","voice":{"media_id":"M"}}`},
		{"video", gateway.Reply{Type: gateway.ReplyVideo, File: file}, `send_msg ` + head + `"video","video":{"media_id":"M"}}`},
		{"document", gateway.Reply{Type: gateway.ReplyDocument, File: file}, `send_msg ` + head + `"file","file":{"media_id":"M"}}`},
		{"caption", gateway.Reply{Type: gateway.ReplyImage, File: file, Text: "x"}, "unsupported: customer service shows no caption with a file; send the text as a message of its own"},
		{"URL", gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{URL: "https://x.test/a.png"}},
			"unsupported: WeCom fetches no URLs; send the file by its name in the gateway's store, or by WeCom's id"},
		{"no store", gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{File: strings.Repeat("0a", 32), MIME: "image/png"}},
			"no_media_store: the gateway keeps no files to send; use WeCom's id"},
		{"wrong type", gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{ID: "M", MIME: "image/gif"}}, "unsupported_file: WeCom does not take a file of this type as image"},
		{"location", gateway.Reply{Type: gateway.ReplyLocation, Location: &gateway.Location{Latitude: 31.5, Longitude: -1, Name: "n", Address: "a"}},
			`send_msg ` + head + `"location","location":{"name":"n","address":"a","latitude":31.5,"longitude":-1}}`},
		{"buttons", gateway.Reply{Type: gateway.ReplyButtons, Header: "H", Text: "T", Footer: "F", Buttons: []gateway.Choice{{ID: "y", Title: "Yes"}, {ID: "n", Title: "No"}}},
			`send_msg ` + head + `"msgmenu","msgmenu":{"head_content":"H\nT","list":[{"type":"click","click":{"id":"y","content":"Yes"}},{"type":"click","click":{"id":"n","content":"No"}}],"tail_content":"F"}}`},
		{"list", gateway.Reply{Type: gateway.ReplyList, Text: "T", List: &gateway.MenuReply{Button: "Open", Sections: []gateway.MenuSection{
			{Title: "A", Rows: []gateway.Choice{{ID: "1", Title: "one", Description: "first"}}}, {Title: "B", Rows: []gateway.Choice{{ID: "2", Title: "two"}}}}}},
			`send_msg ` + head + `"msgmenu","msgmenu":{"head_content":"T","list":[{"type":"text","text":{"content":"A"}},{"type":"click","click":{"id":"1","content":"one first"}},` +
				`{"type":"text","text":{"content":"B"}},{"type":"click","click":{"id":"2","content":"two"}}]}}`},
		{"long list", gateway.Reply{Type: gateway.ReplyList, Text: "T", List: &gateway.MenuReply{Button: "Open", Sections: []gateway.MenuSection{{Title: "A", Rows: rows(10)}}}},
			"too_long: the menu has more than 10 lines, titles of sections included"},
		{"long id", gateway.Reply{Type: gateway.ReplyButtons, Text: "T", Buttons: []gateway.Choice{{ID: strings.Repeat("i", 129), Title: "Yes"}}},
			"too_long: an id, or a title with its description, has more than 128 bytes"},
		{"long menu", gateway.Reply{Type: gateway.ReplyButtons, Text: long(1026), Buttons: rows(1)}, "too_long: header and text of the menu have more than 1024 bytes"},
		{"link", gateway.Reply{Type: gateway.ReplyLink, Text: "T", Link: &gateway.LinkReply{Title: "Open", URL: "https://x.test/?a=1&b=2"}},
			`send_msg ` + head + `"msgmenu","msgmenu":{"head_content":"T","list":[{"type":"view","view":{"url":"https://x.test/?a=1&b=2","content":"Open"}}]}}`},
		{"link with a picture", gateway.Reply{Type: gateway.ReplyLink, Text: "T", File: file, Link: &gateway.LinkReply{Title: "Open", URL: "https://x.test"}},
			`send_msg ` + head + `"link","link":{"title":"Open","desc":"T","url":"https://x.test","thumb_media_id":"M"}}`},
		{"by a code", gateway.Reply{Type: gateway.ReplyText, Text: "T", Handle: handle}, `send_msg_on_event {"code":"c1","msgid":"` + marker + `","msgtype":"text","text":{"content":"T"}}`},
		{"welcome", gateway.Reply{Type: gateway.ReplyWelcome, Text: "T", Handle: &gateway.Handle{Kind: gateway.HandleWelcome, Code: "w"}},
			`send_msg_on_event {"code":"w","msgid":"` + marker + `","msgtype":"text","text":{"content":"T"}}`},
		{"menu by a code", gateway.Reply{Type: gateway.ReplyButtons, Text: "T", Handle: handle, Buttons: rows(1)},
			`send_msg_on_event {"code":"c1","msgid":"` + marker + `","msgtype":"msgmenu","msgmenu":{"head_content":"T","list":[{"type":"click","click":{"id":"0","content":"row 0"}}]}}`},
		{"picture by a code", gateway.Reply{Type: gateway.ReplyLink, Text: "T", File: file, Handle: handle, Link: &gateway.LinkReply{Title: "Open", URL: "https://x.test"}},
			"unsupported: with the code of an event customer service takes texts and menus only; leave the file out"},
		{"code of a card", gateway.Reply{Type: gateway.ReplyText, Text: "T", Handle: &gateway.Handle{Kind: "card", Code: "c"}}, "unsupported: this code is not one of customer service"},
		{"to a colleague", kfHands(gateway.SessionHuman, "ChenHao"),
			`service_state/trans {"open_kfid":"` + kfID + `","external_userid":"` + customer + `","service_state":3,"servicer_userid":"ChenHao"}`},
		{"to the pool", kfHands(gateway.SessionPool, ""), `service_state/trans {"open_kfid":"` + kfID + `","external_userid":"` + customer + `","service_state":2}`},
		{"to the bot", kfHands(gateway.SessionAssistant, ""), `service_state/trans {"open_kfid":"` + kfID + `","external_userid":"` + customer + `","service_state":1}`},
		{"to an end", kfHands(gateway.SessionEnded, ""), `service_state/trans {"open_kfid":"` + kfID + `","external_userid":"` + customer + `","service_state":4}`},
		{"to nobody named", kfHands(gateway.SessionHuman, ""), "bad_reply: transfer.servicer must be 1 to 512 characters without spaces"},
		{"markdown", gateway.Reply{Type: gateway.ReplyMarkdown, Text: "x"}, "unsupported: customer service has no message of this type"},
		{"audio", gateway.Reply{Type: gateway.ReplyAudio, File: file}, "unsupported: WeCom has voice messages and no other sounds; send it as a document"},
		{"bad", gateway.Reply{Type: gateway.ReplyButtons, Text: "T"}, "bad_reply: buttons must be 1 to 3 buttons"},
	} {
		if d := cmp.Diff(c.want, strings.ReplaceAll(kfSent(t, c.r), "\n", `\n`)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		m := kfMessage(c.r, 1).Message
		if err := newKfClient(t, "http://x.test").Fits(&m); (err != nil) != (strings.Contains(c.want, ": ") && !strings.HasPrefix(c.want, "send_msg") && c.name != "no store") {
			t.Errorf("%s: fits: %v", c.name, err)
		}
	}
}

// What WeCom's rules do not allow is refused with its code, once; nothing of it is
// delivered.
func TestKfRules(t *testing.T) {
	t.Parallel()
	now := &movable{t: time.Now()}
	s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}, Now: now.now})
	c := newKfClient(t, s.URL())
	n := 0
	send := func(r gateway.Reply) string {
		n++
		out := kfMessage(r, 1)
		out.Message.ID = fmt.Sprintf("ms_%026d", n)
		o := c.Send(context.Background(), out)
		if strings.Contains(o.Detail, customer) || strings.Contains(o.Detail, "SECRET") {
			t.Errorf("detail %q", o.Detail)
		}
		return string(o.Kind) + " " + o.Code
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	write := func() {
		if _, err := s.Kf(wecomtest.KfItem{Kf: kfID, Customer: customer, Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	want("nobody wrote", send(kfText("a")), "rejected 40096")
	write()
	for i := range 5 {
		want(fmt.Sprint("message ", i), send(kfText("a")), "accepted ")
	}
	want("the sixth", send(kfText("a")), "rejected 95001")
	write()
	want("the customer wrote", send(kfText("a")), "accepted ")
	now.move(48*time.Hour + time.Second)
	want("after 48 hours", send(kfText("a")), "rejected 95002")
	for state, code := range map[int]string{wecomtest.KfPool: "95018", wecomtest.KfHuman: "95018", wecomtest.KfEnded: "95013"} {
		write()
		s.SetKfState(kfID, customer, state, "ChenHao")
		want(fmt.Sprint("in state ", state), send(kfText("a")), "rejected "+code)
	}
	s.RefuseKf(kfID, 95012)
	want("not granted", send(kfText("a")), "retry 95012")
	s.RefuseKf(kfID, 0)
	want("a code that never was", send(gateway.Reply{Text: "a", Handle: &gateway.Handle{Kind: gateway.HandleWelcome, Code: "none"}}), "rejected 40058")
	want("a file that is not there", send(gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{ID: "none"}}), "rejected 40007")
}

// A second attempt of a message that WeCom had taken: by whatever code it is
// refused, it is not called refused.
func TestKfRepeatedMsgID(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{wecomtest.KfRepeated: "unknown other", 0: "accepted "} {
		s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
		s.SetKfRepeated(code)
		if _, err := s.Kf(wecomtest.KfItem{Kf: kfID, Customer: customer, Text: "x"}); err != nil {
			t.Fatal(err)
		}
		c := newKfClient(t, s.URL())
		if o := c.Send(t.Context(), kfMessage(kfText("a"), 1)); o.Kind != gateway.OutcomeAccepted || o.ExternalID != marker {
			t.Fatalf("%+v", o)
		}
		if o := c.Send(t.Context(), kfMessage(kfText("a"), 2)); string(o.Kind)+" "+o.Code != want {
			t.Errorf("%+v, want %s", o, want)
		}
	}
}

// An answer that is lost is an unknown outcome; what was not written may go again.
func TestKfLost(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
	if _, err := s.Kf(wecomtest.KfItem{Kf: kfID, Customer: customer, Text: "x"}); err != nil {
		t.Fatal(err)
	}
	c := newKfClient(t, s.URL())
	if _, err := s.Faults().Add(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, Next: 1}); err != nil {
		t.Fatal(err)
	}
	if o := c.Send(t.Context(), kfMessage(kfText("a"), 1)); o.Kind != gateway.OutcomeUnknown {
		t.Errorf("%+v", o)
	}
	out := kfMessage(kfText("a"), 1)
	out.VoidAfter = time.Now().Add(-time.Second)
	if o := c.Send(t.Context(), out); o.Kind != gateway.OutcomeRetry {
		t.Errorf("%+v", o)
	}
}

// Clients of one corp and secret have one access token.
func TestKfSharedToken(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
	app := newSender(t, s.URL(), egress.Options{}, nil)
	kf := newKfClient(t, s.URL(), func(c *wecom.KfConfig) { c.Share = app })
	for _, c := range []interface {
		TryCredentials(ctx context.Context) handlers.Credentials
	}{app, kf, app} {
		if got := c.TryCredentials(t.Context()); got.State != handlers.CredentialsTaken {
			t.Errorf("%+v", got)
		}
	}
	if n := s.TokenCalls(); n != 1 {
		t.Errorf("%d tokens fetched", n)
	}
}

// Whether an account can be used is told without sending anything.
func TestKfTryCredentials(t *testing.T) {
	t.Parallel()
	many := make([]string, 150)
	for i := range many {
		many[i] = fmt.Sprint("wk", i)
	}
	s := startSandbox(t, wecomtest.Options{Kf: append(many, kfID)})
	c := newKfClient(t, s.URL())
	try := func() string {
		got := c.TryCredentials(t.Context())
		b, _ := json.Marshal(got)
		if strings.Contains(string(b), kfID) || strings.Contains(string(b), secret) {
			t.Errorf("%s", b)
		}
		return fmt.Sprint(got.State, " ", got.Code)
	}
	if got := try(); got != fmt.Sprint(handlers.CredentialsTaken, " ") {
		t.Error(got)
	}
	s.ExpireToken()
	if got := try(); got != fmt.Sprint(handlers.CredentialsTaken, " ") {
		t.Error("with a token that ended: ", got)
	}
	s.RefuseKf(kfID, 95011)
	if got := try(); got != fmt.Sprint(handlers.CredentialsRefused, " not_granted") {
		t.Error(got)
	}
	s.RefuseKf(many[0], 48002)
	if got := try(); got != fmt.Sprint(handlers.CredentialsRefused, " 48002") {
		t.Error(got)
	}
}
