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
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// An id whose three days are over is forgotten, and the file goes up once more.
func TestStaleUpload(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	files := &store{body: []byte("\x89PNG\r\n\x1a\n whole"), ids: map[string]string{}}
	c := newStoring(t, s.URL(), files)
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	files.uploads = wecom.NewUploads(c, e)
	out := carrying(t, ofOurs("image", "image/png", ""))
	if o := c.Send(t.Context(), out); o.Kind != gateway.OutcomeAccepted {
		t.Fatalf("%+v", o)
	}
	s.ForgetFiles()
	if o := c.Send(t.Context(), out); o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopePair || o.Code != "40007" || files.forgot != 1 {
		t.Errorf("%+v, forgotten %d times", o, files.forgot)
	}
	out.Message.Attempts = 2
	if o := c.Send(t.Context(), out); o.Kind != gateway.OutcomeAccepted || len(s.Files()) != 2 {
		t.Errorf("%+v, %d files", o, len(s.Files()))
	}
	s.ForgetFiles()
	if o := c.Send(t.Context(), out); o.Kind != gateway.OutcomeRejected {
		t.Errorf("a second time: %+v", o)
	}
	if o := c.Send(t.Context(), carrying(t, `{"type":"image","file":{"id":"foreign"}}`)); o.Kind != gateway.OutcomeRejected || files.forgot != 2 {
		t.Errorf("an id of the worker: %+v", o)
	}
}

func TestStoreRefuses(t *testing.T) {
	t.Parallel()
	a := newAPI(t, says(200, nil, `{"errcode":0}`))
	for err, want := range map[error]string{gateway.ErrNotFound: "rejected no_file", gateway.ErrConflict: "rejected file_refused", gateway.ErrUnavailable: "retry upload"} {
		o := newStoring(t, a.URL, &store{err: fmt.Errorf("SECRETMARK: %w", err)}).Send(t.Context(), carrying(t, ofOurs("image", "image/png", "")))
		checkQuiet(t, o, ourFile)
		if string(o.Kind)+" "+o.Code != want {
			t.Errorf("%v: %+v", err, o)
		}
	}
	if o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), carrying(t, ofOurs("image", "image/png", ""))); o.Code != "no_media_store" {
		t.Errorf("without a store: %+v", o)
	}
	if len(a.bodies) != 0 {
		t.Errorf("%d calls", len(a.bodies))
	}
}

func TestUploads(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	u := wecom.NewUploads(newSender(t, s.URL(), egress.Options{}, nil), e)
	if k := u.Keeps(); k >= wecom.UploadLife || k < 2*24*time.Hour {
		t.Errorf("ids are used for %v of %v", k, wecom.UploadLife)
	}
	up := func(body, mime string) (string, error) {
		return u.Upload(t.Context(), strings.NewReader(body), int64(len(body)), mime)
	}
	fails := func(body, mime string, want gateway.MediaError) {
		t.Helper()
		_, err := up(body, mime)
		m, ok := err.(*gateway.MediaError) //nolint:errorlint // it is never wrapped, by its promise
		if !ok {
			t.Errorf("%s: %v", mime, err)
			return
		}
		if d := cmp.Diff(want, *m); d != "" {
			t.Errorf("%s: %s", mime, d)
		}
	}
	refused := func(code string) gateway.MediaError {
		return gateway.MediaError{Reason: gateway.MediaRefused, Final: true, Code: code}
	}
	large := gateway.MediaError{Reason: gateway.MediaTooLarge, Final: true, Code: "too_large"}
	fails("what is this", "text", refused("bad_type"))
	fails("what is this", "text/plain", refused("bad_type"))
	fails("what is this", "text/plain; kind=thumb", refused("bad_type"))
	fails("five.", "text/plain; kind=file", refused("too_small"))
	for kind, most := range map[string]int{"image": 10 << 20, "voice": 2 << 20, "video": 10 << 20, "file": 20 << 20} {
		fails(strings.Repeat("x", most+1), "a/b; kind="+kind, large)
	}
	if s.TokenCalls() != 0 {
		t.Error("a token was fetched for what cannot go")
	}
	fails("no picture", "image/png; kind=image", refused("40004"))
	if id, err := up("six666", "text/plain; kind=file"); err != nil || id == "" {
		t.Errorf("%q %v", id, err)
	}
	s.ExpireToken()
	fails("six666", "text/plain; kind=file", gateway.MediaError{Account: true, Code: "42001"})
	if id, err := up("six666", "text/plain; kind=file"); err != nil || id == "" {
		t.Errorf("after the token was replaced: %q %v", id, err)
	}
	for code, want := range map[int]gateway.MediaError{
		-1:     {Code: "-1", After: time.Second},
		45009:  {Code: "45009", After: time.Minute, Account: true},
		60020:  {Code: "60020", Account: true},
		45001:  refused("45001"),
		777777: refused("other"),
	} {
		addFault(t, s, sandbox.OpMedia, code)
		fails("six666", "text/plain; kind=file", want)
		s.Faults().Remove("")
	}
	for _, status := range []int{302, 429, 500, 503} {
		if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpMedia, Status: status}); err != nil {
			t.Fatal(err)
		}
		fails("six666", "text/plain; kind=file", gateway.MediaError{Code: fmt.Sprintf("http_%d", status), Account: status == 429})
		s.Faults().Remove("")
	}
	if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpMedia, Drop: sandbox.DropReset}); err != nil {
		t.Fatal(err)
	}
	fails("six666", "text/plain; kind=file", gateway.MediaError{Code: "reset"})
}
