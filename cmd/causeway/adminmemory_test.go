package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap/zaptest"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// memoryAPI is an admin.API over a few values in memory.
type memoryAPI struct {
	mu         sync.Mutex
	payloads   []gateway.Payload // newest first
	status     map[int64]store.PayloadStatus
	rejects    []gateway.Reject // newest first
	dead       []gateway.DeadLetter
	apps       []admin.ApplicationState
	brakes     []gateway.Brake
	unanswered []gateway.Unanswered
	conv       *gateway.Conversation
	messages   []gateway.Message
	attempts   []gateway.Attempt
	receipts   gateway.Receipts
	submitted  *gateway.Submission
	runs       map[string]admin.ReplayRequest
	report     admin.Report
	account    admin.Report
	kept       gateway.Sums
	recounted  gateway.Sums
	// What was asked for last.
	query    store.PayloadQuery
	deadQ    store.DeadQuery
	identity gateway.Identity
	deeds    []string
	// err is what every method returns when it is set.
	err error
}

func (m *memoryAPI) enter() error {
	m.mu.Lock()
	return m.err
}

func (m *memoryAPI) did(format string, args ...any) {
	m.deeds = append(m.deeds, fmt.Sprintf(format, args...))
}

func (m *memoryAPI) Accounts(context.Context) ([]admin.AccountView, error) {
	defer m.mu.Unlock()
	since := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	probe := since.Add(time.Minute)
	return []admin.AccountView{
		{Name: "shop-a", Platform: "whatsapp", State: gateway.AccountPaused, Reason: gateway.BlameCredential, Code: "190", Detail: "access token expired or not valid\x1b[1m",
			Since: &since, ProbeAt: &probe, Probes: 2, Waiting: 17, InFlight: 1, Pace: 1},
		{Name: "corp-a", Platform: "wecom", Kind: "app", State: gateway.AccountSlowed, Reason: gateway.BlamePace, Since: &since, Waiting: 3, InFlight: 4, Pace: 0.5},
		{Name: "alarm", Platform: "wecom", Kind: "robot", State: gateway.AccountHealthy, Pace: 1},
	}, m.enter()
}

func (m *memoryAPI) ResumeAccount(_ context.Context, name, by string) error {
	defer m.mu.Unlock()
	err := m.enter()
	m.did("account %s resumed by %s", name, by)
	return err
}

func (m *memoryAPI) PayloadStates(_ context.Context, pos []int64) (map[int64]gateway.PayloadState, error) {
	err := m.enter()
	defer m.mu.Unlock()
	out := map[int64]gateway.PayloadState{}
	for _, at := range pos {
		out[at] = m.status[at].State
	}
	return out, err
}

func (m *memoryAPI) Payloads(_ context.Context, q store.PayloadQuery) ([]gateway.Payload, int64, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.query = q
	var out []gateway.Payload
	var next int64
	for _, p := range m.payloads {
		if q.Endpoint != "" && p.Endpoint != q.Endpoint {
			continue
		}
		p.Body = nil
		if len(out) == q.Limit {
			next = out[len(out)-1].Pos
			break
		}
		out = append(out, p)
	}
	return out, next, err
}

func (m *memoryAPI) Payload(_ context.Context, ref admin.PayloadRef) (*gateway.Payload, store.PayloadStatus, error) {
	err := m.enter()
	defer m.mu.Unlock()
	for i := range m.payloads {
		if p := m.payloads[i]; p.ID == ref.ID || p.Pos == ref.Pos {
			return &p, m.status[p.Pos], err
		}
	}
	return nil, store.PayloadStatus{}, gateway.ErrNotFound
}

func (m *memoryAPI) Rejects(_ context.Context, _ int64, limit int) ([]gateway.Reject, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return m.rejects[:min(limit, len(m.rejects))], err
}

func (m *memoryAPI) Reject(_ context.Context, id int64) (*gateway.Reject, error) {
	err := m.enter()
	defer m.mu.Unlock()
	for i := range m.rejects {
		if m.rejects[i].ID == id {
			r := m.rejects[i]
			return &r, err
		}
	}
	return nil, gateway.ErrNotFound
}

// Readmit: a reject with the reason "wrong signature" still does not verify.
func (m *memoryAPI) Readmit(_ context.Context, id int64, by string) (string, error) {
	err := m.enter()
	defer m.mu.Unlock()
	for _, r := range m.rejects {
		if r.ID != id {
			continue
		}
		if r.Reason == "wrong signature" {
			return "", gateway.ErrUnverified
		}
		m.did("readmit %d by %s", id, by)
		return samplePayloadID, err
	}
	return "", gateway.ErrNotFound
}

func (m *memoryAPI) ReadmitAll(_ context.Context, endpoint, by string) (admin.Readmitted, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.did("readmit all of %q by %s", endpoint, by)
	return admin.Readmitted{Readmitted: 3, Refused: 1}, err
}

func (m *memoryAPI) Dead(_ context.Context, q store.DeadQuery) ([]gateway.DeadLetter, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.deadQ = q
	return m.dead, err
}

func (m *memoryAPI) find(id string) (*gateway.DeadLetter, error) {
	for i := range m.dead {
		if m.dead[i].ID == id {
			return &m.dead[i], m.err
		}
	}
	return nil, gateway.ErrNotFound
}

func (m *memoryAPI) DeadLetter(_ context.Context, id string) (*gateway.DeadLetter, error) {
	_ = m.enter()
	defer m.mu.Unlock()
	return m.find(id)
}

func (m *memoryAPI) move(id, by, state string) error {
	_ = m.enter()
	defer m.mu.Unlock()
	d, err := m.find(id)
	if err != nil {
		return err
	}
	if d.State != "open" {
		return gateway.ErrConflict
	}
	d.State = state
	m.did("%s %s by %s", state, id, by)
	return nil
}

func (m *memoryAPI) Requeue(_ context.Context, id, by string) error {
	return m.move(id, by, "requeued")
}

func (m *memoryAPI) Drop(_ context.Context, id, by, note string) error {
	return m.move(id, by+" because "+note, "dropped")
}

func (m *memoryAPI) DropAll(_ context.Context, q store.DeadQuery, by, note string) (gateway.DeadMoved, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.deadQ = q
	m.did("drop all by %s because %s", by, note)
	return gateway.DeadMoved{Moved: 2}, err
}

func (m *memoryAPI) DeadStats(_ context.Context, q store.DeadQuery) (gateway.DeadStats, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.deadQ = q
	oldest := sampleTime.Add(-time.Hour)
	return gateway.DeadStats{Total: 42,
		Reasons:  []gateway.DeadCount{{Name: "tries", Count: 40}, {Name: "no_account", Count: 2}},
		Kinds:    []gateway.DeadCount{{Name: "event", Count: 40}, {Name: "item", Count: 2}},
		Apps:     []gateway.DeadCount{{Name: "support", Count: 40}, {Name: "", Count: 2}},
		Accounts: []gateway.DeadCount{{Name: "shop-a", Count: 42}},
		Hours:    []gateway.DeadHour{{At: sampleTime, Count: 12}, {At: oldest, Count: 20}}, Earlier: 10}, err
}

func (m *memoryAPI) DeadPlan(_ context.Context, q store.DeadQuery) (gateway.DeadPlan, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.deadQ = q
	return gateway.DeadPlan{Letters: 42, Conversations: 23, Kinds: []gateway.DeadCount{{Name: "event", Count: 40}, {Name: "item", Count: 2}},
		Convs: []gateway.DeadConv{{Conv: sampleConv, Letters: 12, Waiting: 3}}}, err
}

func (m *memoryAPI) RequeueAll(_ context.Context, q store.DeadQuery, by string) (gateway.DeadMoved, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.deadQ = q
	m.did("requeue all by %s", by)
	return gateway.DeadMoved{Moved: 2, Skipped: 1}, err
}

func (m *memoryAPI) StartReplay(_ context.Context, r admin.ReplayRequest, by string) (admin.ReplayStarted, error) {
	err := m.enter()
	defer m.mu.Unlock()
	if r.Run == "" {
		r.Run = "run_01K2F0000000000000000000AA"
	}
	_, known := m.runs[r.Run]
	m.runs[r.Run] = r
	m.did("replay %s by %s", r.Run, by)
	return admin.ReplayStarted{Run: r.Run, Started: !known, Payloads: 12}, err
}

func (m *memoryAPI) ReleaseReplay(_ context.Context, run, by string) (int, error) {
	err := m.enter()
	defer m.mu.Unlock()
	if _, ok := m.runs[run]; !ok {
		return 0, gateway.ErrNotFound
	}
	m.did("release %s by %s", run, by)
	return 2, err
}

func (m *memoryAPI) Applications(context.Context) ([]admin.ApplicationState, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return m.apps, err
}

func (m *memoryAPI) Brakes(context.Context) ([]gateway.Brake, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return m.brakes, err
}

func (m *memoryAPI) SetBrake(_ context.Context, scope gateway.BrakeScope, name, by string, on bool) error {
	err := m.enter()
	defer m.mu.Unlock()
	verb := "resume"
	if on {
		verb = "pause"
	}
	for _, a := range m.apps {
		if scope != gateway.BrakeApp || a.Name == name {
			m.did("%s %s %s by %s", verb, scope, name, by)
			return err
		}
	}
	return gateway.ErrNotFound
}

// Tail tells one line of each sort, and then the gateway ends.
func (m *memoryAPI) Tail(f gateway.TailFilter) (admin.TailReader, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return &sampleTail{text: f.Text}, err
}

type sampleTail struct{ text, told bool }

func (s *sampleTail) Next(context.Context) ([]gateway.TailLine, error) {
	if s.told {
		return nil, io.EOF
	}
	s.told = true
	later := func(ms int) time.Time { return sampleTime.Add(time.Duration(ms) * time.Millisecond) }
	lines := []gateway.TailLine{
		{At: sampleTime, What: gateway.TailRelayed, Apps: []string{"support", "watch"}, Account: "shop-a", Conv: sampleConv, Kind: gateway.KindMessage, Seq: 7, State: "live", Text: "SECRET TEXT"},
		{At: later(12), What: gateway.TailSettled, Apps: []string{"support"}, Conv: sampleConv, Seq: 7, State: "pending", Reason: "retry", Tries: 1, Build: "1.4.2"},
		{At: later(1012), What: gateway.TailSettled, Apps: []string{"support"}, Conv: sampleConv, Seq: 7, State: "settled", Reason: "done", Tries: 2, Build: "1.4.2"},
		{At: later(1015), What: gateway.TailAttempted, Apps: []string{"support"}, Account: "shop-a", Conv: sampleConv, Message: sampleMessage, State: "accepted", Tries: 1, TookMS: 81},
		{At: later(2000), What: gateway.TailLate, Apps: []string{"watch"}, Conv: sampleConv},
		{At: later(3000), What: gateway.TailDead, Apps: []string{"watch"}, Conv: sampleConv, Seq: 7, State: "event", Reason: "trie\x1b", Tries: 4, Dead: sampleDead},
		{At: later(3000), What: gateway.TailMissed, Missed: 1200},
	}
	if !s.text {
		lines[0].Text = ""
	}
	return lines, nil
}

func (s *sampleTail) Close() {}

func (m *memoryAPI) Unanswered(context.Context, string, int64, int) ([]gateway.Unanswered, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return m.unanswered, err
}

func (m *memoryAPI) Conversations(_ context.Context, q store.ConversationQuery) ([]gateway.ListedConversation, int64, error) {
	err := m.enter()
	defer m.mu.Unlock()
	since := sampleTime.Add(-time.Minute)
	return []gateway.ListedConversation{{Conv: sampleConv, Platform: "whatsapp", Account: "shop-a", Chat: gateway.ChatSingle, Events: 120, Waiting: 3, Tries: 2,
		Since: &since, Last: &sampleTime, Why: "settled"}}, map[store.ConversationList]int64{store.ListHot: 0, store.ListWaiting: 17, store.ListUnanswered: 18}[q.List], err
}

func (m *memoryAPI) ConversationTexts(_ context.Context, c *gateway.Conversation) error {
	for i := range c.Events {
		c.Events[i].Text = "are you there?"
	}
	return nil
}

func (m *memoryAPI) Conversation(_ context.Context, conv string, _ int) (*gateway.Conversation, error) {
	err := m.enter()
	defer m.mu.Unlock()
	if m.conv == nil || m.conv.Conv != conv {
		return nil, gateway.ErrNotFound
	}
	return m.conv, err
}

func (m *memoryAPI) ReleaseConversation(_ context.Context, conv string, then gateway.Then, by string) (int, error) {
	err := m.enter()
	defer m.mu.Unlock()
	if conv != m.conv.Conv {
		return 0, gateway.ErrNotFound
	}
	m.did("release %s %s by %s", conv, then, by)
	return 3, err
}

func (m *memoryAPI) FindConversation(_ context.Context, _, _ string, id gateway.Identity) (string, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.identity = id
	for _, known := range m.conv.Identities {
		if known.Kind == id.Kind && known.Value == id.Value {
			return m.conv.Conv, err
		}
	}
	return "", gateway.ErrNotFound
}

func (m *memoryAPI) DoctorAccount(_ context.Context, name string) (admin.Report, error) {
	err := m.enter()
	defer m.mu.Unlock()
	if name != "shop-a" {
		return admin.Report{}, gateway.ErrNotFound
	}
	return m.account, err
}

func (m *memoryAPI) Doctor(context.Context) (admin.Report, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return m.report, err
}

func (m *memoryAPI) KeptSums(context.Context) (gateway.Sums, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return m.kept, err
}

func (m *memoryAPI) RecountedSums(context.Context) (gateway.Sums, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return m.recounted, err
}

func (m *memoryAPI) Counters(context.Context) (map[string]int64, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return map[string]int64{"late": 3, "bad_answer": 0, "out_of_order": 1}, err
}

func (m *memoryAPI) RecordAudit(_ context.Context, e gateway.AuditEntry) error {
	err := m.enter()
	defer m.mu.Unlock()
	m.did("audit %s %s by %s", e.What, e.Target, e.By)
	return err
}

func (m *memoryAPI) Adopt(_ context.Context, by string) error {
	err := m.enter()
	defer m.mu.Unlock()
	m.did("adopt by %s", by)
	return err
}

func (m *memoryAPI) AuditLog(context.Context, int) ([]gateway.AuditEntry, error) {
	err := m.enter()
	defer m.mu.Unlock()
	return nil, err
}

// Tokens of the gateway under test, one for each role.
const (
	viewerToken   = "viewer-token-0000000000"
	operatorToken = "operator-token-00000000"
	adminRights   = "admin-token-00000000000"
)

// gatewayUnderTest serves the real admin router over api.
func gatewayUnderTest(t *testing.T, api admin.API) *httptest.Server {
	t.Helper()
	tokens := []admin.Token{
		{Name: "look", Role: admin.RoleViewer, Hash: admin.HashToken(viewerToken)},
		{Name: "ops", Role: admin.RoleOperator, Hash: admin.HashToken(operatorToken)},
		{Name: "root", Role: admin.RoleAdmin, Hash: admin.HashToken(adminRights)},
	}
	s := httptest.NewServer(admin.NewRouter(admin.Options{
		Tokens:   func() []admin.Token { return tokens },
		Gatherer: prometheus.NewRegistry(),
		Ready:    func(context.Context) admin.Readiness { return admin.Readiness{OK: true} },
		API:      api,
		Log:      zaptest.NewLogger(t),
		Now:      func() time.Time { return sampleTime },
	}))
	t.Cleanup(s.Close)
	return s
}

// ran is what a command line did.
type ran struct {
	code     int
	out, err string
}

// runCommand runs one command line. The operator commands are put below the root
// where it does not have them.
func runCommand(t *testing.T, args ...string) ran {
	t.Helper()
	return runCommandIn(t.Context(), args...)
}

func runCommandIn(ctx context.Context, args ...string) ran {
	var out, errs bytes.Buffer
	c := &cli{stdio: stdio{in: strings.NewReader(""), out: &out, err: &errs}}
	root := c.root()
	for _, cmd := range []*cobra.Command{
		c.appsCommand(), c.accountsCommand(), c.pauseCommand(), c.resumeCommand(), c.archiveCommand(), c.rejectsCommand(), c.replayCommand(),
		c.deadCommand(), c.messagesCommand(), c.convCommand(), c.sumsCommand(), c.doctorCommand(), c.adoptCommand(),
	} {
		if !slices.ContainsFunc(root.Commands(), func(have *cobra.Command) bool { return have.Name() == cmd.Name() }) {
			root.AddCommand(cmd)
		}
	}
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ran{exitOK, out.String(), errs.String()}
	}
	var e *exitError
	if !errors.As(err, &e) {
		return ran{exitUsage, out.String(), err.Error()}
	}
	return ran{e.code, out.String(), errs.String() + err.Error()}
}
