package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/outbox"
	"github.com/causewayhq/causeway/store/sqlite"
)

// yard is a ledger on disk full of messages and a platform that answers after 50 ms,
// in real time.
type yard struct {
	store *sqlite.Store
	mu    sync.Mutex
	begun map[string][]time.Duration // waits from due to call, by account
	calls int
	left  int
	done  chan struct{}
	say   func(m *gateway.Message) gateway.Outcome
}

const answerTime = 50 * time.Millisecond

// Send is the platform.
func (y *yard) Send(_ context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	y.mu.Lock()
	if m.Attempts == 1 {
		y.begun[m.Account] = append(y.begun[m.Account], time.Since(m.DueAt))
	}
	y.calls++
	n := y.calls
	y.mu.Unlock()
	time.Sleep(answerTime)
	o := y.say(m)
	if o.Kind == gateway.OutcomeAccepted {
		o.ExternalID = fmt.Sprint("ext-", n)
		y.mu.Lock()
		if y.left--; y.left == 0 {
			close(y.done)
		}
		y.mu.Unlock()
	}
	return o
}

func newYard(b *testing.B) *yard {
	b.Helper()
	s, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return &yard{store: s, begun: map[string][]time.Duration{}, done: make(chan struct{}),
		say: func(*gateway.Message) gateway.Outcome { return gateway.Outcome{Kind: gateway.OutcomeAccepted} }}
}

// load lets every one of convs conversations of an account have n messages.
func (y *yard) load(b *testing.B, account string, convs, n int, due time.Time) {
	b.Helper()
	var wg sync.WaitGroup
	for i := range convs {
		wg.Go(func() {
			s := &gateway.Submission{Platform: "whatsapp", Account: account, By: "bench", DueAt: due,
				Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: fmt.Sprint(i)}}}}
			for range n {
				s.Replies = append(s.Replies, gateway.Reply{Type: gateway.ReplyText, Text: "x"})
			}
			if _, err := y.store.Ledger.Submit(b.Context(), s, time.Now()); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

// run sends until as many as left were accepted, and returns how long that took from
// due.
func (y *yard) run(b *testing.B, left int, due time.Time, limits func(string) []gateway.Limit) time.Duration {
	b.Helper()
	y.left = left
	s := outbox.NewSender(outbox.SenderOptions{
		Ledger: y.store.Ledger, Queue: y.store.Ledger, Accounts: y.store.Ledger, Limits: limits,
		Client:      func(string, string) outbox.Client { return y },
		UnknownWait: func(string, string) time.Duration { return time.Second },
		Retry: func(string) gateway.Retry {
			return gateway.Retry{Tries: 4, First: 10 * time.Second, Factor: 2, Jitter: 0.2, MaxAge: 24 * time.Hour}
		},
		NewID: func() string { return "" }, Now: time.Now, Log: zap.NewNop(),
	})
	ctx, cancel := context.WithCancel(b.Context())
	over := make(chan struct{})
	go func() { _ = s.Run(ctx); close(over) }()
	<-y.done
	took := time.Since(due)
	cancel()
	<-over
	return took
}

// BenchmarkSender measures messages a second against what is possible: the lesser of
// the account's pace and what so many conversations can send at 50 ms an answer.
func BenchmarkSender(b *testing.B) {
	for _, c := range []struct{ pace, convs, each int }{{20, 50, 4}, {80, 100, 8}, {1000, 20, 100}, {1000, 200, 25}} {
		b.Run(fmt.Sprintf("pace=%d/convs=%d", c.pace, c.convs), func(b *testing.B) {
			for range b.N {
				y := newYard(b)
				due := time.Now().Add(5 * time.Second)
				y.load(b, "shop", c.convs, c.each, due)
				if late := time.Since(due); late > 0 {
					b.Fatalf("loaded %v too late", late)
				}
				took := y.run(b, c.convs*c.each, due, func(string) []gateway.Limit {
					return []gateway.Limit{{N: c.pace, Per: time.Second, Burst: max(c.pace/10, 1)}, {Pair: true, N: 10, Per: time.Minute, Burst: 1000}}
				})
				rate := float64(c.convs*c.each) / took.Seconds()
				possible := min(float64(c.pace), float64(c.convs)/answerTime.Seconds())
				b.ReportMetric(rate, "msg/s")
				b.ReportMetric(100*rate/possible, "%possible")
			}
		})
	}
}

// BenchmarkNeighbours measures how long messages of seven healthy accounts wait, alone
// and beside one that is revoked, one at its limit and one with a limited customer.
func BenchmarkNeighbours(b *testing.B) {
	for range b.N {
		alone, beside := neighbours(b, false), neighbours(b, true)
		b.ReportMetric(float64(alone.Milliseconds()), "p99-alone-ms")
		b.ReportMetric(float64(beside.Milliseconds()), "p99-beside-ms")
		b.ReportMetric(float64(beside)/float64(alone), "p99-ratio")
	}
}

func neighbours(b *testing.B, troubled bool) time.Duration {
	b.Helper()
	y := newYard(b)
	due := time.Now().Add(8 * time.Second)
	healthy := 0
	for i := range 7 {
		y.load(b, fmt.Sprint("healthy-", i), 40, 10, due)
		healthy += 400
	}
	y.say = func(m *gateway.Message) gateway.Outcome {
		switch {
		case m.Account == "revoked":
			return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Blame: gateway.BlameCredential, Code: "190", After: 30 * time.Second}
		case m.Account == "limited" && m.To[0].Value == "0":
			return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Blame: gateway.BlamePace, Tries: gateway.Unbounded, Code: "131056", After: time.Second}
		case m.Account == "limited" || m.Account == "busy":
			return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "other"} // not counted
		}
		return gateway.Outcome{Kind: gateway.OutcomeAccepted}
	}
	if troubled {
		y.load(b, "revoked", 300, 2, due)
		y.load(b, "busy", 300, 2, due)
		y.load(b, "limited", 40, 5, due)
	}
	if late := time.Since(due); late > 0 {
		b.Fatalf("loaded %v too late", late)
	}
	y.run(b, healthy, due, func(account string) []gateway.Limit {
		if account == "busy" {
			return []gateway.Limit{{N: 20, Per: time.Minute}}
		}
		return []gateway.Limit{{N: 80, Per: time.Second, Burst: 8}, {Pair: true, N: 10, Per: time.Minute, Burst: 45}}
	})
	var waits []time.Duration
	for account, list := range y.begun {
		if account != "revoked" && account != "busy" && account != "limited" {
			waits = append(waits, list...)
		}
	}
	slices.Sort(waits)
	return waits[len(waits)*99/100]
}
