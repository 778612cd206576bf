package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// The made-up corp of the shared samples.
const (
	testCorp     = "wwtestcorp00000001"
	testAgent    = 1000002
	testApproval = 3010040 // the approval app of the same corp
	testWCSecret = "wecom-app-secret-000000000000000000000000"
	testWCToken  = "CausewayTestToken"
	testWCKey    = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
)

// Applications of the cases.
const (
	appByWorker = "  - {name: echo, ack_wait: 5s, tries: 4, delays: [200ms]}\n"
	appEcho     = "" // the world's default, a bot inside the gateway
)

// begin skips the case in short runs and lets it run beside others.
func begin(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a whole gateway")
	}
	t.Parallel()
}

// newCase starts a world that serves, without statuses from the platform: cases
// that want them remove the fault.
func newCase(t *testing.T, o worldOptions) *world {
	t.Helper()
	w := newWorld(t, o)
	w.fault(sandbox.Fault{Name: "no statuses", Stage: sandbox.After, NoStatuses: true})
	w.start("")
	w.up()
	return w
}

// newWeComCase is newCase with an app of WeCom beside.
func newWeComCase(t *testing.T, o worldOptions) (*world, *wecomtest.Sandbox) {
	t.Helper()
	wc, err := wecomtest.New(wecomtest.Options{CorpID: testCorp, AgentID: testAgent, Secret: testWCSecret,
		Token: testWCToken, EncodingAESKey: testWCKey})
	if err != nil {
		t.Fatal(err)
	}
	if err := wc.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wc.Close() })
	o.endpoints += fmt.Sprintf("  - {name: corp, platform: wecom, kind: app, receive_ids: [%s], token: %s, encoding_aes_key: %s}\n",
		testCorp, testWCToken, testWCKey)
	for name, agent := range map[string]int{"corp-a": testAgent, "approvals": testApproval} {
		o.accounts += fmt.Sprintf("  - {name: %s, platform: wecom, kind: app, corp_id: %s, agent_id: %d, secret: %s, api_base: %q}\n",
			name, testCorp, agent, testWCSecret, wc.URL())
	}
	w := newCase(t, o)
	wc.SetCallbackURL(strings.Replace(w.url, "/whatsapp/meta", "/wecom/corp", 1))
	return w, wc
}

func (w *world) fault(f sandbox.Fault) {
	w.t.Helper()
	if _, err := w.wa.Faults().Add(f); err != nil {
		w.t.Fatal(err)
	}
}

// taken posts a callback and wants 200 at once.
func (w *world) taken(body []byte) {
	w.t.Helper()
	if status, err := w.wa.Post(w.t.Context(), body); err != nil || status != http.StatusOK {
		w.t.Fatalf("a callback was answered %d (%v), want 200", status, err)
	}
}

// says lets a customer write and wants 200.
func (w *world) says(customer, text string) {
	w.t.Helper()
	_, body := w.wa.CustomerBody(customer, text)
	w.taken(body)
}

// sample reads a callback that packages share.
func (w *world) sample(parts ...string) []byte {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "testdata"}, parts...)...)) //nolint:gosec // a test's own files
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// sums are the gateway's own counts.
func (w *world) sums() gateway.Sums {
	w.t.Helper()
	var s struct {
		Kept gateway.Sums `json:"kept"`
	}
	if err := w.get("/api/v1/sums", &s); err != nil {
		w.t.Fatal(err)
	}
	if b := s.Kept.Broken(); len(b) > 0 {
		w.t.Errorf("equations do not hold: %v", b)
	}
	return s.Kept
}

func (w *world) counter(name string) int64 {
	w.t.Helper()
	var s struct {
		Counters map[string]int64 `json:"counters"`
	}
	if err := w.get("/api/v1/sums", &s); err != nil {
		w.t.Fatal(err)
	}
	return s.Counters[name]
}

// conversation finds and reads one by the customer's number or userid; it waits
// until there is one.
func (w *world) conversation(platform, account, kind, identity string) *gateway.Conversation {
	w.t.Helper()
	var found struct{ Conv string }
	q := url.Values{"platform": {platform}, "account": {account}, "kind": {kind}, "identity": {identity}}
	w.until(20*time.Second, "the conversation is known", func() bool {
		return w.get("/api/v1/conversations:find?"+q.Encode(), &found) == nil
	})
	var c gateway.Conversation
	if err := w.get("/api/v1/conversations/"+found.Conv+"?limit=1000", &c); err != nil {
		w.t.Fatal(err)
	}
	return &c
}

func (w *world) customerConv(number string) *gateway.Conversation {
	w.t.Helper()
	return w.conversation("whatsapp", "shop-a", "phone", number)
}

// deadLetters lists the open ones.
func (w *world) deadLetters() []gateway.DeadLetter {
	w.t.Helper()
	var out struct{ Dead []gateway.DeadLetter }
	if err := w.get("/api/v1/dead?limit=1000", &out); err != nil {
		w.t.Fatal(err)
	}
	return out.Dead
}

// calls are the sends to a customer that the platform saw, by their start.
func (w *world) calls(to string) []sandbox.Call { return callsTo(w.wa.Calls(), to) }

func callsTo(all []sandbox.Call, to string) []sandbox.Call {
	all = slices.DeleteFunc(all, func(c sandbox.Call) bool { return to != "" && c.To != to })
	slices.SortStableFunc(all, func(a, b sandbox.Call) int { return a.Start.Compare(b.Start) })
	return all
}

func texts(calls []sandbox.Call) []string {
	out := make([]string, 0, len(calls))
	for i := range calls {
		out = append(out, calls[i].Text)
	}
	return out
}

func accepted(calls []sandbox.Call) []sandbox.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c sandbox.Call) bool { return !c.Accepted })
}

// oncePerMessage: no message was taken twice and no two sends to one customer
// overlapped.
func (w *world) oncePerMessage() {
	w.t.Helper()
	for marker, n := range w.wa.CallLog().Accepted() {
		if n > 1 {
			w.t.Errorf("message %s was taken %d times", marker, n)
		}
	}
	if o := w.wa.CallLog().Overlaps(); len(o) > 0 {
		w.t.Errorf("%d sends to one customer overlap, first %+v", len(o), o[0])
	}
}

// observer reads the copies of all events as a user without an application does.
type observer struct {
	mu     sync.Mutex
	events []observed
}

type observed struct {
	Subject string
	gateway.Event
}

// observe attaches an observer; it sees what is published from now on.
func (w *world) observe() *observer {
	w.t.Helper()
	brokerUp(w.t, w.nats)
	nc, err := stream.Outside{URL: "nats://" + w.nats, User: "bot", Password: "bot-password"}.Dial()
	if err != nil {
		w.t.Fatal(err)
	}
	sub, err := nc.SubscribeSync("cw.event.>")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(sub.SetPendingLimits(-1, -1), nc.Flush()); err != nil {
		w.t.Fatal(err)
	}
	o, done := &observer{}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		for {
			m, err := sub.NextMsgWithContext(ctx)
			if err != nil {
				return
			}
			ev := observed{Subject: m.Subject}
			if err := json.Unmarshal(m.Data, &ev.Event); err != nil {
				w.t.Errorf("an event is not the JSON of one: %v", err)
			}
			o.mu.Lock()
			o.events = append(o.events, ev)
			o.mu.Unlock()
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done; nc.Close() })
	return o
}

// list are the events seen so far, in the order of publishing.
func (o *observer) list() []observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.events)
}

// sees waits until every event in the ledger was published, and wants n of them.
func (w *world) sees(o *observer, n int) []observed {
	w.t.Helper()
	var list []observed
	w.until(30*time.Second, "an observer has every event", func() bool {
		list = slices.DeleteFunc(o.list(), func(ev observed) bool { return ev.Kind == gateway.KindNotice && ev.Type == "media" }) // ours
		s := w.sums()
		return s.Payloads.Pending == 0 && int64(len(list)) >= s.Items.Events
	})
	if len(list) != n {
		w.t.Errorf("an observer saw %d events, want %d", len(list), n)
	}
	return list
}

// said is all that the gateway's processes wrote so far.
func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logs.String()
}

// raw makes a request of the admin listener and returns status and body, 0 when
// there was no answer; path goes out as it is.
func (w *world) raw(method, path, token string, body []byte) (int, string) {
	w.t.Helper()
	bare, query, _ := strings.Cut(path, "?")
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.api, bytes.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return 0, ""
	}
	req.URL.Opaque, req.URL.RawQuery = bare, query
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Error(err)
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Error(err)
	}
	return resp.StatusCode, string(b)
}

// secondNumber is a sandbox of another number of the same Meta app, with the
// YAML of its account.
func secondNumber(t *testing.T, number, display string) (*whatsapptest.Sandbox, string) {
	t.Helper()
	s, err := whatsapptest.New(whatsapptest.Options{AppSecret: testSecret, AccessToken: "access-token-2",
		PhoneNumberID: number, WABAID: "900000000000001", DisplayNumber: display, Sent: -1, Delivered: -1, Read: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, fmt.Sprintf("  - {name: shop-b, platform: whatsapp, phone_number_id: %q, access_token: access-token-2, api_base: %q}\n", number, s.URL())
}
