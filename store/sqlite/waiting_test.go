package sqlite

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Large events are read a few at a time, and what is counted as remembered is
// what is remembered.
func TestWaitingLarge(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	at := time.Now()
	const n = 100
	batch := benchBatch(1, n, 1, at)
	for i := range 20 {
		batch.Payloads[i].Items[0].Event.Content = append([]byte(`{"raw":"`), bytes.Repeat([]byte("x"), 100<<10)...)
	}
	r, err := l.Relay(t.Context(), batch, at)
	if err != nil || len(r.Pending) != n {
		t.Fatalf("%d pending rows, %v", len(r.Pending), err)
	}
	heads, err := l.Heads(t.Context(), "bot", "", 10)
	if err != nil || len(heads) != 1 || heads[0].Row != nil {
		t.Errorf("heads with a large event: %+v, %v", heads, err)
	}
	remembered := func() (rows, bytes int) {
		for _, q := range l.book.waiting {
			rows += len(q.rows)
			for i := range q.rows {
				bytes += rowBytes(&q.rows[i])
			}
		}
		return rows, bytes
	}
	if rows, bytes := remembered(); rows != waitingMost || bytes != l.book.waitingBytes {
		t.Errorf("%d rows with %d bytes are remembered, %d are counted", rows, bytes, l.book.waitingBytes)
	}
	l.book.forget()
	for i, p := range r.Pending {
		s, err := l.Settle(t.Context(), gateway.ReplyPosition{Created: at, Seq: uint64(i)},
			[]gateway.Settlement{{App: "bot", Conv: p.Conv, Answer: gateway.Answer{Event: p.Delivery()}}},
			func(*gateway.Pending, *gateway.Answer) gateway.Decision {
				return gateway.Decision{State: gateway.EventSettled}
			}, at)
		if err != nil || s[0].Late {
			t.Fatalf("answer %d: late %v, %v", i, s[0].Late, err)
		}
		rows, bytes := remembered()
		if bytes != l.book.waitingBytes || rows > waitingRead || bytes > waitingLarge+2*(101<<10) {
			t.Fatalf("after answer %d %d rows with %d bytes are remembered, %d are counted", i, rows, bytes, l.book.waitingBytes)
		}
		if i == n-1 {
			if s[0].Head != nil {
				t.Errorf("head after the last: %+v", s[0].Head)
			}
			break
		}
		want := r.Pending[i+1]
		if h := s[0].Head; h == nil || h.N != want.N || h.Row == nil || !slices.Equal(h.Row.Content, want.Row.Content) {
			t.Fatalf("head after answer %d: %+v", i, h)
		}
	}
	agree(t, l)
}
