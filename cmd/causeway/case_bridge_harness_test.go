package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hookBot is a bot behind a URL. It verifies and notes every request, and answers as
// answer says; by default it repeats what it is told.
type hookBot struct {
	t       *testing.T
	keys    gateway.WebhookKeys
	address string
	answer  func(w http.ResponseWriter, h *hooked)
	// respond stands in for answer where the request is needed as well.
	respond func(w http.ResponseWriter, r *http.Request, h *hooked)

	mu      sync.Mutex
	server  *http.Server
	seen    []*hooked
	running map[string]int // requests of a conversation at this moment
}

// hooked is one request that came.
type hooked struct {
	ID         string `json:"-"` // webhook-id
	Try        int    `json:"-"`
	ReplyURL   string
	ReplyToken string
	Data       gateway.Event
}

func newHookBot(t *testing.T) *hookBot {
	t.Helper()
	k, err := gateway.ParseWebhookKeys(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	b := &hookBot{t: t, keys: k, address: freePort(t), running: map[string]int{}}
	b.answer = func(w http.ResponseWriter, h *hooked) { _, _ = w.Write(b.echo(h)) }
	return b
}

// echo is the answer of a bot that repeats what it is told.
func (b *hookBot) echo(h *hooked) []byte {
	body, err := json.Marshal(map[string]any{"event": h.Data.Delivery, "verdict": "done", "replies": []any{map[string]string{"text": h.Data.Text}}})
	if err != nil {
		b.t.Error(err)
	}
	return body
}

// listen lets the bot come up at its address.
func (b *hookBot) listen() {
	b.t.Helper()
	l, err := net.Listen("tcp", b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	srv := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	b.mu.Lock()
	b.server = srv
	b.mu.Unlock()
	go func() { _ = srv.Serve(l) }()
	b.t.Cleanup(func() { _ = srv.Close() })
}

// app is the YAML of the application that the bot is the worker of. A gateway that
// stands still for a quarter of ack_wait may post an event twice, which tests that
// count requests do not want of a busy machine.
func (b *hookBot) app(more string) string {
	return fmt.Sprintf("  - {name: echo, url: \"http://%s/hook\", secret: %s, delays: [200ms], %s}\n", b.address, hookSecret, more)
}

// ServeHTTP takes one event.
func (b *hookBot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway died
	}
	if err := b.keys.Verify(r.Header.Get, body, time.Now()); err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	h := &hooked{ID: r.Header.Get("webhook-id")}
	if err := json.Unmarshal(body, h); err != nil {
		b.t.Errorf("not JSON: %v", err)
	}
	if h.Try, err = strconv.Atoi(r.Header.Get("Cw-Try")); err != nil || h.ID != strings.ReplaceAll(h.Data.Delivery, ".", "_") {
		b.t.Errorf("headers %v", r.Header)
	}
	b.begin(h)
	defer b.end(h)
	if b.respond != nil {
		b.respond(w, r, h)
		return
	}
	b.answer(w, h)
}

// of are the requests that came for an event.
func (b *hookBot) of(event string) []*hooked {
	return slices.DeleteFunc(b.requests(), func(h *hooked) bool { return h.Data.Event != event })
}

func (b *hookBot) begin(h *hooked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, h)
	if b.running[h.Data.Conv]++; b.running[h.Data.Conv] > 1 {
		b.t.Errorf("two requests of conversation %s at once", h.Data.Conv)
	}
}

func (b *hookBot) end(h *hooked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[h.Data.Conv]--
}

// requests are those that came, in their order.
func (b *hookBot) requests() []*hooked {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

// later answers by the other way, again and again until the gateway has it, as a
// bot does that keeps what it owes. It returns the last status.
func (b *hookBot) later(h *hooked, body []byte) (status int, said string) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); wait(b.t.Context(), 50*time.Millisecond) {
		if status, said = post(h.ReplyURL, h.ReplyToken, body); status != 0 && status != http.StatusServiceUnavailable {
			return status, said
		}
	}
	b.t.Errorf("an answer was never taken: %d %s", status, said)
	return status, said
}

// post posts an answer; 0 when nobody answered.
func post(url, token string, body []byte) (int, string) {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(said)
}

// inOrder: the events of each conversation came in the order of their seq, and each
// under one id, whatever was repeated.
func (b *hookBot) inOrder() {
	b.t.Helper()
	last, ids := map[string]int64{}, map[string]string{}
	for _, h := range b.requests() {
		if h.Data.Seq < last[h.Data.Conv] {
			b.t.Errorf("conversation %s: %d came after %d", h.Data.Conv, h.Data.Seq, last[h.Data.Conv])
		}
		last[h.Data.Conv] = h.Data.Seq
		if was, twice := ids[h.Data.Event]; twice && was != h.ID {
			b.t.Errorf("event %s came as %s and as %s", h.Data.Event, was, h.ID)
		}
		ids[h.Data.Event] = h.ID
	}
}
