package sqlite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func openBench(b *testing.B) *Store {
	b.Helper()
	s, err := Open(context.Background(), b.TempDir(), Options{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// BenchmarkAppend measures durable rows; p99 is of one Append.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchAppend(b, callers) })
	}
}

func benchAppend(b *testing.B, callers int) {
	s := openBench(b)
	body := []byte(fmt.Sprintf(`{"object":"whatsapp_business_account","pad":"%0910d"}`, 1))
	header := http.Header{"Content-Type": {"application/json"}, "X-Hub-Signature-256": {fmt.Sprintf("sha256=%064d", 7)}}
	took := make([][]time.Duration, callers)
	var wg sync.WaitGroup
	report := cost(b)
	for i := range callers {
		wg.Go(func() {
			for range b.N/callers + 1 {
				p := gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(),
					RequestLine: "POST /webhooks/whatsapp/meta HTTP/1.1", Header: header, Body: body, KeyFP: "abcdefghijkl"}
				start := time.Now()
				if err := s.Archive.Append(context.Background(), &p); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	report(len(all))
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(all[len(all)*99/100])/1e6, "p99-ms")
	b.ReportMetric(float64(all[len(all)-1])/1e6, "max-ms")
}

// benchBatch makes a batch of size items from pos on, over convs conversations.
func benchBatch(pos, size, convs int, at time.Time) *gateway.RelayBatch {
	content := []byte(fmt.Sprintf(`{"type":"text","text":"hello","raw":"%0300d"}`, 1))
	out := &gateway.RelayBatch{}
	for i := range size {
		n := pos + i
		who := gateway.Identity{Kind: "phone", Value: fmt.Sprintf("49%010d", n%convs)}
		out.Payloads = append(out.Payloads, gateway.RelayedPayload{
			Pos: int64(n), Platform: "whatsapp", Endpoint: "meta", ReceivedAt: at, Last: true,
			Items: []gateway.ItemRow{{
				State:  gateway.ItemEvent,
				Event:  gateway.EventRow{ID: gateway.EventID("whatsapp", &gateway.Item{Key: fmt.Sprint(n)}), Platform: "whatsapp", Account: "shop", Kind: gateway.KindMessage, Chat: gateway.ChatSingle, ReceivedAt: at, OccurredAt: at, Content: content},
				Chat:   gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{who}},
				Wanted: []string{"bot"},
			}},
		})
	}
	return out
}

// BenchmarkRelay measures items in batches of 100 over 5,000 conversations.
func BenchmarkRelay(b *testing.B) {
	s := openBench(b)
	at := time.Unix(1_700_000_000, 0)
	batches := make([]*gateway.RelayBatch, 0, b.N/100+1)
	for n := 0; n < b.N; n += 100 {
		batches = append(batches, benchBatch(n+1, 100, 5000, at))
	}
	report := cost(b)
	for _, batch := range batches {
		if _, err := s.Ledger.Relay(context.Background(), batch, at); err != nil {
			b.Fatal(err)
		}
	}
	report(100 * len(batches))
	b.ReportMetric(float64(100*len(batches))/b.Elapsed().Seconds(), "items/s")
}

// BenchmarkSettle measures answers in batches of 200, each with its next head.
func BenchmarkSettle(b *testing.B) {
	for _, replies := range []int{0, 1} {
		b.Run(fmt.Sprintf("replies=%d", replies), func(b *testing.B) { benchSettle(b, replies) })
	}
}

func benchSettle(b *testing.B, replies int) {
	s := openBench(b)
	at := time.Unix(1_700_000_000, 0)
	var rows []gateway.Pending
	for n := 0; n < b.N; n += 100 {
		r, err := s.Ledger.Relay(context.Background(), benchBatch(n+1, 100, 5000, at), at)
		if err != nil {
			b.Fatal(err)
		}
		rows = append(rows, r.Pending...)
	}
	done := gateway.Decision{State: gateway.EventSettled, Reason: "done", Tries: 1}
	for range replies {
		done.Replies = append(done.Replies, gateway.Reply{Type: "text", Text: "hello"})
	}
	decide := func(*gateway.Pending, *gateway.Answer) gateway.Decision { return done }
	report := cost(b)
	seq := uint64(0)
	for chunk := range slices.Chunk(rows, 200) {
		answers := make([]gateway.Settlement, len(chunk))
		for i, p := range chunk {
			answers[i] = gateway.Settlement{App: p.App, Conv: p.Conv, Answer: gateway.Answer{Event: p.Delivery()}}
		}
		seq += uint64(len(chunk))
		out, err := s.Ledger.Settle(context.Background(), gateway.ReplyPosition{Created: at, Seq: seq}, answers, decide, at)
		if err != nil {
			b.Fatal(err)
		}
		if out[0].Late {
			b.Fatal("late")
		}
	}
	report(len(rows))
	b.ReportMetric(float64(len(rows))/b.Elapsed().Seconds(), "answers/s")
}

// BenchmarkHeads reads the heads of 1,000 conversations, alone and beside one of
// which 100,000 events wait: that one must cost no more than another.
func BenchmarkHeads(b *testing.B) {
	for _, waiting := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("beside=%d", waiting), func(b *testing.B) { benchHeads(b, waiting) })
	}
}

func benchHeads(b *testing.B, waiting int) {
	s, at, pos := openBench(b), time.Unix(1_700_000_000, 0), 1
	fill := func(n, convs int) {
		for end := pos + n; pos < end; pos += 100 {
			if _, err := s.Ledger.Relay(context.Background(), benchBatch(pos, 100, convs, at), at); err != nil {
				b.Fatal(err)
			}
		}
	}
	fill(2000, 1000)
	fill(waiting, 1)
	report := cost(b)
	for range b.N {
		heads, err := s.Ledger.Heads(context.Background(), "bot", "", 2000)
		if err != nil || len(heads) != 1000 {
			b.Fatal(len(heads), err)
		}
	}
	report(b.N)
}
