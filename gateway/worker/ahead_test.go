package worker_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// A busy worker fetches ahead and never runs more handlers than it may. When they get
// slow, what it fetched is given back, so that others can have it.
func TestFetchAhead(t *testing.T) {
	const most, all = 16, 2500
	b := workertest.Start(t, bot())
	for i := range all {
		if got := b.Offer(workertest.Text(fmt.Sprintf("%026d", i), 1, "hello")); got.State != gateway.OfferTaken {
			t.Fatalf("offer: %+v", got)
		}
	}
	opts := b.Options()
	opts.Concurrency = most
	goOn := make(chan struct{})
	var running, high atomic.Int64
	var p pace
	b.Run(t.Context(), opts, func(context.Context, *gateway.Event) ([]gateway.Reply, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for h := high.Load(); n > h && !high.CompareAndSwap(h, n); h = high.Load() {
		}
		if p.begins() {
			<-goOn
		} else {
			time.Sleep(4 * time.Millisecond) // what it has to do
		}
		return nil, nil
	})
	done, back := 0, 0
	for back == 0 && done < all {
		if b.Answer().Verdict == gateway.VerdictHandback {
			back++
		} else {
			done++
		}
	}
	if back == 0 {
		t.Skip("this machine is too busy to fetch ahead: less than 500 events a second")
	}
	close(goOn)
	for done+back < all {
		if b.Answer().Verdict == gateway.VerdictHandback {
			back++
		} else {
			done++
		}
	}
	if high.Load() > most {
		t.Errorf("%d handlers ran at once, of %d", high.Load(), most)
	}
	t.Logf("%d given back", back)
}

// pace says when handlers get slow: once so many have begun in each of the last
// steps that the worker, which looks every 100 ms, fetches ahead.
type pace struct {
	mu    sync.Mutex
	start time.Time
	steps map[int]int // how many began in each
	slow  bool
}

func (p *pace) begins() (slow bool) {
	const step, least, looked = 50 * time.Millisecond, 25, 5
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.start.IsZero() {
		p.start, p.steps = time.Now(), map[int]int{}
	}
	now := int(time.Since(p.start) / step)
	p.steps[now]++
	enough := true
	for i := now - looked; i < now; i++ {
		enough = enough && p.steps[i] >= least
	}
	p.slow = p.slow || enough
	return p.slow
}
