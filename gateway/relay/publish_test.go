package relay_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/relay"
	"github.com/causewayhq/causeway/store"
)

func storeDead() store.DeadQuery { return store.DeadQuery{Limit: 100} }

// copies is a stream that loses some acknowledgements. It fails the test when
// two rows of one conversation are in one call, or come out of order.
type copies struct {
	t *testing.T

	mu    sync.Mutex
	fail  int
	last  map[string]int64 // by conversation, what was stored last
	n     int
	ended chan struct{}
	want  int
	most  int // rows in a call
}

// PublishEvents is for relay.Stream.
func (c *copies) PublishEvents(_ context.Context, rows []gateway.EventRow) []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]error, len(rows))
	if len(rows) > c.most {
		c.t.Errorf("%d rows in a call, want at most %d", len(rows), c.most)
	}
	seen := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		if seen[r.Conv] {
			c.t.Errorf("two events of a conversation are in flight")
		}
		seen[r.Conv] = true
		if c.fail > 0 && i%2 == 0 {
			c.fail--
			out[i] = errors.New("no acknowledgement")
			continue
		}
		if r.Seq > c.last[r.Conv]+1 {
			c.t.Errorf("event %d of a conversation after %d", r.Seq, c.last[r.Conv])
		}
		if r.Seq == c.last[r.Conv]+1 {
			c.last[r.Conv]++
			if c.n++; c.n == c.want {
				close(c.ended)
			}
		}
	}
	return out
}

// PublishStates is for relay.Stream.
func (c *copies) PublishStates(_ context.Context, rows []gateway.State) []error {
	return make([]error, len(rows))
}

// StateLife is for relay.Stream.
func (c *copies) StateLife(context.Context) (time.Time, error) { return time.UnixMilli(1), nil }

// PublishChanges is for relay.Stream.
func (c *copies) PublishChanges(_ context.Context, rows []gateway.Change) []error {
	return make([]error, len(rows))
}

// bucket is a bucket of states that can be lost.
type bucket struct {
	*copies
	mu     sync.Mutex
	life   time.Time
	fails  int
	states map[string]gateway.State
	put    chan struct{}
}

// StateLife is for relay.Stream.
func (b *bucket) StateLife(context.Context) (time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.life, nil
}

// PublishStates is for relay.Stream.
func (b *bucket) PublishStates(_ context.Context, rows []gateway.State) []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]error, len(rows))
	for i := range rows {
		if b.fails > 0 {
			b.fails--
			out[i] = errors.New("no acknowledgement")
			continue
		}
		b.states[rows[i].Conv] = rows[i]
	}
	b.put <- struct{}{}
	return out
}

// The bucket holds every state, also after a lost acknowledgement, and one that was
// lost is filled again without a person.
func TestStatesFillABucketThatWasLost(t *testing.T) {
	r := newRig(t)
	r.decode = func(body string) ([]gateway.Item, string, error) {
		it := message(body, body)
		it.Note = &gateway.StateNote{Word: gateway.NoteHas, Member: gateway.Identity{Kind: "userid", Value: "u" + body}}
		return []gateway.Item{it}, "fp", nil
	}
	last := int64(0)
	for i := range 3 {
		last = r.archive(fmt.Sprint(i))
	}
	r.run(last, gateway.PayloadRelayed)
	b := &bucket{copies: &copies{t: t}, life: time.UnixMilli(1), fails: 2, states: map[string]gateway.State{}, put: make(chan struct{}, 100)}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p := relay.NewPublisher(r.store.Ledger, b, zap.NewNop(), nil, nil)
	done := make(chan struct{})
	go func() { _ = p.RunStates(ctx); close(done) }()
	full := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.states) == 3
	}
	for range 2 {
		for !full() {
			select {
			case <-b.put:
			case <-ctx.Done():
				t.Fatal("the bucket was not filled")
			}
		}
		b.mu.Lock()
		clear(b.states)
		b.life = b.life.Add(time.Second)
		b.mu.Unlock()
		p.KickStates()
	}
	cancel()
	<-done
}

// Copies keep the order of each conversation also when acknowledgements are lost
// and rows are published again, and when it rests between a few rows.
func TestCopiesKeepTheOrder(t *testing.T) {
	t.Run("at once", func(t *testing.T) { copiesInOrder(t, nil, 200) })
	t.Run("a few at a time", func(t *testing.T) { copiesInOrder(t, func() time.Duration { return time.Millisecond }, 4) })
}

func copiesInOrder(t *testing.T, rest func() time.Duration, most int) {
	r := newRig(t)
	r.decode = func(body string) ([]gateway.Item, string, error) {
		var out []gateway.Item
		for i := range 40 {
			out = append(out, message(fmt.Sprintf("%s-%d", body, i), fmt.Sprint(i%3)))
		}
		return out, "fp", nil
	}
	var last int64
	for i := range 5 {
		last = r.archive(fmt.Sprint(i))
	}
	r.run(last, gateway.PayloadRelayed)
	c := &copies{t: t, fail: 5, last: map[string]int64{}, ended: make(chan struct{}), want: 200, most: most}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p := relay.NewPublisher(r.store.Ledger, c, zap.NewNop(), nil, rest)
	done := make(chan struct{})
	go func() { _ = p.RunEvents(ctx); close(done) }()
	select {
	case <-c.ended:
	case <-ctx.Done():
		t.Errorf("%d of 200 published", c.n)
	}
	cancel()
	<-done
}
