package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/worker"
)

// natsAs is a connection of a user, and what the server refused it.
type natsAs struct {
	*nats.Conn
	refused chan error
}

func connectAs(t *testing.T, url, user, password string, options ...nats.Option) *natsAs {
	t.Helper()
	c := &natsAs{refused: make(chan error, 16)}
	options = append(options, nats.UserInfo(user, password), nats.CustomInboxPrefix(stream.InboxPrefix(user)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.refused <- err }))
	_, addr, _ := strings.Cut(url, "://")
	brokerUp(t, addr)
	var err error
	if c.Conn, err = nats.Connect(url, options...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// may asks and says whether it was answered, or not allowed.
func (c *natsAs) may(t *testing.T, subject, body string) bool {
	t.Helper()
	answered := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), leastLimit)
	defer cancel()
	go func() {
		_, err := c.RequestWithContext(ctx, subject, []byte(body))
		answered <- err
	}()
	select {
	case err := <-c.refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", subject, err)
		}
		return false
	case err := <-answered:
		if err != nil {
			t.Errorf("%s: %v", subject, err)
		}
		return err == nil
	}
}

// Servers outside with the users that "causeway nats acl" prints: the gateway works,
// each application's worker too, and nobody can do more than that.
func TestUsersOfServersOutside(t *testing.T) {
	w := newWorld(t, worldOptions{apps: "  - {name: echo}\n  - {name: audit, replies: false}\n"})
	w.edit("nats: {embedded: {", "#")
	b, err := os.ReadFile(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(b), "#")
	_, after, _ := strings.Cut(string(b), "endpoints:")
	w.write(before + fmt.Sprintf("nats: {url: %q, user: gateway, password: pw-gateway, replicas: 1}\nendpoints:", "nats://"+w.nats) + after)

	code, acl, errs := execute(t.Context(), "", "nats", "acl", "-c", w.cfg)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for user, variable := range map[string]string{"gateway": "GATEWAY", "echo": "ECHO", "audit": "AUDIT", "cw-observer": "CW_OBSERVER", "cw-sender": "CW_SENDER"} {
		t.Setenv("NATS_"+variable+"_PASSWORD", "pw-"+user)
	}
	conf := filepath.Join(w.dir, "nats-server.conf")
	for path, text := range map[string]string{
		filepath.Join(w.dir, "users.conf"): acl,
		conf:                               fmt.Sprintf("listen: %q\nmax_payload: 4MB\njetstream {store_dir: %q}\ninclude ./users.conf\n", w.nats, filepath.Join(w.dir, "outside")),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := server.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	o.NoSigs, o.NoLog = true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })

	w.start("")
	w.up()
	url := "nats://" + w.nats
	observer := connectAs(t, url, "cw-observer", "pw-cw-observer")
	seen, err := observer.SubscribeSync("cw.event.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := observer.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, app := range []string{"echo", "audit"} {
		w.works(t, worker.Options{URL: url, User: app, Password: "pw-" + app, App: app})
	}
	w.says(customer(1), "hello")
	w.settled(time.Minute)
	if got := w.calls(customer(1)); len(got) != 1 {
		t.Fatalf("%d replies", len(got))
	}
	if m, err := seen.NextMsg(10 * time.Second); err != nil || !strings.HasPrefix(m.Subject, "cw.event.whatsapp.shop-a.") {
		t.Errorf("the observer got %v, %v", m, err)
	}
	conv := w.customerConv(customer(1)).Conv
	echo := connectAs(t, url, "echo", "pw-echo")
	sender := connectAs(t, url, "cw-sender", "pw-cw-sender")
	for _, c := range []struct {
		who           *natsAs
		subject, body string
		want          bool
	}{
		{echo, stream.CurrentSubject("echo"), fmt.Sprintf(`{"conv":%q}`, conv), true},
		{echo, "$JS.API.CONSUMER.INFO.CW_READY_echo.echo", "", true},
		{echo, stream.CurrentSubject("audit"), "{}", false},
		{echo, "$JS.API.CONSUMER.INFO.CW_READY_audit.audit", "", false},
		{echo, "$JS.API.CONSUMER.MSG.NEXT.CW_READY_audit.audit", "", false},
		{echo, "cw.reply.audit.whatsapp.shop-a." + conv, "{}", false},
		{echo, "$JS.API.STREAM.DELETE.CW_REPLY", "", false},
		{echo, "$JS.API.CONSUMER.CREATE.CW_READY_echo.mine", "{}", false},
		{echo, stream.SendSubject("shop-a"), "{}", false},
		{sender, stream.SendSubject("shop-a"), fmt.Sprintf(`{"account":"shop-a","conversation":%q,"text":"first"}`, conv), true},
		{sender, "cw.reply.echo.whatsapp.shop-a." + conv, "{}", false},
		{sender, "$JS.API.STREAM.INFO.CW_EVENT", "", false},
		{observer, "cw.reply.echo.whatsapp.shop-a." + conv, "{}", false},
		{observer, "$JS.API.STREAM.PURGE.CW_EVENT", "", false},
	} {
		if got := c.who.may(t, c.subject, c.body); got != c.want {
			t.Errorf("%s asks %s: %v, want %v", c.who.Opts.User, c.subject, got, c.want)
		}
	}
}

// works attaches a worker that repeats what it is told.
func (w *world) works(t *testing.T, o worker.Options) {
	t.Helper()
	o.Grace = time.Second
	b, err := worker.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- b.Run(ctx, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) { return worker.Text(ev.Text), nil })
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// Without users in the configuration each application has one of its own, and the
// embedded server shows the certificate it is given.
func TestOwnUsersOfTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo}\n  - {name: audit, replies: false}\n"})
	ca := issue(t, nil, "an authority", time.Now().Add(time.Hour), 0)
	cert, key := issue(t, ca, "localhost", time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth).write(t, w.dir, "nats")
	w.edit("users: [{name: bot, password: bot-password, apps: [echo], observe: true}]", fmt.Sprintf("tls: {cert: %q, key: %q}", cert, key))
	w.start("")
	w.up()
	password := func(user string) string {
		path := filepath.Join(w.dir, "data", user+".password")
		i, err := os.Stat(path)
		if err != nil || i.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", path, i, err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	w.until(time.Minute, "the passwords are made", func() bool {
		_, err := os.Stat(filepath.Join(w.dir, "data", "worker.password"))
		return err == nil
	})
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	trust := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	url := "tls://" + w.nats
	for _, app := range []string{"echo", "audit"} {
		w.works(t, worker.Options{URL: url, User: app, Password: password(app), App: app, TLS: trust})
	}
	w.says(customer(1), "hello")
	w.settled(time.Minute)
	if got := w.calls(customer(1)); len(got) != 1 {
		t.Fatalf("%d replies", len(got))
	}
	audit := connectAs(t, url, "audit", password("audit"), nats.Secure(trust))
	if !audit.may(t, "$JS.API.CONSUMER.INFO.CW_READY_audit.audit", "") || audit.may(t, "$JS.API.CONSUMER.INFO.CW_READY_echo.echo", "") {
		t.Error("a user of audit has other rights than those of audit")
	}
	if nc, err := nats.Connect("nats://"+w.nats, nats.UserInfo("audit", password("audit")), nats.Timeout(5*time.Second)); err == nil {
		nc.Close()
		t.Error("the certificate is not wanted by a client that does not know its authority")
	}
}
