package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker/bridge"
)

// A bot behind a URL: conversations in parallel, each in its order, every message
// answered once. apps, doctor and metrics show it, and nobody the path of its URL.
func TestBridge(t *testing.T) {
	begin(t)
	b := newHookBot(t)
	b.listen()
	w := newCase(t, worldOptions{apps: b.app("concurrency: 8")})
	l := &load{w: w, convs: 12, each: 6}
	underLoad(t, l, 2*time.Minute, func(context.Context) {})
	w.settled(time.Minute)
	b.inOrder()
	if n := len(b.requests()); n != l.convs*l.each {
		t.Errorf("%d requests for %d messages", n, l.convs*l.each)
	}
	for _, h := range b.requests() {
		if h.Try != 1 {
			t.Errorf("event %s came as try %d", h.Data.Event, h.Try)
		}
	}
	out, code := w.cli("apps")
	if code != 0 || !strings.Contains(out, "bridge") || !strings.Contains(out, "running") {
		t.Errorf("apps: %d\n%s", code, out)
	}
	if out, code := w.cli("doctor"); code != 0 || strings.Contains(out, "URL") {
		t.Errorf("doctor: %d\n%s", code, out)
	}
	if out, code := w.cli("config", "check"); code != 0 || !strings.Contains(out, "http://"+b.address) {
		t.Errorf("config check: %d\n%s", code, out)
	}
	_, metrics := w.raw(http.MethodGet, "/metrics", testToken, nil)
	for _, line := range []string{fmt.Sprintf(`causeway_bridge_calls_total{app="echo",outcome="done"} %d`, l.convs*l.each), `causeway_bridge_circuit_open{app="echo"} 0`} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	for _, secret := range []string{hookSecret, "/hook", "message 00", b.requests()[0].ReplyToken} {
		if strings.Contains(w.said(), secret) || strings.Contains(out, secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	if unknown := l.verify(); unknown != 0 {
		t.Errorf("%d unknown messages", unknown)
	}
}

// 202: the event stays with the bot until its answer comes by the other way, and the
// next one of the conversation waits for it. The token of one delivery opens nothing
// else, and a second answer is late.
func TestBridgeLater(t *testing.T) {
	begin(t)
	b := newHookBot(t)
	b.answer = func(w http.ResponseWriter, _ *hooked) { w.WriteHeader(http.StatusAccepted) }
	b.listen()
	w := newCase(t, worldOptions{apps: b.app("answer_by: 10m")})
	w.says("15550001", "one")
	w.says("15550001", "two")
	w.until(time.Minute, "the first event", func() bool { return len(b.requests()) > 0 })
	h := b.requests()[0]
	if h.ReplyURL != w.api+"/api/v1/answers" {
		t.Errorf("replyurl %s", h.ReplyURL)
	}
	for name, c := range map[string]struct {
		token, body string
		want        int
		said        string
	}{
		"no token":          {"", `{"verdict":"done"}`, 401, "replytoken"},
		"an admin's token":  {testToken, `{"verdict":"done"}`, 401, "replytoken"},
		"a changed token":   {"x" + h.ReplyToken, `{"verdict":"done"}`, 401, "replytoken"},
		"not an answer":     {h.ReplyToken, `hello`, 400, "not the JSON of an answer"},
		"a wrong field":     {h.ReplyToken, `{"verdict":"done","replies":[{"text":""}]}`, 400, "replies[0].text"},
		"another event":     {h.ReplyToken, `{"event":"ev_other","verdict":"done"}`, 400, "event must be"},
		"too large a body":  {h.ReplyToken, strings.Repeat(" ", 2<<20), 413, "too large"},
		"large, no token":   {"", strings.Repeat(" ", 2<<20), 401, "replytoken"},
		"a verdict of none": {h.ReplyToken, `{}`, 400, "verdict must be"},
	} {
		status, said := post(h.ReplyURL, c.token, []byte(c.body))
		if status == 0 && len(c.body) > 1<<20 {
			continue // answered and closed while the body was still being written
		}
		if status != c.want || !strings.Contains(said, c.said) {
			t.Errorf("%s: %d %s, want %d with %q", name, status, said, c.want, c.said)
		}
	}
	if n := len(b.requests()); n != 1 {
		t.Fatalf("%d requests while the first has no answer", n)
	}
	for range 2 {
		if status, said := b.later(h, b.echo(h)); status != http.StatusAccepted {
			t.Errorf("%d %s", status, said)
		}
	}
	w.until(time.Minute, "the second event", func() bool { return len(b.requests()) > 1 })
	if next := b.requests()[1]; next.Data.Text != "two" {
		t.Errorf("then came %q", next.Data.Text)
	} else if status, said := b.later(next, b.echo(next)); status != http.StatusAccepted {
		t.Errorf("%d %s", status, said)
	}
	w.settled(time.Minute)
	if got := fmt.Sprint(texts(w.calls("15550001"))); got != "[one two]" {
		t.Errorf("sent %s", got)
	}
	if late := w.counter("late"); late != 1 {
		t.Errorf("%d late answers, want 1", late)
	}
	w.sums()
}

// What a bot may answer, through the whole gateway: the first response is the row's,
// the ones after it repeat the message. A try is spent or not, and what is refused
// for good is a dead letter that says why and nothing of what the bot said.
func TestBridgeResponses(t *testing.T) {
	begin(t)
	b := newHookBot(t)
	rows := []struct {
		name   string
		first  http.HandlerFunc
		try    int    // of the second request; 0 when there is none
		reason string // of the dead letter
		detail string
	}{
		{"500", answers(500, "", ""), 2, "", ""},
		{"503", answers(503, "", ""), 2, "", ""},
		{"404", answers(404, "", ""), 2, "", ""},
		{"302", answers(302, "Location", "/elsewhere"), 2, "", ""},
		{"a page", answers(200, "", ""), 2, "", ""},
		{"huge", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3<<20)) }, 2, "", ""},
		{"slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 2, "", ""},
		{"gone", func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		}, 2, "", ""},
		{"429", answers(429, "Retry-After", "1"), 1, "", ""},
		{"503 for a second", answers(503, "Retry-After", "1"), 1, "", ""},
		{"400", answers(400, "", ""), 0, gateway.ReasonVerdict, "the endpoint answered 400"},
		{"422", answers(422, "", ""), 0, gateway.ReasonVerdict, "the endpoint answered 422"},
		{"204", answers(204, "", ""), 0, "", ""},
	}
	byText := map[string]http.HandlerFunc{}
	for _, row := range rows {
		byText[row.name] = row.first
	}
	repeat := b.answer
	b.respond = func(w http.ResponseWriter, r *http.Request, h *hooked) {
		if first := byText[h.Data.Text]; first != nil && len(b.of(h.Data.Event)) == 1 {
			first(w, r)
			return
		}
		repeat(w, h)
	}
	b.listen()
	w := newCase(t, worldOptions{apps: b.app("timeout: 1s, concurrency: 4")})
	for i, row := range rows {
		customer := fmt.Sprintf("155500%02d", i)
		w.says(customer, row.name)
		w.settled(time.Minute)
		var list []*hooked
		for _, h := range b.requests() {
			if h.Data.Text == row.name {
				list = append(list, h)
			}
		}
		want, sent := 1, "[]"
		if row.try > 0 {
			want, sent = 2, "["+row.name+"]"
		}
		if len(list) != want || list[0].Try != 1 || list[0].ID != list[len(list)-1].ID || row.try > 0 && list[1].Try != row.try {
			t.Errorf("%s: %d requests, want %d, the second as try %d", row.name, len(list), want, row.try)
		}
		if got := fmt.Sprint(texts(w.calls(customer))); got != sent {
			t.Errorf("%s: sent %s, want %s", row.name, got, sent)
		}
		dead := w.deadLetters()
		if row.reason == "" && len(dead) != 0 || row.reason != "" && (len(dead) != 1 || dead[0].Reason != row.reason || dead[0].Detail != row.detail) {
			t.Errorf("%s: dead letters %+v", row.name, dead)
		}
		for _, d := range dead {
			if err := w.call(http.MethodPost, "/api/v1/dead/"+d.ID+"/drop", nil, nil); err != nil {
				t.Error(err)
			}
		}
	}
	if strings.Contains(w.said(), "the bot says") {
		t.Error("the log holds what the bot said")
	}
	w.sums()
}

// answers is a response with a header and a body that is no answer.
func answers(status int, name, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if name != "" {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = w.Write([]byte("the bot says no"))
		}
	}
}

// The gateway stops, or is killed, while a bot thinks about its answer. The event
// comes again under the same id and without a try spent; the answer to the first
// request counts, by its old token, and is sent once.
func TestBridgeRestartDuringLater(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world){"stopped": (*world).stop, "killed": (*world).kill} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			b := newHookBot(t)
			b.answer = func(w http.ResponseWriter, _ *hooked) { w.WriteHeader(http.StatusAccepted) }
			b.listen()
			w := newCase(t, worldOptions{apps: b.app("ack_wait: 2s")})
			w.says("15550001", "one")
			w.says("15550001", "two")
			w.until(time.Minute, "the first event", func() bool { return len(b.requests()) > 0 })
			end(w)
			w.start("")
			w.up()
			first := b.requests()[0]
			if name == "stopped" { // handed back, so it comes at once; the killed one's comes after ack_wait
				w.until(time.Minute, "the event comes again", func() bool { return len(b.requests()) > 1 })
			}
			if status, said := b.later(first, b.echo(first)); status != http.StatusAccepted {
				t.Fatalf("%d %s", status, said)
			}
			w.until(time.Minute, "the reply is sent", func() bool { return len(accepted(w.calls("15550001"))) == 1 })
			var next *hooked
			w.until(time.Minute, "the next event", func() bool {
				list := b.requests()
				last := list[len(list)-1]
				if last.Data.Text == "one" && last != first { // known to the bot by its id
					b.later(last, []byte(`{"verdict":"done"}`))
				}
				next = last
				return last.Data.Text == "two"
			})
			b.later(next, b.echo(next))
			w.settled(time.Minute)
			for _, h := range b.requests() {
				if h.Try != 1 {
					t.Errorf("%q came as try %d", h.Data.Text, h.Try)
				}
			}
			b.inOrder()
			if got := fmt.Sprint(texts(w.calls("15550001"))); got != "[one two]" {
				t.Errorf("sent %s", got)
			}
			w.oncePerMessage()
			w.sums()
		})
	}
}

// The bot is not there: nothing is sent, no try is spent, nothing dies, and doctor
// and apps say why. When it comes up everything is answered in its order.
func TestBridgeDown(t *testing.T) {
	begin(t)
	b := newHookBot(t)
	w := newCase(t, worldOptions{apps: b.app("tries: 1")})
	l := &load{w: w, convs: 8, each: 4}
	underLoad(t, l, 2*time.Minute, func(context.Context) {})
	w.until(time.Minute, "the circuit is open", func() bool {
		var list appList
		return w.get("/api/v1/apps", &list) == nil && list.Apps[0].Bridge != nil && list.Apps[0].Bridge.Circuit != bridge.CircuitClosed
	})
	if out, code := w.cli("apps"); code != 0 || !strings.Contains(out, "circuit open") || !strings.Contains(out, "nobody listens there") {
		t.Errorf("apps: %d\n%s", code, out)
	}
	if out, code := w.cli("doctor"); code != 1 || !strings.Contains(out, "nothing is sent to the application's URL: nobody listens there") {
		t.Errorf("doctor: %d\n%s", code, out)
	}
	if out, code := w.cli("doctor", "--ready"); code != exitOK || !strings.Contains(out, "ready") {
		t.Errorf("doctor --ready: %d\n%s", code, out)
	}
	b.listen()
	w.settled(2 * time.Minute)
	b.inOrder()
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("%d dead letters, first %+v", len(dead), dead[0])
	}
	l.verify()
	if out, code := w.cli("doctor"); code != 1 || !strings.Contains(out, "the application's URL is reached") { // without a gateway
		t.Errorf("doctor without a gateway: %d\n%s", code, out)
	}
}

// The bot has another secret: it refuses everything, which are tries, and says so
// where an operator looks.
func TestBridgeWrongSecret(t *testing.T) {
	begin(t)
	b := newHookBot(t)
	var err error
	if b.keys, err = gateway.ParseWebhookKeys("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="); err != nil {
		t.Fatal(err)
	}
	b.listen()
	w := newCase(t, worldOptions{apps: b.app("tries: 2")})
	w.says("15550001", "one")
	w.until(time.Minute, "a dead letter", func() bool { return len(w.deadLetters()) == 1 })
	if d := w.deadLetters()[0]; d.Reason != gateway.ReasonTries || !strings.Contains(d.Detail, "answered 401") {
		t.Errorf("dead letter %+v", d)
	}
	w.sums()
}

// The process dies around the call and around an answer of later, and is started
// again: every event is answered once and in its order, and comes to the bot under
// one id however often.
func TestKillBridge(t *testing.T) {
	t.Parallel()
	for _, step := range steps("bridge.") {
		for _, n := range []int{1, 5} {
			t.Run(fmt.Sprintf("%s/%d", step, n), func(t *testing.T) {
				t.Parallel()
				b := newHookBot(t)
				var answering sync.WaitGroup
				t.Cleanup(answering.Wait)
				if step == "bridge.answering" || step == "bridge.answered" {
					b.answer = func(w http.ResponseWriter, h *hooked) {
						w.WriteHeader(http.StatusAccepted)
						answering.Go(func() { b.later(h, b.echo(h)) })
					}
				}
				b.listen()
				w := newWorld(t, worldOptions{apps: b.app("ack_wait: 2s")})
				p := w.start(fmt.Sprintf("%s:%d", step, n))
				l := &load{w: w, convs: 3, each: 4}
				underLoad(t, l, 3*time.Minute, func(context.Context) {
					w.dies(p, step)
					w.start("")
					w.up()
				})
				w.quiet(2 * time.Minute)
				b.inOrder()
				for _, h := range b.requests() {
					if h.Try != 1 {
						t.Errorf("event %s came as try %d", h.Data.Event, h.Try)
					}
				}
				l.verify() // what was being sent at the death is unknown
			})
		}
	}
}
