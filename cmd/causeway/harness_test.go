package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const (
	testSecret = "test-app-secret-0000000000000000"
	testToken  = "test-admin-token-000000000000"
	testPhone  = "900000000000099"
)

// world is a sandbox of the Cloud API and a gateway process that can be killed
// and started again on the same folder and ports.
type world struct {
	t    *testing.T
	dir  string
	wa   *whatsapptest.Sandbox
	url  string // of the webhook
	api  string // of the admin listener
	nats string // host:port for workers
	cfg  string // path of the configuration

	env []string // more of the environment of its processes

	mu   sync.Mutex
	proc *process
	logs bytes.Buffer // of all its processes
}

// process is one run of the gateway.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it ended
}

// noPace is worldOptions.account of those with more messages than WhatsApp's pace lets
// through in a moment.
const noPace = `pace: {account: "0", pair: "0"}, `

type worldOptions struct {
	dir    string // default t.TempDir()
	apps   string // YAML of the applications; default: the built-in echo
	extra  string // more YAML at the end
	secret string // app secret of the gateway; default the sandbox's
	// waID is the platform's number for one that was written to.
	waID func(number string) string
	// More lines of YAML for the lists of endpoints and accounts.
	endpoints, accounts string
	// account is more of the line of shop-a, such as "takeover: 3s, ".
	account string
	// env is more of the environment of its processes.
	env []string
	// loop is what stops loops; default none: customers of tests are machines.
	loop string
}

func newWorld(t *testing.T, o worldOptions) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a whole gateway")
	}
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	w := &world{t: t, dir: o.dir, env: o.env}
	var err error
	w.wa, err = whatsapptest.New(whatsapptest.Options{
		AppSecret: testSecret, AccessToken: "access-token-1", PhoneNumberID: testPhone, WABAID: "900000000000001",
		Retry: []time.Duration{200 * time.Millisecond}, WaID: o.waID,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.wa.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.wa.Close() })
	public, admin, nats := freePort(t), freePort(t), freePort(t)
	w.url = "http://" + public + "/webhooks/whatsapp/meta"
	w.api, w.nats = "http://"+admin, nats
	w.wa.SetCallbackURL(w.url)
	if o.apps == "" {
		o.apps = "  - {name: echo, builtin: echo, ack_wait: 2s}\n"
	}
	if o.loop == "" {
		o.loop = "{turns: 0}"
	}
	if o.secret == "" {
		o.secret = testSecret
	}
	w.cfg = filepath.Join(o.dir, "causeway.yaml")
	w.write(fmt.Sprintf(`listen: %q
admin: {listen: %q, tokens: [{name: test, role: admin, token: %q}]}
store: {url: "sqlite:%s", reserve: 1MiB}
nats: {embedded: {dir: %q, listen: %q, users: [{name: bot, password: bot-password, apps: [echo], observe: true}]}}
loop: %s
endpoints:
  - {name: meta, platform: whatsapp, app_secret: %q, verify_token: verify-me}
%saccounts:
  - {name: shop-a, %splatform: whatsapp, phone_number_id: %q, waba_id: "900000000000001", access_token: access-token-1, api_base: %q}
%sapplications:
%s%s`, public, admin, testToken, filepath.Join(o.dir, "data"), filepath.Join(o.dir, "nats"), nats, o.loop, o.secret, o.endpoints, o.account, testPhone, w.wa.URL(), o.accounts, o.apps, o.extra))
	t.Cleanup(func() {
		w.kill()
		w.mu.Lock()
		raced := bytes.Contains(w.logs.Bytes(), []byte("WARNING: DATA RACE"))
		w.mu.Unlock()
		if raced {
			t.Error("the race detector found something in the gateway")
		}
		if t.Failed() {
			w.mu.Lock()
			defer w.mu.Unlock()
			t.Logf("gateway said (last 6 KB):\n%s", tail(w.logs.Bytes(), 6<<10))
		}
	})
	return w
}

func tail(b []byte, n int) []byte { return b[max(len(b)-n, 0):] }

func (w *world) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.cfg, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) edit(old, new string) {
	w.t.Helper()
	b, err := os.ReadFile(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		w.t.Fatalf("the configuration does not hold %q", old)
	}
	w.write(strings.ReplaceAll(string(b), old, new))
}

// Write takes what the gateway says.
func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logs.Write(b)
}

// start starts the gateway; kill is a boundary to die at ("" for none). It does
// not wait until it serves.
func (w *world) start(kill string, args ...string) *process {
	w.t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"serve", "-c", w.cfg}, args...)...) //nolint:gosec // this test binary
	cmd.Env = append(append(os.Environ(), childEnv+"=1", killEnv+"="+kill), w.env...)
	cmd.Stdout, cmd.Stderr = w, w
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	w.mu.Lock()
	w.proc = p
	w.mu.Unlock()
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the gateway with SIGKILL and waits for its end.
func (w *world) kill() { w.end(syscall.SIGKILL) }

// stop ends it as an operator would.
func (w *world) stop() { w.end(syscall.SIGTERM) }

func (w *world) end(sig syscall.Signal) {
	w.mu.Lock()
	p := w.proc
	w.mu.Unlock()
	if p == nil || p.ended() {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	<-p.done
}

// up waits until the gateway takes callbacks.
func (w *world) up() {
	w.t.Helper()
	w.until(30*time.Second, "the gateway serves", func() bool {
		w.mu.Lock()
		p := w.proc
		w.mu.Unlock()
		if p.ended() {
			w.t.Fatal("the gateway ended instead of serving")
		}
		resp, err := http.Get(w.api + "/readyz") //nolint:noctx // a test on loopback
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// brokerUp waits until a gateway's broker takes connections. A gateway is ready as soon
// as it archives, and that may be a moment before.
func brokerUp(t *testing.T, addr string) {
	t.Helper()
	for deadline := time.Now().Add(leastLimit); ; {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the broker takes no connection: %v", err)
		}
		wait(t.Context(), 20*time.Millisecond)
	}
}

// leastLimit is how long a test waits at least for what must come. A limit ends a test
// that would hang, it measures nothing: the machine may be busy with other things.
const leastLimit = 2 * time.Minute

// until polls a condition of another process; there is no signal to wait for.
func (w *world) until(limit time.Duration, what string, ok func() bool) {
	w.t.Helper()
	limit = max(limit, leastLimit)
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatalf("after %s still not: %s", limit, what)
		}
		wait(context.Background(), 20*time.Millisecond)
	}
}

// post delivers a callback as Meta does: again and again until it is answered
// 200, for two minutes. It returns how many tries it took.
func (w *world) post(ctx context.Context, body []byte) int {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for n := 1; ; n++ {
		status, err := w.wa.Post(ctx, body)
		if err == nil && status == http.StatusOK {
			return n
		}
		if !wait(ctx, 50*time.Millisecond) {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				w.t.Error("a callback was never answered 200")
			}
			return n
		}
	}
}

// get reads JSON of the admin API.
func (w *world) get(path string, out any) error { return w.call(http.MethodGet, path, nil, out) }

func (w *world) call(method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, w.api+path, body) //nolint:noctx // a test on loopback
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// cli runs a command of causeway in this process and returns its output.
func (w *world) cli(args ...string) (string, int) {
	var out bytes.Buffer
	code := run(w.t.Context(), stdio{in: strings.NewReader(""), out: &out, err: &out}, append([]string{"-c", w.cfg}, args...))
	return out.String(), code
}
