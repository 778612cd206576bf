package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

//nolint:gochecknoglobals // a flag of this test binary
var devUpdate = flag.Bool("dev.update", false, "write the golden transcripts of dev")

// devSession is a chat that a test types into.
type devSession struct {
	t    *testing.T
	dir  string
	in   *io.PipeWriter
	out  chan string // lines; closed at the end
	errs bytes.Buffer
	code chan int
	said []string // since it began to chat
}

// startSession starts dev and reads up to its first line of chat; it returns the
// page that came before.
func startSession(t *testing.T, dir string, args ...string) (s *devSession, page string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a whole gateway")
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s = &devSession{t: t, dir: dir, in: inW, out: make(chan string, 1000), code: make(chan int, 1)}
	go func() {
		s.code <- run(t.Context(), stdio{in: inR, out: outW, err: &s.errs}, append([]string{"dev", "--dir", dir}, args...))
		_ = outW.Close()
	}()
	go func() {
		defer close(s.out)
		for sc := bufio.NewScanner(outR); sc.Scan(); {
			s.out <- sc.Text()
		}
	}()
	for {
		line := s.next("the page")
		page += line + "\n"
		if strings.HasPrefix(line, "Now write to your bot") {
			return s, page
		}
	}
}

// next is the next line.
func (s *devSession) next(awaited string) string {
	s.t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case line, ok := <-s.out:
		if ok {
			return line
		}
		s.t.Fatalf("it ended before %q; it said:\n%s\n%s", awaited, strings.Join(s.said, "\n"), s.errs.String())
	case <-limit.C:
		s.t.Fatalf("in a minute no %q; it said:\n%s", awaited, strings.Join(s.said, "\n"))
	}
	return ""
}

// types writes a line and reads until one that begins with want appears.
func (s *devSession) types(line, want string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	for {
		got := s.next(want)
		s.said = append(s.said, got)
		if strings.HasPrefix(strings.TrimSpace(got), want) {
			return
		}
	}
}

// quits ends it and returns the transcript.
func (s *devSession) quits() string {
	s.t.Helper()
	if _, err := io.WriteString(s.in, "/quit\n"); err != nil {
		s.t.Fatal(err)
	}
	for line := range s.out {
		s.said = append(s.said, line)
	}
	if code := <-s.code; code != exitOK || s.errs.Len() > 0 {
		s.t.Errorf("exit code %d, %s", code, s.errs.String())
	}
	return strings.Join(s.said, "\n") + "\n"
}

// attachBot attaches a bot as the page tells a reader to: with the address of the
// configuration and the password of the folder.
func attachBot(t *testing.T, dir string) {
	t.Helper()
	cfg, err := config.Load(filepath.Join(dir, "causeway.yaml"), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	password, err := natsPassword(cfg.Store.Dir(), defaultWorker)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Options{URL: "nats://" + cfg.NATS.Embedded.Listen, User: defaultWorker, Password: password, App: devApp, Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- w.Run(ctx, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			switch {
			case ev.Type == "image" && ev.Platform == "wecom":
				return worker.React(ev.ID, "👍"), nil // WeCom has none
			case ev.Type == "image":
				return worker.Text("A fine picture."), nil
			case ev.Text == "boom":
				return nil, worker.Dead(errors.New("boom"))
			}
			return worker.Text("You wrote: " + ev.Text), nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// photo writes the smallest picture there is.
func photo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shoes.png")
	if err := os.WriteFile(path, []byte("\x89PNG\r\n\x1a\n of a test"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func goldenTranscript(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "dev", name)
	if *devUpdate {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the chat was\n%s\nand should be\n%s", got, want)
	}
}

// A chat over WhatsApp, as a reader has it with a bot of their own.
func TestDevChat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, page := startSession(t, dir)
	for _, want := range []string{`webhooks +http://127\.0\.0\.1:\d+/webhooks/whatsapp/meta`, `nats user +worker, password [A-Z2-7]{26}`,
		`pull_subscribe_bind\("bot", "CW_READY_bot"\)`, `The same in Go: .*/worker\.go`, `export CAUSEWAY_CONFIG=` + regexp.QuoteMeta(dir), regexp.QuoteMeta(dir) + ` stays`} {
		if !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("the page does not hold %s:\n%s", want, page)
		}
	}
	s.types("are you there?", "* no bot is attached")
	attachBot(t, dir)
	s.types("", "✓✓ read · Maya")
	s.types("/dup", "* delivered again")
	s.types("/as Ben", "* you are Ben")
	s.types("hi", "✓✓ read · Ben")
	s.types("boom", "* the bot gave")
	s.types("/photo "+photo(t), "✓✓ read · Ben")
	s.types("/photo nowhere.png", "* nowhere.png is not")
	s.types("/colleague I take this.", "* recorded as")
	s.types("/as maya", "* you are Maya")
	s.types("//quit is a word", "✓✓ read · Maya")
	s.types("/nonsense", "* /nonsense")
	s.types("/as no name", "* a name has")
	s.types("/help", "* /quit")
	goldenTranscript(t, "whatsapp.txt", s.quits())
}

func TestDevChatOfWeCom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := startSession(t, dir, "--platform", "wecom")
	attachBot(t, dir)
	s.types("你好", "bot to Maya")
	s.types("/dup", "* delivered again")
	s.types("/photo "+photo(t), "* a reply to Maya")
	s.types("/colleague hello", "* of a WeCom app")
	goldenTranscript(t, "wecom.txt", s.quits())
}

// With --bot the application is a URL: events are posted there, signed with the secret
// that the page shows.
func TestDevBotURL(t *testing.T) {
	t.Parallel()
	secrets := make(chan string, 1)
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		secret := <-secrets
		secrets <- secret
		keys, err := gateway.ParseWebhookKeys(secret)
		if err == nil {
			err = keys.Verify(r.Header.Get, body, time.Now())
		}
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, `{"verdict": "done", "replies": [{"text": "by HTTP"}]}`)
	}))
	t.Cleanup(bot.Close)
	s, page := startSession(t, t.TempDir(), "--bot", bot.URL+"/hook")
	found := regexp.MustCompile(`to +` + bot.URL + `/hook\n +signed with +(whsec_\S+)\n`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page does not say how the bot is called:\n%s", page)
	}
	secrets <- found[1]
	s.types("hello", "✓✓ read · Maya")
	if got := s.quits(); !strings.Contains(got, "bot to Maya: by HTTP") {
		t.Errorf("the chat was\n%s", got)
	}
	if code, _, errs := execute(t.Context(), "", "dev", "--bot", "nowhere", "--dir", t.TempDir()); code != exitUsage || !strings.Contains(errs, "--bot: must be a URL") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// Lines from a pipe, in a folder that was used before: addresses and credentials are
// the same, replies are waited for, and it ends with the lines.
func TestDevLinesIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := startSession(t, dir)
	s.quits()
	moveListeners(t, filepath.Join(dir, "causeway.yaml"))
	before, err := os.ReadFile(filepath.Join(dir, "causeway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	attachBot(t, dir) // it waits for the gateway
	code, out, errs := execute(t.Context(), "hello\n/as Ben\nhey\n", "dev", "--dir", dir, "--json")
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d, %s\n%s", code, errs, out)
	}
	for _, want := range []string{`{"what":"says","who":"Maya","text":"hello"}`, `{"what":"reply","who":"Maya","text":"You wrote: hello"}`,
		`{"what":"reply","who":"Ben","text":"You wrote: hey"}`, `{"what":"tick","who":"Ben","text":"✓✓ read"}`, `"nats_user": "worker"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, "causeway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	api := regexp.MustCompile(`api_base: "[^"]*"`) // the fake platforms have new ports
	if api.ReplaceAllString(string(before), "") != api.ReplaceAllString(string(after), "") {
		t.Errorf("the configuration was\n%s\nand is\n%s", before, after)
	}
}

// moveListeners gives a gateway that is not running addresses of the test's own:
// those that the system gave it may be somebody else's by now.
func moveListeners(t *testing.T, path string) {
	t.Helper()
	cfg, err := config.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, was := range []string{cfg.Listen, cfg.Admin.Listen, cfg.NATS.Embedded.Listen} {
		text = bytes.ReplaceAll(text, []byte(was), []byte(freePort(t)))
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Without a bot the end of the lines is a failure that says so; nothing stays.
func TestDevWithoutABot(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a whole gateway")
	}
	t.Parallel()
	temp := t.TempDir()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "dev") // its folder is made where its environment says
	cmd.Env = append(os.Environ(), childEnv+"=1", "TMPDIR="+temp)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("hello\n"), &out, &errs
	code := exitCode(cmd.Run())
	if code != exitFailed || !strings.Contains(errs.String(), "1 message waits for a bot, and none is attached") || !strings.Contains(out.String(), "no bot is attached") {
		t.Errorf("exit code %d, %s\n%s", code, errs.String(), out.String())
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if code, _, errs := execute(t.Context(), "", "dev", "--platform", "telegram"); code != exitUsage || !strings.Contains(errs, "--platform") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
