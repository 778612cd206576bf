package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// bothPlatforms starts the sandboxes.
func bothPlatforms(t *testing.T) (*whatsapptest.Sandbox, *wecomtest.Sandbox) {
	t.Helper()
	wa, err := whatsapptest.New(whatsapptest.Options{AppSecret: testSecret, AccessToken: "access-token-1", PhoneNumberID: testPhone})
	if err != nil {
		t.Fatal(err)
	}
	wc, err := wecomtest.New(wecomtest.Options{CorpID: testCorp, AgentID: testAgent, Secret: testWCSecret, Token: testWCToken, EncodingAESKey: testWCKey})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []interface {
		Listen(string) error
		Close() error
	}{wa, wc} {
		if err := s.Listen(""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
	}
	return wa, wc
}

// steady takes out of a report what differs from run to run.
func steady(dir, text string) string {
	text = strings.ReplaceAll(text, dir, "DIR")
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "127.0.0.1:PORT")
	return regexp.MustCompile(`has [0-9.]+ [KMGT]iB`).ReplaceAllString(text, "has ROOM")
}

// TestDoctorTriesCredentials: with no gateway running, doctor asks the platforms
// itself. The outputs are in testdata/operator.
func TestDoctorTriesCredentials(t *testing.T) {
	wa, wc := bothPlatforms(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	doctor := func(waToken, wcSecret string) ran {
		t.Helper()
		path := filepath.Join(dir, "causeway.yaml")
		text := fmt.Sprintf("listen: %q\nadmin: {listen: %q}\nnats: {embedded: {listen: %q}}\nstore: {url: \"sqlite:%s\", reserve: 1MiB}\n%s",
			freePort(t), freePort(t), freePort(t), filepath.Join(dir, "data"), sampleEndpoint) + fmt.Sprintf(`accounts:
  - {name: shop-a, platform: whatsapp, phone_number_id: %q, access_token: %q, api_base: %q}
  - {name: corp-a, platform: wecom, kind: app, corp_id: %s, agent_id: %d, secret: %q, api_base: %q}
`, testPhone, waToken, wa.URL(), testCorp, testAgent, wcSecret, wc.URL())
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := runCommand(t, "doctor", "-c", path)
		if got.code != exitFailed {
			t.Errorf("exit code %d", got.code) // no gateway answers
		}
		for _, secret := range append(secretsOfWorld(), testPhone, waToken, wcSecret) {
			if strings.Contains(got.out+got.err, secret) {
				t.Errorf("%q is shown:\n%s%s", secret, got.out, got.err)
			}
		}
		return got
	}
	show := func(name string, r ran) {
		t.Helper()
		golden(t, name, "$ causeway doctor\n"+steady(dir, r.out+stderrOf(r)))
	}
	show("doctor-credentials", doctor("access-token-1", testWCSecret))
	show("doctor-credentials-refused", doctor("access-token-wrong", "wrong-app-secret"))
	if err := wa.Refuse(); err != nil {
		t.Fatal(err)
	}
	if _, err := wc.Faults().Add(sandbox.Fault{Op: sandbox.OpToken, Status: 503}); err != nil {
		t.Fatal(err)
	}
	show("doctor-credentials-away", doctor("access-token-1", testWCSecret))
	if n := len(wa.Calls()) + len(wc.Calls()); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

// The credentials are not tried with half a configuration.
func TestDoctorSaysWhatItDidNotTry(t *testing.T) {
	inFolder(t, map[string]string{"causeway.yaml": localConfig(t) + "lisen: x\n"})
	r, _ := localReportOf(t)
	if f := finding(t, r, "the accounts' credentials were not tried"); f.Level != "info" {
		t.Errorf("%+v", f)
	}
}

// A running gateway is asked, and asks with its own clients: WeCom's token is
// fetched once for the questions and the sends, whoever comes first; a token that
// is refused is an error, a platform that is away is none.
func TestDoctorAsksTheGateway(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{})
	said := func() map[string]string {
		t.Helper()
		var r struct {
			Findings []admin.Finding
		}
		if err := w.get("/api/v1/doctor", &r); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, f := range r.Findings {
			if strings.Contains(f.What, "credentials") {
				out[f.Name] = f.Level + ": " + f.What + ": " + f.Detail
			}
		}
		return out
	}
	want := map[string]string{
		"shop-a": "info: the platform takes the account's credentials: ",
		"corp-a": "info: the platform takes the account's credentials: ",
		// Of the same corp with the secret of another app.
		"approvals": "error: the platform refuses the account's credentials: 301002, no permission for this app: not allow operate another agent with this accesstoken",
	}
	for range 3 {
		if diff := cmp.Diff(want, said()); diff != "" {
			t.Fatal(diff)
		}
	}
	wc.Member("zhangsan", "hello")
	w.until(30*time.Second, "a reply left", func() bool { return len(accepted(wc.Calls())) == 1 })
	if n := wc.TokenCalls(); n != 1 { // accounts of one corp and secret share it
		t.Errorf("%d tokens fetched, want 1", n)
	}
	if out, code := w.cli("doctor", "--json"); code != exitFailed || !strings.Contains(out, "301002") {
		t.Errorf("%d %s", code, out)
	}
}

// A server outside that takes less than an event may have is named.
func TestDoctorNamesASmallBroker(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{})
	host, port, err := net.SplitHostPort(w.nats)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: n, JetStream: true, StoreDir: filepath.Join(w.dir, "outside"), NoSigs: true, NoLog: true,
		Username: "gateway", Password: "gateway-password", MaxPayload: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	w.edit(fmt.Sprintf("{embedded: {dir: %q, listen: %q, users: [{name: bot, password: bot-password, apps: [echo], observe: true}]}}",
		filepath.Join(w.dir, "nats"), w.nats), fmt.Sprintf("{url: %q, user: gateway, password: gateway-password, replicas: 1}", "nats://"+w.nats))
	w.start("")
	w.up()
	w.until(20*time.Second, "doctor names the limit", func() bool {
		out, code := w.cli("doctor")
		return code == exitFailed && strings.Contains(out, "NATS takes messages of at most 64 KiB") && strings.Contains(out, "max_payload")
	})
}

// slowTrier counts how many are asked together.
type slowTrier struct {
	running, most, asked *atomic.Int64
	takes                time.Duration
	result               handlers.Credentials
}

func (s slowTrier) TryCredentials(ctx context.Context) handlers.Credentials {
	s.asked.Add(1)
	n := s.running.Add(1)
	defer s.running.Add(-1)
	for {
		most := s.most.Load()
		if n <= most || s.most.CompareAndSwap(most, n) {
			break
		}
	}
	if !wait(ctx, s.takes) {
		return handlers.Credentials{State: handlers.CredentialsUntried, Code: "timeout"}
	}
	return s.result
}

func slow(n int, takes time.Duration) (*credentials, slowTrier) {
	s := slowTrier{new(atomic.Int64), new(atomic.Int64), new(atomic.Int64), takes, handlers.Credentials{State: handlers.CredentialsTaken}}
	c := &credentials{now: time.Now, turn: make(chan struct{}, 1)}
	for i := range n {
		c.names, c.triers = append(c.names, fmt.Sprint("account-", i)), append(c.triers, s)
	}
	return c, s
}

// However many accounts and askers: few at once, one round a minute, and an end.
func TestCredentialsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := slow(50, time.Second)
		begin := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if r, err := c.try(t.Context()); err != nil || len(r) != 50 || r[49].State != handlers.CredentialsTaken {
					t.Errorf("%v %+v", err, r)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begin); took != 7*time.Second || s.most.Load() != tryAtOnce || s.asked.Load() != 50 {
			t.Errorf("%s, %d at once, %d asked", took, s.most.Load(), s.asked.Load())
		}
		time.Sleep(tryFresh)
		if _, err := c.try(t.Context()); err != nil || s.asked.Load() != 100 {
			t.Errorf("%v, %d asked", err, s.asked.Load())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, _ := slow(50, time.Hour)
		begin := time.Now()
		r, err := c.try(t.Context())
		if took := time.Since(begin); err != nil || took != tryRound || r[0].Code != "timeout" || r[49].Code != "timeout" {
			t.Errorf("%v after %s: %+v", err, took, r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, s := slow(1, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.try(ctx); err == nil {
			t.Error("what was cut short was a result")
		}
		if r, err := c.try(t.Context()); err != nil || r[0].State != handlers.CredentialsTaken || s.asked.Load() != 2 {
			t.Errorf("%v %+v", err, r)
		}
	})
}

// Findings: refused is an error, away a warning.
func TestCredentialFindings(t *testing.T) {
	t.Parallel()
	c, _ := slow(0, 0)
	for _, r := range []handlers.Credentials{
		{State: handlers.CredentialsTaken, Detail: "quality rating red"},
		{State: handlers.CredentialsRefused, Code: "190", Detail: "expired", Do: "renew"},
		{State: handlers.CredentialsUntried, Code: "dns", Detail: "not reached", Do: "look"},
	} {
		c.names = append(c.names, string(r.State))
		c.triers = append(c.triers, slowTrier{new(atomic.Int64), new(atomic.Int64), new(atomic.Int64), 0, r})
	}
	got, err := c.findings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []admin.Finding{
		{Level: "info", What: "the platform takes the account's credentials", Name: "ok", Detail: "quality rating red"},
		{Level: "error", What: "the platform refuses the account's credentials", Name: "refused", Detail: "190, expired", Do: "renew"},
		{Level: "warning", What: "the account's credentials could not be tried", Name: "unreachable", Detail: "dns, not reached", Do: "look"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
