package wecom_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

const groupKey = "SECRETMARK-693a91f6-7xxx"

// shelfFiles are files of our store by name; as an Uploader it brings them there.
type shelfFiles struct {
	files   map[string][]byte
	uploads *wecom.Uploads
	ids     map[string]string
}

func (s *shelfFiles) OpenFile(file string) (io.ReadCloser, int64, error) {
	b, ok := s.files[file]
	if !ok {
		return nil, 0, gateway.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
}

func (s *shelfFiles) Upload(ctx context.Context, _, file, mime string) (string, error) {
	if id := s.ids[file+mime]; id != "" {
		return id, nil
	}
	b, ok := s.files[file]
	if !ok {
		return "", gateway.ErrNotFound
	}
	id, err := s.uploads.Upload(ctx, bytes.NewReader(b), int64(len(b)), mime)
	s.ids[file+mime] = id
	return id, err
}

func (s *shelfFiles) Forget(_ context.Context, _, file, mime string) { delete(s.ids, file+mime) }

type groupRig struct {
	*testing.T
	clock  *movable
	group  *wecomtest.Group
	client *wecom.RobotClient
	files  *shelfFiles
}

func newGroupRig(t *testing.T) *groupRig {
	t.Helper()
	r := &groupRig{T: t, clock: &movable{t: time.Now()}, files: &shelfFiles{files: map[string][]byte{}, ids: map[string]string{}}}
	var err error
	if r.group, err = wecomtest.NewGroup(wecomtest.GroupOptions{Key: groupKey, Now: r.clock.now}); err != nil {
		t.Fatal(err)
	}
	if err := r.group.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.group.Close() })
	e := egress.New(egress.Options{Now: r.clock.now})
	t.Cleanup(e.Close)
	r.client = wecom.NewRobotClient(wecom.RobotConfig{APIBase: r.group.URL(), Key: groupKey, Uploader: r.files, Files: r.files}, e, r.clock.now)
	r.files.uploads = wecom.NewRobotUploads(r.client, e)
	return r
}

func (r *groupRig) send(reply gateway.Reply, tries int) gateway.Outcome {
	r.Helper()
	o := r.client.Send(r.Context(), gateway.Outgoing{Message: gateway.Message{ID: "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA", Account: "alarm", Reply: reply, Attempts: tries},
		VoidAfter: r.clock.now().Add(time.Minute)})
	if strings.Contains(o.Detail, "SECRETMARK") {
		r.Errorf("the key is in %q", o.Detail)
	}
	return o
}

// Every kind that a webhook has arrives as WeCom documents it.
func TestGroupKinds(t *testing.T) {
	r := newGroupRig(t)
	file := strings.Repeat("a", 64)
	voice := strings.Repeat("b", 64)
	r.files.files[file], r.files.files[voice] = []byte("\x89PNG\r\n\x1a\n a picture"), []byte("#!AMR\n sound")
	notice := json.RawMessage(`{"card_type":"text_notice","main_title":{"title":"t"},"sub_title_text":"s","card_action":{"type":1,"url":"https://x"}}`)
	for _, reply := range []gateway.Reply{
		say("hi <&>"),
		{Type: gateway.ReplyMarkdown, Text: strings.Repeat("m", wecom.MaxRobotMarkdownBytes)},
		{Type: gateway.ReplyImage, File: &gateway.FileReply{File: file, MIME: "image/png"}},
		{Type: gateway.ReplyDocument, File: &gateway.FileReply{File: file, MIME: "image/png", Name: "报价.png"}},
		{Type: gateway.ReplyVoice, File: &gateway.FileReply{File: voice, MIME: "audio/amr"}},
		{Type: gateway.ReplyNews, News: []gateway.Article{{Title: "Order", URL: "https://shop.example"}}},
		{Type: gateway.ReplyCard, Card: &gateway.CardReply{Content: notice}},
	} {
		if err := r.client.Fits(&gateway.Message{Reply: reply}); err != nil {
			t.Errorf("%s does not fit: %v", reply.Type, err)
		}
		if o := r.send(reply, 1); o.Kind != gateway.OutcomeAccepted {
			t.Errorf("%s: %+v", reply.Type, o)
		}
	}
	var got []string
	for _, c := range r.group.Calls() {
		got = append(got, c.Type+" "+c.Text[:min(len(c.Text), 6)])
	}
	if d := cmp.Diff([]string{"text hi <&>", "markdown mmmmmm", "image ", "file ", "voice ", "news Order", "template_card "}, got); d != "" {
		t.Error(d)
	}
	var files []string
	for _, f := range r.group.Files() {
		files = append(files, f.Kind+" "+f.Name)
	}
	if d := cmp.Diff([]string{"file 报价.png", "voice voice.amr"}, files); d != "" {
		t.Error(d)
	}
	r.group.ForgetFiles()
	doc := gateway.Reply{Type: gateway.ReplyDocument, File: &gateway.FileReply{File: file, MIME: "image/png", Name: "报价.png"}}
	if o := r.send(doc, 1); o.Kind != gateway.OutcomeRetry || o.Code != "40007" {
		t.Errorf("an id that has ended: %+v", o)
	}
	if o := r.send(doc, 2); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("uploaded again: %+v", o)
	}
}

// What a webhook would not take is refused before a call.
func TestGroupUnfit(t *testing.T) {
	r := newGroupRig(t)
	big := strings.Repeat("c", 64)
	r.files.files[big] = make([]byte, wecom.MaxRobotImageBytes+1)
	for code, replies := range map[string][]gateway.Reply{
		"empty":    {say(""), {Type: gateway.ReplyMarkdown}},
		"too_long": {say(strings.Repeat("字", 683)), {Type: gateway.ReplyMarkdown, Text: strings.Repeat("m", 4097)}},
		"unsupported": {{Type: gateway.ReplyVideo, File: &gateway.FileReply{ID: "x"}}, {Type: gateway.ReplyRecall, Quote: "x"},
			{Type: gateway.ReplyTransfer, Transfer: &gateway.TransferReply{To: gateway.SessionPool}},
			{Type: gateway.ReplyImage, File: &gateway.FileReply{ID: "x"}}, {Type: gateway.ReplyCard, Card: &gateway.CardReply{Code: "c", Button: "b"}}},
		"bad_card":  {card()},
		"bad_reply": {{Type: gateway.ReplyNews}},
		"no_file":   {{Type: gateway.ReplyImage, File: &gateway.FileReply{File: strings.Repeat("d", 64), MIME: "image/png"}}},
		"too_large": {{Type: gateway.ReplyImage, File: &gateway.FileReply{File: big, MIME: "image/png"}}},
	} {
		for _, reply := range replies {
			o := r.send(reply, 1)
			if o.Kind != gateway.OutcomeRejected || o.Code != code {
				t.Errorf("%s: %+v, want %s", reply.Type, o, code)
			}
			if err := r.client.Fits(&gateway.Message{Reply: reply}); (err == nil) != (code == "no_file" || code == "too_large") {
				t.Errorf("%s %s: fits: %v", reply.Type, code, err)
			}
		}
	}
	if n := len(r.group.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// Each code of the page has its outcome.
func TestGroupCodes(t *testing.T) {
	for _, c := range []struct {
		fault sandbox.Fault
		kind  gateway.OutcomeKind
		scope gateway.Scope
		code  string
		least time.Duration
	}{
		{sandbox.Fault{Code: 93000}, gateway.OutcomeRejected, "", "93000", 0},
		{sandbox.Fault{Code: 93004}, gateway.OutcomeRetry, gateway.ScopeAccount, "93004", 30 * time.Second},
		{sandbox.Fault{Code: 93008}, gateway.OutcomeRejected, "", "93008", 0},
		{sandbox.Fault{Code: 45009}, gateway.OutcomeRetry, gateway.ScopeAccount, "45009", time.Minute},
		{sandbox.Fault{Code: 40001}, gateway.OutcomeRetry, gateway.ScopeAccount, "40001", 30 * time.Second},
		{sandbox.Fault{Code: -1}, gateway.OutcomeRetry, gateway.ScopePair, "-1", time.Second},
		{sandbox.Fault{Code: 99999}, gateway.OutcomeRetry, gateway.ScopePair, "other", time.Second},
		{sandbox.Fault{Status: 502}, gateway.OutcomeUnknown, "", "http_502", 0},
		{sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset}, gateway.OutcomeUnknown, "", "reset", 0},
	} {
		r := newGroupRig(t)
		c.fault.Next = 1
		if _, err := r.group.Faults().Add(c.fault); err != nil {
			t.Fatal(err)
		}
		o := r.send(say("secret words"), 1)
		if o.Kind != c.kind || o.Scope != c.scope || o.Code != c.code || o.After < c.least || strings.Contains(o.Detail, "secret words") {
			t.Errorf("%+v: %+v", c.fault, o)
		}
	}
	r := newGroupRig(t)
	r.group.Remove()
	if o := r.send(say("x"), 1); o.Kind != gateway.OutcomeRejected || o.Code != "93000" {
		t.Errorf("a removed robot: %+v", o)
	}
	if err := r.group.Refuse(); err != nil {
		t.Fatal(err)
	}
	if o := r.send(say("x"), 1); o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount {
		t.Errorf("nobody listens: %+v", o)
	}
}
