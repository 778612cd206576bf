package handlers_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

func TestGenuineCallback(t *testing.T) {
	f := open(t, nil)
	body := []byte("{\"object\":\"whatsapp_business_account\",\n  \"entry\":[], \"x\":\"\\u00e9\\/\xff\"}\n")
	res, text := f.send(t, http.MethodPost, "/webhooks/whatsapp/meta?a=b&c", body, http.Header{
		"Content-Type":        {"application/json"},
		"X-Hub-Signature-256": {sign(body)},
		"User-Agent":          {"facebookexternalua"},
		"Authorization":       {"Bearer LEAKMARK"},
		"Cookie":              {"s=LEAKMARK"},
		"X-Request-Id":        {"abc-1"},
	})
	if res.StatusCode != http.StatusOK || text != "" {
		t.Fatalf("%d %q", res.StatusCode, text)
	}
	if got := res.Header.Get("X-Request-Id"); got != "abc-1" {
		t.Errorf("request id %q", got)
	}
	list := f.archived(t)
	if len(list) != 1 {
		t.Fatalf("%d payloads", len(list))
	}
	p := list[0]
	if !bytes.Equal(p.Body, body) {
		t.Errorf("body %q", p.Body)
	}
	if p.RequestLine != "POST /webhooks/whatsapp/meta?a=b&c HTTP/1.1" || p.Platform != "whatsapp" || p.Endpoint != "meta" {
		t.Errorf("payload %+v", p)
	}
	if p.KeyFP != gateway.Fingerprint(appSecret) || p.Pos != 1 || !strings.HasPrefix(p.ID, "pl_") {
		t.Errorf("key %q, pos %d, id %q", p.KeyFP, p.Pos, p.ID)
	}
	names := make([]string, 0, 4)
	for name := range p.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "Content-Type User-Agent X-Hub-Signature-256 X-Request-Id" {
		t.Errorf("headers kept: %s", got)
	}
	if f.count(t, "causeway_webhook_requests_total", "whatsapp", "meta", "200") != 1 ||
		f.count(t, "causeway_webhook_archived_bytes_total", "meta") != float64(len(body)) {
		t.Error("not counted")
	}
	lines := f.logs.FilterMessage("payload.archived").All()
	if len(lines) != 1 || lines[0].ContextMap()["payload"] != p.ID {
		t.Errorf("log %v", lines)
	}
}

// What is not genuine is refused with an empty body, kept as a reject, and not
// archived.
func TestRefusedCallbacks(t *testing.T) {
	f := open(t, func(o *handlers.Options) {
		o.Endpoint = endpoints(map[string]handlers.Endpoint{
			"whatsapp/meta":    meta(),
			"whatsapp/keyless": whatsapp.NewEndpoint(whatsapp.EndpointConfig{}),
			"wecom/hostile":    failing{err: gateway.ErrHostile, status: http.StatusForbidden},
			"wecom/forged":     failing{err: gateway.ErrUnverified, status: http.StatusForbidden},
			"wecom/broken":     failing{err: errors.New("something else"), status: http.StatusForbidden},
		})
	})
	body := []byte(`{"text":"LEAKMARK"}`)
	good := sign(body)
	for _, c := range []struct {
		name, path string
		signatures []string
		want       int
	}{
		{"no signature", "/webhooks/whatsapp/meta", nil, 401},
		{"wrong signature", "/webhooks/whatsapp/meta", []string{sign([]byte("x"))}, 401},
		{"two signatures", "/webhooks/whatsapp/meta", []string{"sha256=00", good}, 401},
		{"no secret", "/webhooks/whatsapp/keyless", []string{good}, 503},
		{"hostile envelope", "/webhooks/wecom/hostile", nil, 400},
		{"forged", "/webhooks/wecom/forged", nil, 403},
		{"fault of ours", "/webhooks/wecom/broken", nil, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(f.rejects(t))
			res, text := f.send(t, http.MethodPost, c.path, body, http.Header{"X-Hub-Signature-256": c.signatures})
			if res.StatusCode != c.want || text != "" {
				t.Errorf("%d %q, want %d and nothing", res.StatusCode, text, c.want)
			}
			if (res.Header.Get("Retry-After") != "") != (c.want == 503) {
				t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
			}
			if got := len(f.rejects(t)); got != before+1 {
				t.Errorf("%d rejects more", got-before)
			}
		})
	}
	newest, err := f.archive.Reject(t.Context(), f.rejects(t)[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(newest.Payload.Body, body) || newest.Payload.Endpoint != "broken" || newest.Reason == "" {
		t.Errorf("reject %+v", newest)
	}
	if n := len(f.archived(t)); n != 0 {
		t.Errorf("%d payloads archived", n)
	}
	if f.count(t, "causeway_webhook_rejects_total", "yes") != 7 || f.count(t, "causeway_webhook_requests_total", "401") != 3 {
		t.Error("not counted")
	}
	if strings.Contains(f.shown(), "LEAK") || strings.Contains(f.shown(), good) {
		t.Errorf("logged: %s", f.shown())
	}
}

// worded is an endpoint whose platform reads the answer.
type worded struct {
	handlers.Endpoint
	text string
}

func (w worded) Answer(*handlers.Request) []byte { return []byte(w.text) }

// An endpoint may have words for the platform: they go out with the 200, after
// the callback is on disk, and never with a refusal.
func TestAnswerWithWords(t *testing.T) {
	f := open(t, func(o *handlers.Options) {
		o.Endpoint = endpoints(map[string]handlers.Endpoint{
			"whatsapp/meta": worded{meta(), "success"},
			"whatsapp/mute": worded{meta(), ""},
		})
	})
	body := []byte(`{}`)
	for _, c := range []struct {
		path, signature, want string
		status, archived      int
	}{
		{"/webhooks/whatsapp/meta", sign(body), "success", 200, 1},
		{"/webhooks/whatsapp/mute", sign(body), "", 200, 2},
		{"/webhooks/whatsapp/meta", sign([]byte("x")), "", 401, 2},
	} {
		res, text := f.send(t, http.MethodPost, c.path, body, http.Header{"X-Hub-Signature-256": {c.signature}})
		if res.StatusCode != c.status || text != c.want || len(f.archived(t)) != c.archived {
			t.Errorf("%s: %d %q, %d archived", c.path, res.StatusCode, text, len(f.archived(t)))
		}
	}
	if f.count(t, "causeway_webhook_requests_total", "200") != 2 {
		t.Error("not counted")
	}
}

// failing is an endpoint whose Verify fails or panics.
type failing struct {
	err    error
	status int
	panics any
}

func (e failing) Challenge(*handlers.Request) ([]byte, error) { return nil, e.err }
func (e failing) RefusalStatus() int                          { return e.status }
func (e failing) Verify(*handlers.Request) (string, error) {
	if e.panics != nil {
		panic(e.panics)
	}
	return "", e.err
}

func (e failing) Decode(*gateway.Payload) ([]gateway.Item, string, error) { return nil, "", e.err }

func TestWrongPaths(t *testing.T) {
	f := open(t, nil)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPost, "/webhooks/whatsapp/other", 404},
		{http.MethodGet, "/webhooks/wecom/meta", 404},
		{http.MethodPost, "/webhooks/whatsapp/meta/", 404},
		{http.MethodPost, "/webhooks/whatsapp/..%2fmeta", 404},
		{http.MethodPost, "/webhooks/whatsapp/..%2f..%2f..%2fetc%2fpasswd", 404},
		{http.MethodPost, "/webhooks/whatsapp", 404},
		{http.MethodGet, "/", 404},
		{http.MethodGet, "/metrics", 404},
		{http.MethodPut, "/webhooks/whatsapp/meta", 405},
		{http.MethodDelete, "/healthz", 405},
	} {
		res, text := f.send(t, c.method, c.path, []byte("x"), nil)
		if res.StatusCode != c.want || text != "" {
			t.Errorf("%s %s: %d %q", c.method, c.path, res.StatusCode, text)
		}
		if c.want == 405 && res.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
	if f.count(t, "causeway_webhook_requests_total") != 0 {
		t.Error("a path that is not configured became a label")
	}
}

func TestChallenge(t *testing.T) {
	f := open(t, nil)
	path := "/webhooks/whatsapp/meta?hub.mode=subscribe&hub.challenge=%3Cb%3E1158201444&hub.verify_token="
	res, text := f.send(t, http.MethodGet, path+verifyToken, nil, nil)
	if res.StatusCode != 200 || text != "<b>1158201444" {
		t.Errorf("%d %q", res.StatusCode, text)
	}
	if got := res.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("type %q", got)
	}
	res, text = f.send(t, http.MethodGet, path+"LEAKMARK", nil, nil)
	if res.StatusCode != 401 || text != "" {
		t.Errorf("wrong token: %d %q", res.StatusCode, text)
	}
	res, _ = f.send(t, http.MethodGet, "/webhooks/whatsapp/meta", nil, nil)
	if res.StatusCode/100 != 4 {
		t.Errorf("no parameters: %d", res.StatusCode)
	}
	if strings.Contains(f.shown(), "LEAK") || strings.Contains(f.shown(), verifyToken) {
		t.Errorf("logged: %s", f.shown())
	}
	if len(f.archived(t)) != 0 || len(f.rejects(t)) != 0 {
		t.Error("a challenge was stored")
	}
}

// blocking is an archive that answers when the test says so.
type blocking struct {
	err    error
	reject chan struct{} // closed: AppendReject answers
	stuck  sync.WaitGroup
}

func (b *blocking) Append(ctx context.Context, _ *gateway.Payload) error {
	if b.err != nil {
		return b.err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (b *blocking) AppendReject(ctx context.Context, _ *gateway.Reject) error {
	b.stuck.Done()
	select {
	case <-b.reject:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An archive that fails, or does not answer in time, makes the platform come
// again.
func TestArchiveFails(t *testing.T) {
	for name, archive := range map[string]*blocking{"fails": {err: errors.New("disk full")}, "slow": {}} {
		t.Run(name, func(t *testing.T) {
			f := open(t, func(o *handlers.Options) {
				o.Archive = archive
				o.Limits.AckTimeout = 30 * time.Millisecond
			})
			body := []byte(`{}`)
			res, text := f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", body, http.Header{"X-Hub-Signature-256": {sign(body)}})
			if res.StatusCode != 503 || text != "" || res.Header.Get("Retry-After") == "" {
				t.Errorf("%d %q %v", res.StatusCode, text, res.Header)
			}
			if f.logs.FilterMessage("payload.not_archived").Len() != 1 || f.count(t, "causeway_webhook_requests_total", "503") != 1 {
				t.Errorf("not told: %s", f.shown())
			}
		})
	}
}

// A flood of forged callbacks does not queue up before the archive: beyond the
// slots they are counted and answered at once.
func TestRejectsAreBounded(t *testing.T) {
	archive := &blocking{reject: make(chan struct{})}
	archive.stuck.Add(1)
	f := open(t, func(o *handlers.Options) {
		o.Archive = archive
		o.Limits.RejectsAtOnce = 1
		o.Limits.RejectTimeout = time.Minute
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		res, _ := f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", []byte("first"), nil)
		if res.StatusCode != 401 {
			t.Errorf("first: %d", res.StatusCode)
		}
	})
	archive.stuck.Wait() // the only slot is taken
	for range 5 {
		res, _ := f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", []byte("more"), nil)
		if res.StatusCode != 401 {
			t.Errorf("more: %d", res.StatusCode)
		}
	}
	if n := f.count(t, "causeway_webhook_rejects_total", "no"); n != 5 {
		t.Errorf("%v not kept", n)
	}
	close(archive.reject)
	wg.Wait()
	if n := f.count(t, "causeway_webhook_rejects_total", "yes"); n != 1 {
		t.Errorf("%v kept", n)
	}
}

// A fault in a platform package is one 500; the next callback is served, and
// the panic's value, which may quote the body, is nowhere.
func TestPanic(t *testing.T) {
	f := open(t, func(o *handlers.Options) {
		o.Endpoint = endpoints(map[string]handlers.Endpoint{
			"whatsapp/meta":  meta(),
			"whatsapp/fault": failing{panics: "text of LEAKMARK"},
		})
	})
	res, text := f.send(t, http.MethodPost, "/webhooks/whatsapp/fault", []byte("{}"), nil)
	if res.StatusCode != 500 || text != "" {
		t.Errorf("%d %q", res.StatusCode, text)
	}
	if f.count(t, "causeway_webhook_panics_total") != 1 || f.count(t, "causeway_webhook_requests_total", "500") != 1 {
		t.Error("not counted")
	}
	if f.logs.FilterMessage("request.panicked").Len() != 1 || strings.Contains(f.shown(), "LEAK") {
		t.Errorf("logged: %s", f.shown())
	}
	res, _ = f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", []byte("{}"), http.Header{"X-Hub-Signature-256": {sign([]byte("{}"))}})
	if res.StatusCode != 200 {
		t.Errorf("afterwards: %d", res.StatusCode)
	}
}

func TestHealth(t *testing.T) {
	ready := true
	f := open(t, func(o *handlers.Options) { o.Ready = func() bool { return ready } })
	for _, c := range []struct {
		path  string
		ready bool
		want  int
	}{{"/healthz", false, 200}, {"/readyz", true, 200}, {"/readyz", false, 503}} {
		ready = c.ready
		res, text := f.send(t, http.MethodGet, c.path, nil, nil)
		if res.StatusCode != c.want || len(text) > 12 {
			t.Errorf("%s ready=%v: %d %q", c.path, c.ready, res.StatusCode, text)
		}
	}
}

func TestRequestID(t *testing.T) {
	f := open(t, nil)
	seen := map[string]bool{}
	for _, given := range [][]string{nil, nil, {""}, {strings.Repeat("a", 65)}, {"a b"}, {"<script>"}, {"é"}, {"a", "b"}} {
		res, _ := f.send(t, http.MethodGet, "/webhooks/whatsapp/none", nil, http.Header{"X-Request-Id": given})
		got := res.Header.Get("X-Request-Id")
		if got == "" || seen[got] || slices.Contains(given, got) {
			t.Errorf("given %q, got %q", given, got)
		}
		seen[got] = true
	}
}

// A callback that is taken is named for who asks for it: its caller, or the log.
func TestRequestIDOfATakenCallback(t *testing.T) {
	body := []byte("{}")
	for _, c := range []struct {
		level zapcore.Level
		given string
		named bool
	}{{zap.InfoLevel, "", false}, {zap.InfoLevel, "mine", true}, {zap.InfoLevel, "not a word", true}, {zap.DebugLevel, "", true}} {
		f := open(t, func(o *handlers.Options) {
			o.Log = o.Log.WithOptions(zap.IncreaseLevel(c.level))
		})
		h := http.Header{"X-Hub-Signature-256": {sign(body)}}
		if c.given != "" {
			h.Set("X-Request-Id", c.given)
		}
		res, _ := f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", body, h)
		got := res.Header.Get("X-Request-Id")
		if res.StatusCode != http.StatusOK || (got != "") != c.named || c.given == "mine" && got != c.given {
			t.Errorf("%+v: %d, named %q", c, res.StatusCode, got)
		}
		if lines := f.logs.FilterMessage("payload.archived").All(); c.level == zap.DebugLevel &&
			(len(lines) != 1 || lines[0].ContextMap()["request"] != got) {
			t.Errorf("the log has %v, the answer %q", lines, got)
		}
		// What is refused always has a name, the one in the log.
		h.Set("X-Hub-Signature-256", "sha256=00")
		res, _ = f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", body, h)
		got = res.Header.Get("X-Request-Id")
		if lines := f.logs.FilterMessage("payload.refused").All(); got == "" || len(lines) != 1 || lines[0].ContextMap()["request"] != got {
			t.Errorf("%+v: refused as %q, the log has %v", c, got, lines)
		}
	}
}

func TestTrustedProxies(t *testing.T) {
	if _, err := handlers.NewRouter(handlers.Options{TrustedProxies: []string{"not an address"}}); err == nil {
		t.Error("a wrong proxy was taken")
	}
	for _, c := range []struct {
		trusted []string
		want    string
	}{{nil, "127.0.0.1"}, {[]string{"127.0.0.0/8"}, "203.0.113.7"}} {
		f := open(t, func(o *handlers.Options) { o.TrustedProxies = c.trusted })
		f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", []byte("x"), http.Header{"X-Forwarded-For": {"203.0.113.7"}})
		lines := f.logs.FilterMessage("payload.refused").All()
		if len(lines) != 1 || lines[0].ContextMap()["client"] != c.want {
			t.Errorf("trusted %v: %v", c.trusted, lines)
		}
	}
}
