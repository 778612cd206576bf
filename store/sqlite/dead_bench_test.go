package sqlite

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// benchDead makes a ledger with so many open dead letters of events, each in its
// order, over a hundred conversations.
func benchDead(b *testing.B, letters int) *Store {
	b.Helper()
	s := openBench(b)
	at := time.Now().Add(-time.Hour)
	seq := uint64(0)
	for pos := 1; pos <= letters; pos += 100 {
		r, err := s.Ledger.Relay(b.Context(), benchBatch(pos, 100, 100, at), at)
		if err != nil {
			b.Fatal(err)
		}
		answers := make([]gateway.Settlement, len(r.Pending))
		for i, p := range r.Pending {
			answers[i] = gateway.Settlement{App: p.App, Conv: p.Conv, Answer: gateway.Answer{Event: p.Delivery()}}
		}
		seq += 100
		_, err = s.Ledger.Settle(b.Context(), gateway.ReplyPosition{Created: at, Seq: seq}, answers, func(*gateway.Pending, *gateway.Answer) gateway.Decision {
			return gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4}
		}, at)
		if err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkDead lists and counts among 100,000 dead letters, then requeues them all
// while somebody else writes.
func BenchmarkDead(b *testing.B) {
	const letters = 100_000
	s := benchDead(b, letters)
	all, err := s.Ledger.Dead(b.Context(), store.DeadQuery{Limit: 1000})
	if err != nil || len(all) != 1000 {
		b.Fatalf("%d, %v", len(all), err)
	}
	old := time.Now().Add(-2 * time.Hour)
	for name, q := range map[string]store.DeadQuery{
		"newest": {Limit: 50}, "page": {Before: all[999].ID, Limit: 50}, "conv": {Conv: all[0].Conv, Limit: 50}, "app": {App: "bot", Limit: 50},
		"none of an account": {Account: "nobody", Limit: 50}, "none of both": {App: "bot", Account: "nobody", Limit: 50},
		"none of a platform": {Platform: "wecom", Limit: 50}, "none so old": {Until: old, Limit: 50}, "none of four": {App: "bot", Reason: "tries", Kind: "event", Until: old, Limit: 50},
	} {
		b.Run("list/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Ledger.Dead(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("stats", func(b *testing.B) {
		for b.Loop() {
			if st, err := s.Ledger.DeadStats(b.Context(), store.DeadQuery{}); err != nil || st.Total != letters {
				b.Fatalf("%d, %v", st.Total, err)
			}
		}
	})
	b.Run("requeue", func(b *testing.B) {
		var worst time.Duration
		for b.Loop() {
			stop, ended := make(chan struct{}), make(chan struct{})
			go func() { // somebody else's write
				defer close(ended)
				for {
					select {
					case <-stop:
						return
					default:
					}
					begun := time.Now()
					if err := s.Ledger.SetPublished(b.Context(), 0); err != nil {
						return
					}
					worst = max(worst, time.Since(begun))
				}
			}()
			done, err := s.Ledger.RequeueAll(b.Context(), store.DeadQuery{App: "bot"}, "ops", time.Now(), func([]gateway.Requeued) {})
			close(stop)
			<-ended
			if err != nil {
				b.Fatal(err)
			}
			if done.Moved > 0 {
				b.Logf("%d in %v", done.Moved, b.Elapsed())
			}
		}
		b.ReportMetric(float64(worst.Microseconds())/1e3, "other-write-max-ms")
	})
}
