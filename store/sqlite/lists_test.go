package sqlite

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// A list of payloads ends after so many rows, says where to go on, and its pages join:
// by an endpoint that has none, one list read the whole archive, in one snapshot.
func TestArchiveListEndsAtItsRows(t *testing.T) {
	t.Parallel()
	a := openAt(t, t.TempDir()).Archive
	const n, callers = listLook + 50, 50
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range n / callers {
				if err := a.Append(t.Context(), &gateway.Payload{ReceivedAt: time.Unix(1_800_000_000, 0), Platform: "whatsapp", Endpoint: "meta"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, c := range []struct {
		q     store.PayloadQuery
		pages []int // their lengths
	}{
		{store.PayloadQuery{Endpoint: "nobody"}, []int{0, 0}},
		{store.PayloadQuery{Endpoint: "meta", Limit: 6000}, []int{6000, 4050}},
		{store.PayloadQuery{Endpoint: "meta", Limit: n}, []int{listLook, 50}},
		{store.PayloadQuery{Limit: 5, Before: 6}, []int{5}},
		{store.PayloadQuery{Before: 1}, []int{0}},
	} {
		var pages []int
		last := c.q.Before
		for q := c.q; ; {
			list, next, err := a.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, len(list))
			for i := range list {
				if last > 0 && list[i].Pos != last-1 {
					t.Fatalf("%+v: %d stands behind %d", c.q, list[i].Pos, last)
				}
				last = list[i].Pos
			}
			if q.Before = next; next == 0 || len(pages) > 9 {
				break
			}
		}
		if !slices.Equal(pages, c.pages) {
			t.Errorf("%+v: pages of %v, want %v", c.q, pages, c.pages)
		}
	}
}

// What waits is the same in slices of any length, for one application and for all.
func TestWaitingSlicesJoin(t *testing.T) {
	t.Parallel()
	l, at := openAt(t, t.TempDir()).Ledger, time.Unix(1_800_000_000, 0)
	batch := benchBatch(1, 30, 10, at)
	for i := range batch.Payloads {
		it := &batch.Payloads[i].Items[0]
		if i%10 == 3 {
			it.Event.Account = "other"
		}
		if i%2 == 0 {
			it.Wanted = append(it.Wanted, "second")
		}
	}
	if _, err := l.Relay(t.Context(), batch, at); err != nil {
		t.Fatal(err)
	}
	for account, conversations := range map[string]int{"": 10, "other": 1, "shop": 9, "nobody": 0} {
		var first map[int64]wait
		for _, slice := range []int{1, 3, 9, 10, 11, 1000} {
			all := map[int64]*wait{}
			for _, app := range []string{"bot", "second", "nobody's"} {
				if err := l.waitingFor(t.Context(), app, account, slice, all); err != nil {
					t.Fatal(err)
				}
			}
			got := map[int64]wait{}
			for key, w := range all {
				got[key] = *w
				want := int64(3) // of ten conversations with three events each, every other event is wanted twice
				if w.first%2 == 1 {
					want = 6
				}
				if w.n != want {
					t.Errorf("account %q, slices of %d: %+v, want %d waiting", account, slice, *w, want)
				}
			}
			if first == nil {
				first = got
			}
			if len(got) != conversations || !maps.Equal(got, first) {
				t.Errorf("account %q, slices of %d: %v, want %d conversations, as in slices of one %v", account, slice, got, conversations, first)
			}
		}
	}
}
