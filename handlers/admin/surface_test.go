package admin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

const (
	viewer   = "viewer-LEAKMARK-0123456789"
	operator = "operator-LEAKMARK-0123456789"
	root     = "admin-LEAKMARK-0123456789"

	payloadID = "pl_01JDRX5S3V8P9A6K2M4N7Q0T1W"
	deadID    = "dl_01JDRX5S3V8P9A6K2M4N7Q0T1W"
	messageID = "ms_01JDRX5S3V8P9A6K2M4N7Q0T1W"
	conv      = "abcdefghijklmnopqrstuvwx23"
)

// api answers from memory and writes down what it was asked.
type api struct {
	mu     sync.Mutex
	calls  []string
	fail   error
	panics bool
	// What was submitted last; known is what is said about it.
	submitted *gateway.Submission
	known     bool
	query     store.MessageQuery // asked for last
	change    admin.ChangeRequest
}

func (a *api) called(format string, args ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
	if a.panics {
		panic("LEAKMARK")
	}
	return a.fail
}

// taken returns the calls since the last time.
func (a *api) taken() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := strings.Join(a.calls, "; ")
	a.calls = nil
	return out
}

func at(hour int) time.Time { return time.Date(2026, 11, 29, hour, 0, 0, 0, time.UTC) }

func samplePayload() gateway.Payload {
	return gateway.Payload{
		Pos: 7, ID: payloadID, Platform: "wecom", Endpoint: "corp", ReceivedAt: at(1),
		RequestLine: "POST /webhooks/wecom/corp?msg_signature=LEAKMARK&LEAKMARK&nonce=LEAKMARK HTTP/1.1",
		Header:      http.Header{"Content-Type": {"text/xml"}}, Body: []byte("<xml>LEAKMARK</xml>"), KeyFP: "abc",
	}
}

func (a *api) Payloads(_ context.Context, q store.PayloadQuery) ([]gateway.Payload, int64, error) {
	p := samplePayload()
	p.Body = nil
	return []gateway.Payload{p}, p.Pos, a.called("payloads %d %s %s %q %d", q.Before, stamp(q.Since), stamp(q.Until), q.Endpoint, q.Limit)
}

func (a *api) PayloadStates(_ context.Context, pos []int64) (map[int64]gateway.PayloadState, error) {
	return map[int64]gateway.PayloadState{pos[0]: gateway.PayloadRelayed}, nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("15:04")
}

func (a *api) Payload(_ context.Context, ref admin.PayloadRef) (*gateway.Payload, store.PayloadStatus, error) {
	p := samplePayload()
	return &p, store.PayloadStatus{State: gateway.PayloadRelayed, Items: []store.ItemStatus{{Index: 0, State: gateway.ItemEvent, Event: "ev_x", Conv: conv, Seq: 3}}},
		a.called("payload %d %s", ref.Pos, ref.ID)
}

func (a *api) Rejects(_ context.Context, before int64, limit int) ([]gateway.Reject, error) {
	return []gateway.Reject{{ID: 5, At: at(1), Reason: "not verified", Payload: samplePayload()}}, a.called("rejects %d %d", before, limit)
}

func (a *api) Reject(_ context.Context, id int64) (*gateway.Reject, error) {
	return &gateway.Reject{ID: id, Payload: samplePayload()}, a.called("reject %d", id)
}

func (a *api) Readmit(_ context.Context, id int64, by string) (string, error) {
	return payloadID, a.called("readmit %d by %s", id, by)
}

func (a *api) ReadmitAll(_ context.Context, endpoint, by string) (admin.Readmitted, error) {
	return admin.Readmitted{Readmitted: 2}, a.called("readmit all %q by %s", endpoint, by)
}

func (a *api) Dead(_ context.Context, q store.DeadQuery) ([]gateway.DeadLetter, error) {
	return nil, a.called("dead %s", asked(q))
}

func (a *api) DeadLetter(_ context.Context, id string) (*gateway.DeadLetter, error) {
	return &gateway.DeadLetter{ID: id}, a.called("dead letter %s", id)
}

func (a *api) Requeue(_ context.Context, id, by string) error {
	return a.called("requeue %s by %s", id, by)
}
func (a *api) Drop(_ context.Context, id, by, note string) error {
	return a.called("drop %s by %s because %q", id, by, note)
}

// asked is a query of dead letters with what is set in it.
func asked(q store.DeadQuery) string {
	return fmt.Sprintf("%q %q %q %q %q %q %q %s %s %q %d", q.App, q.Account, q.Platform, q.Conv, q.Kind, q.State, q.Reason, stamp(q.Since), stamp(q.Until), q.Before, q.Limit)
}

func (a *api) DeadStats(_ context.Context, q store.DeadQuery) (gateway.DeadStats, error) {
	return gateway.DeadStats{}, a.called("dead stats %s", asked(q))
}

func (a *api) DeadPlan(_ context.Context, q store.DeadQuery) (gateway.DeadPlan, error) {
	return gateway.DeadPlan{}, a.called("dead plan %s", asked(q))
}

func (a *api) RequeueAll(_ context.Context, q store.DeadQuery, by string) (gateway.DeadMoved, error) {
	return gateway.DeadMoved{Moved: 1}, a.called("requeue all %s by %s", asked(q), by)
}

func (a *api) DropAll(_ context.Context, q store.DeadQuery, by, note string) (gateway.DeadMoved, error) {
	return gateway.DeadMoved{Moved: 1}, a.called("drop all %s by %s because %q", asked(q), by, note)
}

func (a *api) StartReplay(_ context.Context, r admin.ReplayRequest, by string) (admin.ReplayStarted, error) {
	return admin.ReplayStarted{Run: "run_1", Started: true}, a.called("replay %q %q %q %v %q %v by %s", r.Run, r.Payload, r.Conv, r.Sealed, r.Endpoint, r.SendReplies, by)
}

func (a *api) ReleaseReplay(_ context.Context, run, by string) (int, error) {
	return 4, a.called("release %s by %s", run, by)
}

func (a *api) Applications(context.Context) ([]admin.ApplicationState, error) {
	return []admin.ApplicationState{{Name: "bot"}}, a.called("apps")
}

func (a *api) Brakes(context.Context) ([]gateway.Brake, error) {
	return []gateway.Brake{{Scope: gateway.BrakeReplies, Name: gateway.BrakeAll, At: at(3), By: "ops"}}, a.called("brakes")
}

func (a *api) SetBrake(_ context.Context, scope gateway.BrakeScope, name, by string, on bool) error {
	return a.called("brake %s %s %v by %s", scope, name, on, by)
}

func (a *api) Unanswered(_ context.Context, app string, before int64, limit int) ([]gateway.Unanswered, error) {
	return []gateway.Unanswered{{N: 9, App: "bot", Conv: conv}}, a.called("unanswered %q %d %d", app, before, limit)
}

func (a *api) Conversations(_ context.Context, q store.ConversationQuery) ([]gateway.ListedConversation, int64, error) {
	return nil, 7, a.called("conversations %s %q %q %d %d", q.List, q.App, q.Account, q.After, q.Limit)
}

func (a *api) Conversation(_ context.Context, conv string, limit int) (*gateway.Conversation, error) {
	return &gateway.Conversation{Conv: conv}, a.called("conversation %s %d", conv, limit)
}

func (a *api) ConversationTexts(_ context.Context, c *gateway.Conversation) error {
	c.Events = append(c.Events, gateway.ConversationEvent{Event: "ev_x", Text: "hello"})
	return a.called("texts of %s", c.Conv)
}

func (a *api) ReleaseConversation(_ context.Context, conv string, then gateway.Then, by string) (int, error) {
	return 2, a.called("release %s then %q by %s", conv, then, by)
}

func (a *api) FindConversation(_ context.Context, platform, account string, id gateway.Identity) (string, error) {
	return conv, a.called("find %s %s %s %s", platform, account, id.Kind, id.Value)
}

func (a *api) FindMessages(_ context.Context, q store.MessageQuery) (store.MessagePage, error) {
	a.query = q
	return store.MessagePage{Messages: []gateway.Message{{ID: "ms_1", Reply: gateway.Reply{Text: "LEAKMARK"}, To: []gateway.Identity{{Value: "LEAKMARK"}}}}, Next: "7"},
		a.called("messages %s %d", q.State, q.Limit)
}

func (a *api) ChangeMessages(_ context.Context, r admin.ChangeRequest, by string) (admin.Changed, error) {
	a.change = r
	return admin.Changed{Matched: 3, Changed: 2, Skipped: 1, Sample: []gateway.Message{{ID: "ms_1", Reply: gateway.Reply{Text: "LEAKMARK"}}}},
		a.called("%s by %s", r.Do, by)
}

func (a *api) ResolveMessage(_ context.Context, r store.Resolve, by string) error {
	return a.called("resolve %s again %v rest %v by %s", r.Message, r.Again, r.Rest, by)
}

func (a *api) Submit(_ context.Context, s *gateway.Submission) (gateway.Submitted, error) {
	a.mu.Lock()
	a.submitted = s
	a.mu.Unlock()
	return gateway.Submitted{ID: messageID, Conv: conv, Account: "shop", State: gateway.MessageWaiting, Messages: []string{messageID}, Known: a.known}, a.called("submit %d to %s%v of %s by %s", len(s.Replies), s.Conv, s.Chat.Identities, s.Account, s.By)
}

func (a *api) Message(_ context.Context, id string) (*gateway.Message, []gateway.Attempt, error) {
	return &gateway.Message{ID: id, Reply: gateway.Reply{Text: "LEAKMARK"}, To: []gateway.Identity{{Value: "LEAKMARK"}}},
		[]gateway.Attempt{{N: 1, StartedAt: at(1)}, {N: 2, StartedAt: at(2), EndedAt: at(3), Outcome: &gateway.Outcome{Kind: gateway.OutcomeRetry, Code: "busy"}}}, a.called("message %s", id)
}

func (a *api) Receipts(context.Context, string) (gateway.Receipts, error) {
	return gateway.Receipts{Statuses: []gateway.SeenStatus{{State: gateway.StatusSent, At: at(4)}},
		Members: []gateway.MemberReceipt{{Member: gateway.Identity{Kind: "phone", Value: "1"}, Delivery: gateway.StatusRead, At: at(5)}}}, nil
}

func (a *api) CancelMessage(_ context.Context, id, by string) (gateway.MessageState, error) {
	return gateway.MessageCancelled, a.called("cancel %s by %s", id, by)
}

func (a *api) DoctorAccount(_ context.Context, name string) (admin.Report, error) {
	return admin.Report{OK: true}, a.called("doctor of %s", name)
}

func (a *api) Accounts(context.Context) ([]admin.AccountView, error) {
	return []admin.AccountView{{Name: "shop-a", State: gateway.AccountPaused}}, a.called("accounts")
}

func (a *api) ResumeAccount(_ context.Context, name, by string) error {
	return a.called("resume account %s by %s", name, by)
}

func (a *api) Doctor(context.Context) (admin.Report, error) {
	return admin.Report{OK: true}, a.called("doctor")
}

func (a *api) KeptSums(context.Context) (gateway.Sums, error) {
	var s gateway.Sums
	s.Payloads.Archived, s.Apps = 3, map[string]gateway.AppSums{"bot": {Wanted: 2, Settled: 2}}
	return s, a.called("kept")
}

func (a *api) RecountedSums(context.Context) (gateway.Sums, error) {
	return gateway.Sums{}, a.called("recounted")
}

func (a *api) Counters(context.Context) (map[string]int64, error) {
	return map[string]int64{"late": 1}, a.called("counters")
}

func (a *api) RecordAudit(_ context.Context, e gateway.AuditEntry) error {
	return a.called("audit %s %s by %s", e.What, e.Target, e.By)
}

func (a *api) AuditLog(_ context.Context, limit int) ([]gateway.AuditEntry, error) {
	return nil, a.called("audit log %d", limit)
}

func (a *api) Adopt(_ context.Context, by string) error { return a.called("adopt by %s", by) }

// surface is the router over real HTTP.
type surface struct {
	*api
	url     string
	handler http.Handler
	tokens  []admin.Token
	ready   bool
	logs    *observer.ObservedLogs
}

func open(t *testing.T) *surface {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	s := &surface{api: &api{known: true}, logs: logs, ready: true, tokens: []admin.Token{
		{Name: "anna", Role: admin.RoleViewer, Hash: admin.HashToken(viewer)},
		{Name: "otto", Role: admin.RoleOperator, Hash: admin.HashToken(operator)},
		{Name: "ada", Role: admin.RoleAdmin, Hash: admin.HashToken(root)},
		{Name: "odd", Role: "owner", Hash: admin.HashToken("role-that-does-not-exist")},
	}}
	registry := prometheus.NewRegistry()
	seen := prometheus.NewCounter(prometheus.CounterOpts{Name: "causeway_sample_total", Help: "A sample."})
	registry.MustRegister(seen) //nolint:forbidigo // a method of this test's registry
	s.handler = admin.NewRouter(admin.Options{
		Tokens: func() []admin.Token { return s.tokens }, Gatherer: registry, API: s.api, Schemas: handlers.Schemas{"event.json": []byte(`{"title":"Event"}`)}, Log: zap.New(core), Now: func() time.Time { return at(12) },
		Ready: func(context.Context) admin.Readiness {
			return admin.Readiness{OK: s.ready, Components: []admin.Component{{Name: "nats", State: "degraded"}}}
		},
	})
	srv := httptest.NewServer(s.handler)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// send makes a request; target is method and path.
func (s *surface) send(t *testing.T, token, target, body string) (int, http.Header, string) {
	t.Helper()
	method, path, _ := strings.Cut(target, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}
