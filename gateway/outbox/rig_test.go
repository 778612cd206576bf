package outbox_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/outbox"
	"github.com/causewayhq/causeway/store/sqlite"
)

// rig is a real ledger with a sender and a judge over it, in virtual time. The
// platform is a function that says what becomes of each call.
type rig struct {
	t      *testing.T
	store  *sqlite.Store
	sender *outbox.Sender
	judge  *outbox.Judge
	conv   string

	mu    sync.Mutex
	calls []call
	say   func(n int, m *gateway.Message) gateway.Outcome
	takes time.Duration
	voids func(time.Time) // told until when a call may be written
	next  int64
	ids   atomic.Int64

	retry  gateway.Retry
	limits map[string][]gateway.Limit
	keyFP  string
	probe  func() string
	log    *zap.Logger

	account string          // of the events that are made; "" for "shop"
	shares  []string        // accounts that share something
	merged  []gateway.Merge // as the sender tells
	looks   atomic.Int64    // how often the sender asked for a conversation's head
	stop    func()          // ends sender and judge
	begins  atomic.Int64    // attempts that were stored by themselves
	fails   atomic.Int64    // so many ends of attempts are not stored
	halted  atomic.Bool     // nothing leaves
	unknown gateway.OnUnknown
	unread  atomic.Pointer[time.Time] // when the oldest came of what was not read; nil for none

	concurrency int          // of the sender; 0 for its own
	skew        atomic.Int64 // how far the clock of sender and judge was set, in nanoseconds
}

// now is the time by the clock of sender and judge.
func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.skew.Load())) }

// NextMessage counts the sender's looks.
func (l looked) NextMessage(ctx context.Context, conv string) (*gateway.Message, *gateway.Attempt, error) {
	l.r.looks.Add(1)
	return l.Ledger.NextMessage(ctx, conv)
}

type looked struct {
	*sqlite.Ledger
	r *rig
}

type call struct {
	at      time.Duration
	message string
	text    string
	attempt int
}

func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, store: s, probe: func() string { return "" }, log: zap.NewNop(),
			retry: gateway.Retry{Tries: 100, First: time.Second, Factor: 2, Jitter: 0.2, MaxAge: time.Hour}}
		r.say = func(int, *gateway.Message) gateway.Outcome {
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		}
		t.Cleanup(func() {
			r.stop()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		r.start(begin)
		f(t, r)
	})
}

// start runs sender and judge until the test ends, or stop.
func (r *rig) start(begin time.Time) {
	r.sender = outbox.NewSender(outbox.SenderOptions{
		Ledger: looked{r.store.Ledger, r}, Queue: r.store.Ledger, Concurrency: r.concurrency, Accounts: r.store.Ledger, Retry: func(string) gateway.Retry { return r.retry },
		Limits: func(account string) []gateway.Limit { return r.limits[account] }, Paced: slices.Sorted(maps.Keys(r.limits)), KeyFP: func(string) string { return r.keyFP },
		Probe:       func(context.Context, string, string) string { return r.probe() },
		UnknownWait: func(string, string) time.Duration { return 60 * time.Second },
		OnUnknown:   func(string) gateway.OnUnknown { return r.unknown },
		Unread: func(context.Context) (time.Time, error) {
			if at := r.unread.Load(); at != nil {
				return *at, nil
			}
			return time.Time{}, nil
		},
		Client: func(string, string) outbox.Client { return client{r, begin} },
		NewID:  func() string { return fmt.Sprintf("at_%026d", r.ids.Add(1)) },
		Changed: func() {
			if r.judge != nil {
				r.judge.Kick()
			}
		},
		Stopped:     func(*gateway.Message) bool { return r.halted.Load() },
		Shares:      func(string, gateway.Share) []string { return r.shares },
		Merged:      func(m []gateway.Merge) { r.merged = append(r.merged, m...) },
		CallTimeout: 15 * time.Second, Now: r.now, Log: r.log,
	})
	r.judge = outbox.NewJudge(outbox.JudgeOptions{Ledger: r.store.Ledger, Wake: r.sender.Wake, Changed: func() {}, Now: r.now, Log: zap.NewNop(),
		Takeover: func(string, string) gateway.Takeover { return gateway.Takeover{} }})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	sender, judge := r.sender, r.judge
	wg.Go(func() { _ = sender.Run(ctx) })
	wg.Go(func() { _ = judge.Run(ctx) })
	r.stop = func() {
		cancel()
		wg.Wait()
	}
}

type client struct {
	r     *rig
	begin time.Time
}

// plays changes the platform while the sender runs.
func (r *rig) plays(takes time.Duration, say func(int, *gateway.Message) gateway.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say, r.takes = say, takes
}

// Send is the platform.
func (c client) Send(_ context.Context, out gateway.Outgoing) gateway.Outcome {
	c.r.mu.Lock()
	m := out.Message
	c.r.calls = append(c.r.calls, call{time.Since(c.begin).Round(time.Millisecond), m.ID, m.Reply.Text, m.Attempts})
	n := len(c.r.calls)
	if c.r.voids != nil {
		c.r.voids(out.VoidAfter)
	}
	say, takes := c.r.say, c.r.takes
	c.r.mu.Unlock()
	time.Sleep(takes)
	o := say(n, &m)
	if o.Kind == gateway.OutcomeAccepted && o.ExternalID == "" {
		o.ExternalID = fmt.Sprintf("ext-%d", n)
	}
	return o
}

// answered lets a customer write and a worker answer with texts.
func (r *rig) answered(customer string, texts ...string) {
	r.t.Helper()
	var replies []gateway.Reply
	for _, t := range texts {
		replies = append(replies, gateway.Reply{Type: "text", Text: t})
	}
	r.replied(customer, replies...)
}

// replied lets a worker answer with replies of any kind.
func (r *rig) replied(customer string, replies ...gateway.Reply) {
	r.t.Helper()
	r.next++
	e := r.event(gateway.KindMessage, customer, fmt.Sprintf("m%d", r.next))
	e.Wanted = []string{"bot"}
	res := r.relay(e)
	r.conv = res.Pending[0].Conv
	app := gateway.Application{Name: "bot", Tries: 1, Replies: true}
	_, err := r.store.Ledger.Settle(r.t.Context(), gateway.ReplyPosition{Created: time.Unix(1, 0), Seq: uint64(r.next)},
		[]gateway.Settlement{{App: "bot", Conv: r.conv, Answer: gateway.Answer{Event: res.Pending[0].Event, Verdict: gateway.VerdictDone, Replies: replies}}},
		func(p *gateway.Pending, a *gateway.Answer) gateway.Decision {
			return gateway.Decide(&app, p, a, time.Now())
		}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	r.sender.Wake(r.conv)
}

func (r *rig) event(kind gateway.Kind, customer, key string) gateway.ItemRow {
	it := gateway.Item{AccountID: "1", Kind: kind, Key: key}
	return gateway.ItemRow{State: gateway.ItemEvent, Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: customer}}},
		Event: gateway.EventRow{ID: gateway.EventID("whatsapp", &it), Platform: "whatsapp", Account: cmp.Or(r.account, "shop"), Chat: gateway.ChatSingle, Kind: kind,
			Origin: gateway.OriginLive, ReceivedAt: time.Now(), Content: []byte(`{"type":"text"}`)}}
}

func (r *rig) relay(items ...gateway.ItemRow) gateway.RelayResult {
	r.t.Helper()
	p := &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: []byte("{}")}
	if err := r.store.Archive.Append(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
	for i := range items {
		items[i].Index = i
	}
	res, err := r.store.Ledger.Relay(r.t.Context(), &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: p.Pos, Platform: "whatsapp",
		Endpoint: "meta", ReceivedAt: p.ReceivedAt, Items: items, Last: true}}}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// status lets the platform tell of a message.
func (r *rig) status(customer, marker, external string, state gateway.StatusState) {
	r.t.Helper()
	r.next++
	e := r.event(gateway.KindStatus, customer, fmt.Sprintf("s%d", r.next))
	e.Status = &gateway.Status{MessageID: external, Marker: marker, State: state}
	r.relay(e)
	r.judge.Kick()
}

func (r *rig) settle() { synctest.Wait() }

func (r *rig) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, c := range r.calls {
		out = append(out, c.text)
	}
	return out
}

// left compares with what was sent so far, when all is quiet.
func (r *rig) left(when string, want ...string) {
	r.t.Helper()
	r.settle()
	if got := r.texts(); !slices.Equal(got, want) {
		r.t.Fatalf("%s: %v, want %v", when, got, want)
	}
}

func (r *rig) called() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

// states lists the conversation's messages by state, in order.
func (r *rig) states() []gateway.ConversationMessage {
	r.t.Helper()
	c, err := r.store.Ledger.Conversation(r.t.Context(), r.conv, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	return c.Messages
}
