package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// A busy worker fetches ahead and never runs more handlers than it may. When they get
// slow, what it fetched is given back, so that others can have it.
func TestFetchAhead(t *testing.T) {
	const most, quick, all = 16, 1500, 2000
	b := workertest.Start(t, bot())
	for i := range all {
		if got := b.Offer(workertest.Text(fmt.Sprintf("%026d", i), 1, "hello")); got.State != gateway.OfferTaken {
			t.Fatalf("offer: %+v", got)
		}
	}
	opts := b.Options()
	opts.Concurrency = most
	goOn := make(chan struct{})
	var begun, running, high atomic.Int64
	b.Run(t.Context(), opts, func(context.Context, *gateway.Event) ([]gateway.Reply, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for h := high.Load(); n > h && !high.CompareAndSwap(h, n); h = high.Load() {
		}
		if begun.Add(1) > quick {
			<-goOn
		}
		return nil, nil
	})
	done, back := 0, 0
	for back == 0 {
		if b.Answer().Verdict == gateway.VerdictHandback {
			back++
		} else {
			done++
		}
	}
	if done > quick {
		t.Errorf("%d handlers answered, of which %d could", done, quick)
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
