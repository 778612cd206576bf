package sqlite

import (
	"slices"
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
	// Both move all of them, in order: what is requeued is no dead letter any more.
	b.Run("requeue half", func(b *testing.B) {
		beside(b, s, func() (int, error) {
			done, err := s.Ledger.RequeueAll(b.Context(), store.DeadQuery{App: "bot", Limit: letters / 2}, "ops", time.Now(), func([]gateway.Requeued) {})
			return done.Moved, err
		})
	})
	b.Run("drop the rest", func(b *testing.B) {
		beside(b, s, func() (int, error) {
			done, err := s.Ledger.DropAll(b.Context(), store.DeadQuery{App: "bot"}, "ops", "a bench", time.Now())
			return done.Moved, err
		})
	})
}

// beside does something long while somebody else writes, and reports how long those
// writes took: the longest is how long the writer was held at most, and a fsync.
func beside(b *testing.B, s *Store, do func() (int, error)) {
	b.Helper()
	var took []time.Duration
	moved := 0
	for b.Loop() {
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
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
				took = append(took, time.Since(begun))
				time.Sleep(time.Millisecond) // the machine is not its alone
			}
		}()
		n, err := do()
		close(stop)
		<-ended
		if err != nil {
			b.Fatal(err)
		}
		moved += n
	}
	if moved == 0 {
		return // once more, of nothing
	}
	slices.Sort(took)
	b.ReportMetric(float64(moved), "moved")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1e3, "other-write-max-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "other-write-p99-ms")
}
