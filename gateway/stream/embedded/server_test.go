package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/stream/embedded"
)

const password = "correct horse"

func start(t *testing.T, opts embedded.Options) *embedded.Server {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	if opts.MaxStorage == 0 {
		opts.MaxStorage = 256 << 20
	}
	srv, err := embedded.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func inProcess(t *testing.T, srv *embedded.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", srv.ConnectOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not in 30 s: %s", what)
		case <-tick.C:
		}
	}
}

func TestOneServerPerDirectory(t *testing.T) {
	dir := t.TempDir()
	srv := start(t, embedded.Options{Dir: dir})
	if _, err := embedded.Start(embedded.Options{Dir: dir, MaxStorage: 1 << 20}); !errors.Is(err, embedded.ErrLocked) {
		t.Fatalf("second server: %v, want ErrLocked", err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, embedded.Options{Dir: dir}) // the lock is free again
}

// The limit is what the streams have reserved: it stays when the disk fills.
func TestStorageLimitStays(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []int64{0, 300 << 20} {
		if want > 0 {
			if err := os.WriteFile(filepath.Join(dir, "max_storage"), []byte("314572800\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		srv, err := embedded.Start(embedded.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		got := srv.MaxStorage()
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
		if got <= 0 || got > 10<<30 || want > 0 && got != want {
			t.Errorf("limit %d, want %d", got, want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for want, opts := range map[string]embedded.Options{
		"Dir":            {},
		"listen":         {Listen: "nonsense"},
		"port":           {Listen: "127.0.0.1:x"},
		"name":           {Users: []embedded.User{{Name: "A b", Password: password}}},
		"used once":      {Users: []embedded.User{{Name: "a", Password: password}, {Name: "a", Password: password}}},
		"8 characters":   {Users: []embedded.User{{Name: "a", Password: "short"}}},
		"application":    {Users: []embedded.User{{Name: "a", Password: password, Apps: []string{"x.>"}}}},
		"192.0.2.1:4222": {Listen: "192.0.2.1:4222"}, // an address this machine has not
	} {
		if want != "Dir" {
			opts.Dir = t.TempDir()
		}
		srv, err := embedded.Start(opts)
		if err == nil {
			_ = srv.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestNobodyWithoutPassword(t *testing.T) {
	srv := start(t, embedded.Options{Listen: "127.0.0.1:0", Users: []embedded.User{{Name: "bot", Password: password, Apps: []string{"bot"}}}})
	for name, opts := range map[string][]nats.Option{
		"anonymous":      nil,
		"unknown user":   {nats.UserInfo("nobody", password)},
		"wrong password": {nats.UserInfo("bot", "wrong")},
		"no password":    {nats.UserInfo("bot", "")},
		"gateway's user": {nats.UserInfo("_gateway", "")},
		"a token":        {nats.Token(password)},
	} {
		nc, err := nats.Connect(srv.ClientURL(), opts...)
		if err == nil {
			nc.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, want an authorization error", name, err)
		}
	}
	nc, err := nats.Connect(srv.ClientURL(), nats.UserInfo("bot", password))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestInProcessOnly(t *testing.T) {
	srv := start(t, embedded.Options{})
	if srv.ClientURL() != "" {
		t.Errorf("client URL %q, want none", srv.ClientURL())
	}
	nc := inProcess(t, srv)
	if nc.MaxPayload() != embedded.MaxPayload {
		t.Errorf("max payload %d, want %d", nc.MaxPayload(), embedded.MaxPayload)
	}
}

func TestRestartKeepsStreamsPortAndConnections(t *testing.T) {
	srv := start(t, embedded.Options{Listen: "127.0.0.1:0", Users: []embedded.User{{Name: "bot", Password: password, Apps: []string{"bot"}}}})
	nc := inProcess(t, srv)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(testContext(t), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(testContext(t), "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
	url := srv.ClientURL()
	if err := srv.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if srv.ClientURL() != url {
		t.Errorf("URL %s, was %s", srv.ClientURL(), url)
	}
	until(t, "the connection finds the new server", func() bool {
		ctx, cancel := context.WithTimeout(testContext(t), time.Second)
		defer cancel()
		s, err := js.Stream(ctx, "S")
		return err == nil && s.CachedInfo().State.Msgs == 1
	})
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Restart(testContext(t)); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("restart after close: %v, want ErrUnavailable", err)
	}
	if srv.Frozen() == "" {
		t.Error("a closed server claims to be well")
	}
}

// rights tries what a worker of "bot" may and may not do.
func TestRightsOfAWorker(t *testing.T) {
	srv := start(t, embedded.Options{Listen: "127.0.0.1:0", Users: []embedded.User{
		{Name: "bot", Password: password, Apps: []string{"bot"}},
		{Name: "eye", Password: password, Observe: true},
	}})
	gw := inProcess(t, srv)
	s, err := stream.Open(testContext(t), gw, stream.Options{
		StoreID: "st", Apps: []gateway.Application{{Name: "bot"}, {Name: "faq"}}, StorageLimit: srv.MaxStorage(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	for _, c := range []struct {
		user, subject, body string
		allowed             bool
	}{
		{"bot", "$JS.API.CONSUMER.INFO.CW_READY_bot.bot", "", true},
		{"bot", "$JS.API.CONSUMER.MSG.NEXT.CW_READY_bot.bot", `{"batch":1,"no_wait":true}`, true},
		{"bot", "cw.reply.bot.whatsapp.shop-a.c1", "{}", true},
		{"bot", "$JS.API.CONSUMER.INFO.CW_READY_faq.faq", "", false},
		{"bot", "$JS.API.CONSUMER.MSG.NEXT.CW_READY_faq.faq", `{"batch":1,"no_wait":true}`, false},
		{"bot", "$JS.API.CONSUMER.CREATE.CW_READY_bot.mine", "{}", false},
		{"bot", "$JS.API.CONSUMER.CREATE.CW_EVENT.mine", "{}", false},
		{"bot", "$JS.API.CONSUMER.DELETE.CW_READY_bot.bot", "", false},
		{"bot", "$JS.API.CONSUMER.PAUSE.CW_READY_bot.bot", "{}", false},
		{"bot", "$JS.API.STREAM.INFO.CW_REPLY", "", false},
		{"bot", "$JS.API.STREAM.DELETE.CW_READY_bot", "", false},
		{"bot", "$JS.API.DIRECT.GET.CW_READY_faq", `{"seq":1}`, false},
		{"bot", "cw.ready.bot.whatsapp.shop-a.c1", "{}", false},
		{"bot", "cw.reply.faq.whatsapp.shop-a.c1", "{}", false},
		{"bot", "cw.event.whatsapp.shop-a.c1.message", "{}", false},
		{"bot", "cw.result.whatsapp.shop-a.c1", "{}", false},
		{"bot", "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.CW_READY_bot.bot", "{}", false},
		{"eye", "$JS.API.CONSUMER.INFO.CW_READY_bot.bot", "", false},
		{"eye", "cw.reply.bot.whatsapp.shop-a.c1", "{}", false},
		{"eye", "anything", "{}", false},
	} {
		if got := mayPublish(t, srv, c.user, c.subject, c.body); got != c.allowed {
			t.Errorf("%s publishes to %s: %t, want %t", c.user, c.subject, got, c.allowed)
		}
	}
	for _, c := range []struct {
		user, subject string
		allowed       bool
	}{
		{"bot", "_INBOX_bot.x", true}, {"bot", "_INBOX_eye.x", false}, {"bot", "_INBOX.x", false},
		{"bot", "cw.event.>", false}, {"bot", "cw.reply.bot.>", false}, {"bot", ">", false},
		{"eye", "cw.event.>", true}, {"eye", "cw.result.>", true}, {"eye", "cw.ready.>", false}, {"eye", "cw.reply.>", false},
	} {
		if got := maySubscribe(t, srv, c.user, c.subject); got != c.allowed {
			t.Errorf("%s subscribes to %s: %t, want %t", c.user, c.subject, got, c.allowed)
		}
	}
}

// connectAs returns a connection and the permission errors that it gets.
func connectAs(t *testing.T, srv *embedded.Server, user string) (*nats.Conn, chan error) {
	t.Helper()
	refused := make(chan error, 8)
	nc, err := nats.Connect(srv.ClientURL(), nats.UserInfo(user, password), nats.CustomInboxPrefix(stream.InboxPrefix(user)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				refused <- err
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, refused
}

// mayPublish sends a request and says whether something answered before a
// permission error came.
func mayPublish(t *testing.T, srv *embedded.Server, user, subject, body string) bool {
	t.Helper()
	nc, refused := connectAs(t, srv, user)
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.PublishRequest(subject, sub.Subject, []byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan bool, 1)
	go func() {
		_, err := sub.NextMsg(10 * time.Second)
		answered <- err == nil
	}()
	select {
	case <-refused:
		return false
	case ok := <-answered:
		return ok
	}
}

func maySubscribe(t *testing.T, srv *embedded.Server, user, subject string) bool {
	t.Helper()
	nc, refused := connectAs(t, srv, user)
	if _, err := nc.SubscribeSync(subject); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil { // a refusal comes before the answer to it
		t.Fatal(err)
	}
	inner := inProcess(t, srv)
	if err := inner.Flush(); err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(50 * time.Millisecond) // the handler runs on its own goroutine
	defer timer.Stop()
	select {
	case <-refused:
		return false
	case <-timer.C:
		return nc.LastError() == nil
	}
}

func TestLogHoldsNoPassword(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	dir := t.TempDir()
	srv := start(t, embedded.Options{
		Dir: dir, Listen: "127.0.0.1:0", Log: zap.New(core),
		Users: []embedded.User{{Name: "bot", Password: password, Apps: []string{"bot"}}},
	})
	if _, err := nats.Connect(srv.ClientURL(), nats.UserInfo("bot", "wrong "+password)); err == nil {
		t.Fatal("a wrong password passed")
	}
	for _, e := range logs.All() {
		if strings.Contains(e.Message, password) {
			t.Errorf("log line with a password: %s", e.Message)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path) //nolint:gosec // below the test's own directory
		if err == nil && strings.Contains(string(b), password) {
			t.Errorf("%s holds a password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
