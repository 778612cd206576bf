package stream_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// BenchmarkGateBare runs the whole loop without a ledger: offer, worker, answer,
// intake, next offer of the conversation. It reports events per second and
// fails when a conversation's events do not come in order.
func BenchmarkGateBare(b *testing.B) {
	const convs = 2000
	app := bot()
	app.AckWait = 30 * time.Second
	r := newRig(b, app)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	var mu sync.Mutex
	lastSeq := map[string]int64{}
	w, err := worker.New(worker.Options{Conn: connect(b, r.srv), App: "bot", Concurrency: 256})
	if err != nil {
		b.Fatal(err)
	}
	handler := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		if ev.Seq != lastSeq[ev.Conv]+1 {
			b.Errorf("conversation %s: %d after %d", ev.Conv, ev.Seq, lastSeq[ev.Conv])
		}
		lastSeq[ev.Conv] = ev.Seq
		return nil, nil
	}
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := w.Run(ctx, handler); err != nil {
			b.Error(err)
		}
	})

	l := newLoop(r.s, convs, b.N)
	b.ResetTimer()
	parts.Go(func() { l.offerAll(ctx) })
	parts.Go(func() {
		if err := r.s.TakeAnswers(ctx, gateway.ReplyPosition{}, l.taken); err != nil {
			b.Error(err)
		}
	})
	select {
	case <-l.done:
	case <-time.After(2 * time.Minute):
		b.Errorf("not done: %d of %d", l.count(), b.N)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	cancel()
	parts.Wait()
}

// loop is a gate without a ledger: the next event of a conversation is offered
// when the answer of the one before is taken.
type loop struct {
	s     offerer
	total int
	done  chan struct{}
	queue chan gateway.Offer

	mu       sync.Mutex
	convOf   map[string]int
	next     []int
	head     []string // the pending event of each conversation
	started  int
	finished int
}

type offerer interface {
	Offer(ctx context.Context, app string, offers []gateway.Offer) []gateway.Offered
}

func newLoop(s offerer, convs, total int) *loop {
	l := &loop{s: s, total: total, done: make(chan struct{}), queue: make(chan gateway.Offer, 4*convs), convOf: map[string]int{}, next: make([]int, convs), head: make([]string, convs)}
	for c := range min(convs, total) {
		l.convOf[convID(c)] = c
		l.push(c)
	}
	return l
}

// push queues the next event of a conversation while events are left.
func (l *loop) push(c int) {
	if l.started == l.total {
		return
	}
	l.started++
	l.next[c]++
	o := offer("bot", c, l.next[c], 0)
	l.head[c] = o.Pending.Event
	l.queue <- o
}

func (l *loop) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finished
}

// offerAll offers what is queued, in natural batches; a closed place is tried
// again, since the answer may be here before the acknowledgement is there.
func (l *loop) offerAll(ctx context.Context) {
	for {
		var batch []gateway.Offer
		select {
		case <-ctx.Done():
			return
		case o := <-l.queue:
			batch = append(batch, o)
		}
	more:
		for len(batch) < 500 {
			select {
			case o := <-l.queue:
				batch = append(batch, o)
			default:
				break more
			}
		}
		for i, got := range l.s.Offer(ctx, "bot", batch) {
			if got.State != gateway.OfferTaken {
				l.queue <- batch[i]
			}
		}
	}
}

func (l *loop) taken(_ context.Context, _ gateway.ReplyPosition, answers []gateway.TakenAnswer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range answers {
		var ans gateway.Answer
		if err := json.Unmarshal(a.Data, &ans); err != nil || ans.Verdict != gateway.VerdictDone {
			continue
		}
		// As in the ledger, an answer counts while its event is pending: a
		// second answer, after a second delivery, is late.
		c := l.convOf[a.Conv]
		if ans.Event != l.head[c] {
			continue
		}
		l.head[c] = ""
		if l.finished++; l.finished == l.total {
			close(l.done)
		}
		l.push(c)
	}
	return nil
}
