package wecom_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/store/sqlite"
)

const otherKf = "wkMadeUpKf0002"

// puller is a puller over a real archive and the sandbox, whose bells reach it as
// callbacks do.
type puller struct {
	t       *testing.T
	s       *wecomtest.Sandbox
	store   *sqlite.Store
	archive wecom.PullArchive // the store's, or one that fails
	now     func() time.Time
	maxBody int64
	said    chan string // what is logged: "pull.failed desk 45009"
	p       *wecom.Puller
	end     func()
	mu      sync.Mutex
}

func newPuller(t *testing.T) *puller {
	t.Helper()
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r := &puller{t: t, s: startSandbox(t, wecomtest.Options{Kf: []string{kfID, otherKf}}), store: store, archive: store.Archive,
		now: time.Now, maxBody: 8 << 20, said: make(chan string, 1000)}
	e := endpoint(t, []string{corpID}, wecom.Credential{Token: "tok", EncodingAESKey: "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"})
	front := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		items, _, err := e.Decode(&gateway.Payload{Platform: "wecom", Body: body})
		if err != nil {
			t.Error(err)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if b, ok := wecom.BellOf(&items[0], time.Now()); ok && r.p != nil {
			r.p.Ring(b)
		}
	}))
	t.Cleanup(front.Close)
	r.s.SetCallbackURL(front.URL)
	return r
}

// start runs a puller until stop; it asks without a bell at its start only.
func (r *puller) start() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p, r.end = r.run(r.archive)
	r.t.Cleanup(r.end)
}

func (r *puller) run(archive wecom.PullArchive) (*wecom.Puller, func()) {
	out := egress.New(egress.Options{MaxBody: r.maxBody})
	client := func(account, kf string) *wecom.KfClient {
		return wecom.NewKfClient(wecom.KfConfig{Account: account, OpenKfID: kf, Pages: out,
			ClientConfig: wecom.ClientConfig{APIBase: r.s.URL(), CorpID: corpID, Secret: secret}}, out, r.now)
	}
	core := zapcore.RegisterHooks(zapcore.NewNopCore(), func(zapcore.Entry) error { return nil })
	p := wecom.NewPuller(wecom.PullOptions{
		Clients: []*wecom.KfClient{client("desk", kfID), client("second", otherKf)}, Archive: archive, Every: time.Hour, Spacing: time.Millisecond,
		Now: r.now, Log: zap.New(telling{core, r.said, ""}),
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = p.Run(ctx) }()
	return p, sync.OnceFunc(func() { cancel(); <-done; out.Close() })
}

// telling is a log that hands on what it is told.
type telling struct {
	zapcore.Core
	to   chan string
	with string
}

func (c telling) Enabled(zapcore.Level) bool { return true }
func (c telling) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, c)
}

func (c telling) Write(e zapcore.Entry, fields []zapcore.Field) error {
	line := e.Message
	for _, f := range fields {
		switch f.Key {
		case "account", "code", "detail", "endpoint":
			line += " " + f.String
		case "items":
			line += fmt.Sprint(" ", f.Integer)
		}
	}
	c.to <- line
	return nil
}

// hears waits until the log has a line that begins so.
func (r *puller) hears(prefix string) string {
	r.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line := <-r.said:
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-limit:
			r.t.Fatalf("never said: %s", prefix)
		}
	}
}

func (r *puller) says(kf, text string, at time.Time) {
	r.t.Helper()
	if _, err := r.s.Kf(wecomtest.KfItem{Kf: kf, Text: text, At: at}); err != nil {
		r.t.Fatal(err)
	}
}

// items are all that is in the archive, decoded; history in brackets.
func (r *puller) items() (texts, keys []string) {
	r.t.Helper()
	pages, err := r.store.Archive.Read(r.t.Context(), 0, 1000, 64<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range pages {
		items, err := wecom.DecodePage(&pages[i])
		if err != nil {
			r.t.Fatal(err)
		}
		for _, it := range items {
			text := it.Content.Text
			if it.Observed != "" {
				text = "(" + text + ")"
			}
			texts, keys = append(texts, text), append(keys, it.Key)
		}
	}
	return texts, keys
}

func (r *puller) holds(want ...string) {
	r.t.Helper()
	if got, _ := r.items(); !slices.Equal(got, want) {
		r.t.Errorf("archived %q, want %q", got, want)
	}
}

// What was said before the account was new here is history, what comes later is
// not; a puller that is started again goes on at the cursor, and history stays
// what it was.
func TestPullHistoryAndRestart(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.says(kfID, "old", time.Now().Add(-time.Hour))
	r.says(kfID, "just now", time.Time{})
	r.start()
	r.hears("payload.archived kf:desk 2")
	r.says(kfID, "new", time.Time{})
	r.hears("payload.archived kf:desk 1")
	r.end()
	r.says(kfID, "while it was down", time.Time{})
	r.start()
	r.hears("payload.archived kf:desk 1")
	r.holds("(old)", "just now", "new", "while it was down")
}

// A bell that comes while nobody listens is not needed: the start asks by itself.
// Pages are short, some are empty and say that there is more.
func TestPullPages(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.s.SetKfPage(2)
	r.s.SetKfEmpty(3)
	var want []string
	for n := range 5 {
		want = append(want, fmt.Sprint("text ", n))
		r.says(kfID, want[n], time.Time{})
	}
	r.start()
	for range 3 {
		r.hears("payload.archived kf:desk")
	}
	r.holds(want...)
	at, err := r.store.Archive.Pulled(t.Context(), "wecom/"+corpID+"/kf:"+kfID, time.Now())
	if err != nil || at.Cursor == "" {
		t.Errorf("%+v %v", at, err)
	}
}

// With the bells' tokens WeCom answers as often as it rings; without, some ten
// times a minute.
func TestPullByBells(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.start()
	for n := range 15 {
		r.says(kfID, fmt.Sprint("text ", n), time.Time{})
		r.hears("payload.archived kf:desk")
	}
	for _, s := range r.p.State() {
		if s.Code != "" || s.Worked.IsZero() {
			t.Errorf("%+v", s)
		}
	}
}

// A token that WeCom does not take is given up, and the page comes without it.
func TestPullWithoutToken(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.start()
	r.says(kfID, "first", time.Time{})
	r.hears("payload.archived kf:desk")
	if _, err := r.s.Kf(wecomtest.KfItem{Kf: kfID, Text: "second", Silent: true}); err != nil {
		t.Fatal(err)
	}
	bell := r.s.KfBell(kfID)
	r.s.EndKfTokens()
	r.s.Deliver("kf-bell", bell)
	r.hears("payload.archived kf:desk")
	r.holds("first", "second")
}

// Asked too often, the account waits a minute, whoever rings.
func TestPullThrottled(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	if _, err := r.s.Faults().Add(sandbox.Fault{Op: sandbox.OpRead, Code: 45009}); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.hears("pull.failed")
	r.hears("pull.failed")
	for range 5 {
		r.says(kfID, "hello", time.Time{})
	}
	flushed(t, r.s)
	for _, s := range r.p.State() {
		if wait := s.Until.Sub(s.Since); s.Refused || s.Code != "45009" || wait < 59*time.Second || wait > 61*time.Second {
			t.Errorf("%+v", s)
		}
	}
	if r.s.KfSyncs() != 0 { // the fault is before them
		t.Errorf("%d calls came through", r.s.KfSyncs())
	}
	r.holds()
}

func flushed(t *testing.T, s *wecomtest.Sandbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Courier().Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// A cursor that WeCom refuses begins empty again: all comes once more, and every
// message has the key that it had.
func TestPullLostCursor(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.says(kfID, "old", time.Now().Add(-time.Hour))
	r.start()
	r.hears("payload.archived kf:desk")
	r.says(kfID, "new", time.Time{})
	r.hears("payload.archived kf:desk")
	r.s.ForgetKfCursors()
	r.says(kfID, "newer", time.Time{})
	r.hears("pull.restarted desk 40058")
	for got, _ := r.items(); len(got) < 5; got, _ = r.items() { // in one page, or the last in one of its own
		r.hears("payload.archived kf:desk")
	}
	r.holds("(old)", "new", "(old)", "new", "newer")
	_, keys := r.items()
	if !slices.Equal(keys[:2], keys[2:4]) {
		t.Errorf("keys %q", keys)
	}
}

// An account that is refused is told and knocked at slowly; the other one goes on.
func TestPullRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []int{48002, 95011, 95012, 95017, 95004, 60020, 77777} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			r := newPuller(t)
			r.s.RefuseKf(kfID, code)
			r.start()
			line := r.hears("pull.failed desk ")
			for _, hidden := range []string{secret, corpID, kfID, "ENC", "sandbox-"} {
				if strings.Contains(line, hidden) {
					t.Errorf("%q holds %q", line, hidden)
				}
			}
			s := r.p.State()[0]
			if wait := s.Until.Sub(s.Since); s.Code == "" || !s.Refused || wait < 29*time.Second || wait > 31*time.Second {
				t.Errorf("%+v", s)
			}
			r.says(otherKf, "hello", time.Time{})
			r.hears("payload.archived kf:second")
			r.holds("hello")
		})
	}
}

// An access token that WeCom ended is replaced within the call.
func TestPullNewAccessToken(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.start()
	for n, end := range []func(){func() {}, r.s.ExpireToken, r.s.RevokeToken} {
		end()
		r.says(kfID, fmt.Sprint(n), time.Time{})
		r.hears("payload.archived kf:desk")
	}
	r.holds("0", "1", "2")
}

// What is lost on the way, or answered by somebody else, passes by itself.
func TestPullUnreached(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]sandbox.Fault{
		"reset": {Stage: sandbox.Before, Drop: "reset"}, "lost answer": {Stage: sandbox.After, Drop: "reset"},
		"bad gateway": {Stage: sandbox.Before, Status: 502}, "busy": {Stage: sandbox.Before, Code: -1}, "crowd": {Stage: sandbox.Before, Code: 45033},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newPuller(t)
			f.Op, f.Next = sandbox.OpRead, 2
			if _, err := r.s.Faults().Add(f); err != nil {
				t.Fatal(err)
			}
			r.says(kfID, "hello", time.Time{})
			r.start()
			r.hears("pull.failed")
			r.hears("payload.archived kf:desk")
			r.holds("hello")
		})
	}
}

// failing is an archive that fails some times, before or after the commit.
type failing struct {
	wecom.PullArchive
	mu    sync.Mutex
	left  int
	after bool
}

func (f *failing) AppendPulled(ctx context.Context, at gateway.Pulled, cursor string, page *gateway.Payload) error {
	f.mu.Lock()
	fail := f.left > 0
	f.left--
	f.mu.Unlock()
	if fail && !f.after {
		return gateway.ErrUnavailable
	}
	err := f.PullArchive.AppendPulled(ctx, at, cursor, page)
	if fail {
		return errors.New("the answer of the commit was lost")
	}
	return err
}

// A page that was not stored comes again; one that was, though nobody knew, does
// not.
func TestPullArchiveFails(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprint("after the commit: ", after), func(t *testing.T) {
			t.Parallel()
			r := newPuller(t)
			r.archive = &failing{PullArchive: r.store.Archive, left: 2, after: after}
			for _, text := range []string{"a", "b", "c"} {
				r.says(kfID, text, time.Time{})
			}
			r.s.SetKfPage(1)
			r.start()
			r.hears("pull.failed desk archive")
			if after {
				r.hears("pull.works desk")
			}
			r.hears("payload.archived kf:desk")
			for len(func() []string { texts, _ := r.items(); return texts }()) < 3 {
				r.hears("payload.archived kf:desk")
			}
			r.holds("a", "b", "c")
		})
	}
}

// Two leaders for a moment: each page is archived once.
func TestPullTwoLeaders(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.s.SetKfPage(3)
	var want []string
	for n := range 30 {
		want = append(want, fmt.Sprint("text ", n))
		if _, err := r.s.Kf(wecomtest.KfItem{Kf: kfID, Text: want[n], Silent: true}); err != nil {
			t.Fatal(err)
		}
	}
	other, end := r.run(r.archive)
	defer end()
	r.start()
	r.s.RingKf(kfID) // a token, so that the limit is not met
	other.Ring(wecom.Bell{AccountID: corpID + "/kf:" + kfID})
	for len(func() []string { texts, _ := r.items(); return texts }()) < 30 {
		r.hears("payload.archived kf:desk")
	}
	r.holds(want...)
}

// A page that is too large is asked for again with fewer messages.
func TestPullLargePage(t *testing.T) {
	t.Parallel()
	r := newPuller(t)
	r.maxBody = 20 << 10
	var want []string
	for n := range 40 {
		want = append(want, fmt.Sprint(n, strings.Repeat("x", 1500)))
		if _, err := r.s.Kf(wecomtest.KfItem{Kf: kfID, Text: want[n], Silent: true}); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	r.s.RingKf(kfID)
	for len(func() []string { texts, _ := r.items(); return texts }()) < 40 {
		r.hears("payload.archived kf:desk")
	}
	if got, _ := r.items(); !cmp.Equal(want, got) {
		t.Errorf("%d messages in another order", len(got))
	}
}
