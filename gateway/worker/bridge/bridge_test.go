package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker/bridge"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	older  = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	says   = "what a customer says"
)

// rig is a broker, a bot behind a URL, and the bridge between them.
type rig struct {
	t      *testing.T
	broker *workertest.Broker
	bridge *bridge.Bridge
	server *httptest.Server
	stop   func() // ends the bridge

	mu   sync.Mutex
	seen []posted
	logs bytes.Buffer
}

// Write takes the log.
func (r *rig) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs.Write(b)
}

// posted is a request that the bot verified.
type posted struct {
	Header http.Header
	Event  struct {
		ID, Source, Type, Subject, SpecVersion, DataContentType string
		CwTry, CwSeq, CwConv, CwEvent, CwOrigin, CwRound        string
		ReplyURL, ReplyToken                                    string
		Data                                                    gateway.Event
	}
}

func app() gateway.Application {
	return gateway.Application{Name: "bot", Tries: 3, Delays: []time.Duration{2 * time.Second}, AckWait: 30 * time.Second, HandlerMax: time.Minute, Replies: true}
}

func keys(t testing.TB, secrets ...string) gateway.WebhookKeys {
	t.Helper()
	k, err := gateway.ParseWebhookKeys(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newRig starts all three. The bot verifies the signature as any receiver does, and
// notes what came, before it answers.
func newRig(t *testing.T, bot http.HandlerFunc, change func(*bridge.Options)) *rig {
	t.Helper()
	r := &rig{t: t}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the other side has hung up
		}
		if err := keys(t, secret).Verify(req.Header.Get, body, time.Now()); err != nil {
			t.Errorf("%v: %v", req.Header, err)
		}
		p := posted{Header: req.Header}
		if err := json.Unmarshal(body, &p.Event); err != nil {
			t.Errorf("not JSON: %v", err)
		}
		r.mu.Lock()
		r.seen = append(r.seen, p)
		r.mu.Unlock()
		bot(w, req)
	}))
	t.Cleanup(r.server.Close)
	a := app()
	o := bridge.Options{App: a, URL: r.server.URL + "/hook", Keys: keys(t, older, secret), Concurrency: 4, Timeout: 10 * time.Second,
		AnswerBy: 20 * time.Second, AnswersURL: "http://gateway/api/v1/answers", Now: time.Now}
	o.Log = slog.New(slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if change != nil {
		change(&o)
	}
	r.broker = workertest.Start(t, o.App)
	var err error
	if r.bridge, err = bridge.New(o); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", r.broker.Server().ConnectOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.bridge.Run(ctx, nc) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("bridge: %v", err)
		}
	})
	t.Cleanup(func() {
		r.stop()
		nc.Close()
		r.silent()
	})
	return r
}

// silent: nothing in the log is a customer's, a secret or a token.
func (r *rig) silent() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range []string{says, secret, "the bot says", r.server.URL} {
		if strings.Contains(r.logs.String(), s) {
			r.t.Errorf("the log holds %q: %s", s, r.logs.String())
		}
	}
}

func (r *rig) posts() []posted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]posted(nil), r.seen...)
}

func conv(i int) string { return fmt.Sprintf("abcdefghijklmnopqrstuvwx%02d", i) }

// offer puts an event into the gate, when the one before it has left.
func (r *rig) offer(i int, seq int64) *gateway.Event {
	r.t.Helper()
	ev := workertest.Text(conv(i), seq, says)
	r.until("a free place", func() bool { return r.broker.Offer(ev).State == gateway.OfferTaken })
	return ev
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	until(r.t, what, ok)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not in a minute: %s", what)
		case <-tick.C:
		}
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func with(name, value string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		next(w, r)
	}
}

// What a bot may answer, and what becomes of its event.
func TestResponses(t *testing.T) {
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	halfway := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(200)
		_, _ = io.WriteString(w, `{"verdict":"done"`)
		_ = http.NewResponseController(w).Flush()
		hangUp(w, r)
	}
	for _, c := range []struct {
		name    string
		bot     http.HandlerFunc
		want    gateway.Verdict
		replies string        // text of the first
		err     string        // part of it
		after   time.Duration // exactly
	}{
		{"an answer", status(200, `{"verdict":"done","replies":[{"text":"the bot says hello"}]}`), gateway.VerdictDone, "the bot says hello", "", 0},
		{"201 too", status(201, `{"verdict":"done","replies":[{"text":"the bot says hello"}]}`), gateway.VerdictDone, "the bot says hello", "", 0},
		{"nothing to say", status(200, `{"verdict":"done","replies":[]}`), gateway.VerdictDone, "", "", 0},
		{"200 empty", status(200, "\n"), gateway.VerdictDone, "", "", 0},
		{"204", status(204, ""), gateway.VerdictDone, "", "", 0},
		{"the bot's retry", status(200, `{"verdict":"retry","after_ms":7000,"error":"model busy"}`), gateway.VerdictRetry, "", "model busy", 7 * time.Second},
		{"the bot's dead", status(200, `{"verdict":"dead","error":"nonsense"}`), gateway.VerdictDead, "", "nonsense", 0},
		{"the bot's handback", status(200, `{"verdict":"handback","after_ms":3000}`), gateway.VerdictHandback, "", "", 3 * time.Second},
		{"a page", status(200, "<html>"), gateway.VerdictRetry, "", "not the JSON of an answer", 0},
		{"another JSON", status(200, `{"answer":"the bot says hello"}`), gateway.VerdictRetry, "", "verdict must be", 0},
		{"a wrong field", status(200, `{"verdict":"done","replies":[{"text":"a"},{"type":"image"}]}`), gateway.VerdictRetry, "", "replies[1].file", 0},
		{"another event", status(200, `{"event":"ev_other","verdict":"done"}`), gateway.VerdictRetry, "", "event must be", 0},
		{"too large", status(200, `{"verdict":"done","error":"`+strings.Repeat("x", 1<<20)+`"}`), gateway.VerdictRetry, "", "larger than", 0},
		{"too large, without a length", func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				_, _ = io.WriteString(w, strings.Repeat(" ", 32<<10))
			}
		}, gateway.VerdictRetry, "", "larger than", 0},
		{"a redirect", with("Location", "/other", status(302, "")), gateway.VerdictRetry, "", "302: redirects are not followed", 0},
		{"a lasting redirect", with("Location", "/other", status(308, "")), gateway.VerdictRetry, "", "308: redirects are not followed", 0},
		{"400", status(400, "the bot says no"), gateway.VerdictDead, "", "answered 400", 0},
		{"422", status(422, "the bot says no"), gateway.VerdictDead, "", "answered 422", 0},
		{"wrong secret", status(401, "the bot says no"), gateway.VerdictRetry, "", "answered 401", 0},
		{"wrong path", status(404, "the bot says no"), gateway.VerdictRetry, "", "answered 404", 0},
		{"busy for a while", with("Retry-After", "17", status(429, "")), gateway.VerdictHandback, "", "", 17 * time.Second},
		{"busy", status(429, ""), gateway.VerdictHandback, "", "", 5 * time.Second},
		{"busy, at once", with("Retry-After", "0", status(429, "")), gateway.VerdictHandback, "", "", time.Second},
		{"busy, for days", with("Retry-After", "900000", status(429, "")), gateway.VerdictHandback, "", "", time.Hour},
		{"unavailable for a while", with("Retry-After", "9", status(503, "")), gateway.VerdictHandback, "", "", 9 * time.Second},
		{"unavailable", status(503, ""), gateway.VerdictRetry, "", "answered 503", 0},
		{"500", status(500, "the bot says a secret"), gateway.VerdictRetry, "", "answered 500", 0},
		{"hangs up", hangUp, gateway.VerdictRetry, "", "ended before", 0},
		{"hangs up halfway", halfway, gateway.VerdictRetry, "", "ended before", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.bot, nil)
			ev := r.offer(1, 1)
			a := r.broker.Answer()
			if a.Event != ev.Delivery || a.Verdict != c.want || a.AfterMS != c.after.Milliseconds() {
				t.Errorf("answer %+v, want %s after %s", a, c.want, c.after)
			}
			if c.replies == "" && len(a.Replies) != 0 || c.replies != "" && (len(a.Replies) != 1 || a.Replies[0].Text != c.replies) {
				t.Errorf("replies %+v", a.Replies)
			}
			if !strings.Contains(a.Error, c.err) || strings.Contains(a.Error, "the bot says") {
				t.Errorf("error %q, want %q", a.Error, c.err)
			}
			if n := len(r.posts()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// What the request says: a CloudEvent with the event as published, the headers of
// the offer, the operator's headers, and the same id in every try.
func TestRequest(t *testing.T) {
	r := newRig(t, status(204, ""), func(o *bridge.Options) {
		o.Headers = []bridge.Header{{Name: "Authorization", Value: "Bearer key"}}
	})
	ev := r.offer(1, 7)
	r.broker.Answer()
	ev.Delivery += ".q1"
	r.until("offered again", func() bool { return r.broker.Offer(ev).State == gateway.OfferTaken })
	r.broker.Answer()
	posts := r.posts()
	if len(posts) != 2 {
		t.Fatalf("%d requests", len(posts))
	}
	p := posts[0]
	h := p.Header
	if h.Get("Content-Type") != "application/cloudevents+json" || h.Get("Authorization") != "Bearer key" ||
		h.Get("Cw-Conv") != conv(1) || h.Get("Cw-Seq") != "7" || h.Get("Cw-Try") != "1" || h.Get("webhook-id") != ev.Event || h.Get("Idempotency-Key") != "" {
		t.Errorf("headers %v", h)
	}
	e := p.Event
	if e.ID != ev.Event || e.Source != "/whatsapp/test" || e.Type != "causeway.message" || e.Subject != conv(1) || e.SpecVersion != "1.0" ||
		e.DataContentType != "application/json" || e.CwSeq != "7" || e.CwTry != "1" || e.CwConv != conv(1) || e.CwEvent != ev.Event || e.CwOrigin != "live" {
		t.Errorf("event %+v", e)
	}
	if e.Data.Text != says || e.Data.Delivery != ev.Event || e.Data.Seq != 7 {
		t.Errorf("data %+v", e.Data)
	}
	if e.ReplyURL != "http://gateway/api/v1/answers" || bridge.TokenApp(e.ReplyToken) != "bot" {
		t.Errorf("answers go to %s with %s", e.ReplyURL, e.ReplyToken)
	}
	if id := posts[1].Header.Get("webhook-id"); id != ev.Event {
		t.Errorf("the second round has the id %s", id)
	}
}

// A bundle is one request, whose data has the events before the last one, and one
// answer, which names it.
func TestBundle(t *testing.T) {
	r := newRig(t, status(200, `{"verdict":"done","replies":[{"text":"the bot says hello"}]}`), nil)
	ev := workertest.Bundle(workertest.Text(conv(1), 4, says), workertest.Text(conv(1), 5, says), workertest.Text(conv(1), 6, says))
	r.until("offered", func() bool { return r.broker.Offer(ev).State == gateway.OfferTaken })
	if a := r.broker.Answer(); a.Event != ev.Event+".c4" || a.Verdict != gateway.VerdictDone || len(a.Replies) != 1 {
		t.Errorf("answer %+v", a)
	}
	p := r.posts()
	if len(p) != 1 || p[0].Header.Get("webhook-id") != ev.Event+"_c4" || p[0].Event.ID != ev.Event+".c4" || p[0].Event.CwSeq != "6" {
		t.Fatalf("requests %+v", p)
	}
	if d := &p[0].Event.Data; d.Seq != 6 || len(d.Collected) != 2 || d.Collected[0].Seq != 4 || d.Collected[1].Text != says {
		t.Errorf("data %+v", d)
	}
}

// A bot that takes longer than its time: the next try is not made before the same
// time has passed again, or the application's delay.
func TestTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{100 * time.Millisecond: 2 * time.Second, 3 * time.Second: 3 * time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, func(o *bridge.Options) { o.Timeout = timeout })
			r.offer(1, 1)
			a := r.broker.Answer()
			if a.Verdict != gateway.VerdictRetry || a.AfterMS != want.Milliseconds() || !strings.Contains(a.Error, "did not answer within") {
				t.Errorf("answer %+v, want a retry after %s", a, want)
			}
		})
	}
}

// Endpoints that are not reached spend no try, open the circuit at once, and their
// error says why without the address.
func TestNotReached(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	plain := httptest.NewServer(status(204, ""))
	t.Cleanup(plain.Close)
	selfSigned := httptest.NewUnstartedServer(status(204, ""))
	selfSigned.Config.ErrorLog = log.New(io.Discard, "", 0)
	selfSigned.StartTLS()
	t.Cleanup(selfSigned.Close)
	for _, c := range []struct{ name, url, why string }{
		{"nobody listens", "http://" + closed.Addr().String() + "/hook", "nobody listens there"},
		{"no name", "http://bot.invalid/hook", "its name does not resolve"},
		{"a certificate of nobody", selfSigned.URL, "its certificate is not trusted"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), "it does not speak TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var o bridge.Options
			r := newRig(t, status(204, ""), func(to *bridge.Options) { to.URL = c.url; o = *to })
			r.offer(1, 1)
			if a := r.broker.Answer(); a.Verdict != gateway.VerdictHandback {
				t.Errorf("answer %+v, want handback", a)
			}
			if s := r.bridge.State(); s.Circuit == bridge.CircuitClosed || s.Why != c.why || s.Calls[bridge.Unreachable] == 0 {
				t.Errorf("state %+v, want open: %s", s, c.why)
			}
			if err := bridge.Reach(t.Context(), o); err == nil || err.Error() != c.why {
				t.Errorf("reach: %v, want %s", err, c.why)
			}
		})
	}
}

func TestReach(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	t.Cleanup(secure.Close)
	if err := bridge.Reach(t.Context(), bridge.Options{URL: plain.URL}); err != nil {
		t.Error(err)
	}
	trusting := secure.Client().Transport.(*http.Transport).TLSClientConfig
	if err := bridge.Reach(t.Context(), bridge.Options{URL: secure.URL, TLS: trusting}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "bot", "ftp://bot", "http://"} {
		if _, err := bridge.New(bridge.Options{URL: bad, Now: time.Now}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
