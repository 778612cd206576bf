package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func (w *world) callback(n int) *gateway.Payload {
	return &gateway.Payload{
		Platform: "whatsapp", Endpoint: []string{"meta", "other"}[n%2], ReceivedAt: w.now.Add(time.Duration(n) * time.Minute),
		RequestLine: fmt.Sprintf("POST /webhooks/whatsapp/meta?n=%d HTTP/1.1", n), KeyFP: "abcdefghijkl",
		Header: http.Header{"Content-Type": {"application/json"}, "X-Twice": {"a", "b"}},
		Body:   []byte(fmt.Sprintf("{\"n\":%d,\"raw\":\"\x00\xff\"}", n)),
	}
}

func (w *world) append(n int) *gateway.Payload {
	w.Helper()
	p := w.callback(n)
	w.must(w.a.Append(w.ctx, p))
	return p
}

func archiveAppend(w *world) {
	w.must(w.a.Probe(w.ctx))
	var want []gateway.Payload
	for n := range 5 {
		p := w.append(n)
		if p.Pos != int64(n+1) {
			w.Fatalf("position %d for payload %d", p.Pos, n+1)
		}
		at, pos, err := store.ParsePayloadID(p.ID)
		w.must(err)
		w.same("position in the id", pos, p.Pos)
		w.same("time in the id", at, p.ReceivedAt.Truncate(time.Millisecond))
		want = append(want, *p)
	}
	got, err := w.a.Read(w.ctx, 0, 100, 1<<20)
	w.must(err)
	w.same("payloads", got, want)
	got, err = w.a.Read(w.ctx, 2, 2, 1<<20)
	w.must(err)
	w.same("payloads after 2, at most 2", got, want[2:4])
	got, err = w.a.Read(w.ctx, 1, 100, 1)
	w.must(err)
	w.same("payloads within one byte: at least one", got, want[1:2])
	one, err := w.a.Get(w.ctx, 3)
	w.must(err)
	w.same("payload 3", *one, want[2])
	if _, err := w.a.Get(w.ctx, 99); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("payload 99: %v", err)
	}
	w.must(w.a.Probe(w.ctx))
	p := &gateway.Payload{ReceivedAt: w.now, Platform: "wecom", Endpoint: "corp"}
	w.must(w.a.Append(w.ctx, p))
	one, err = w.a.Get(w.ctx, p.Pos)
	w.must(err)
	if len(one.Body) != 0 || len(one.Header) != 0 {
		w.Errorf("an empty payload came back with %d bytes and %d headers", len(one.Body), len(one.Header))
	}
	if n := w.a.Waiting(); n != 0 {
		w.Errorf("%d callbacks wait in an idle archive", n)
	}
}

func archiveList(w *world) {
	for n := range 20 {
		w.append(n)
	}
	at := func(n int) time.Time { return w.now.Add(time.Duration(n) * time.Minute) }
	for _, c := range []struct {
		name string
		q    store.PayloadQuery
		want []int64
	}{
		{"newest", store.PayloadQuery{Limit: 3}, []int64{20, 19, 18}},
		{"before", store.PayloadQuery{Before: 5, Limit: 3}, []int64{4, 3, 2}},
		{"since", store.PayloadQuery{Since: at(17)}, []int64{20, 19, 18}},
		{"until", store.PayloadQuery{Until: at(2)}, []int64{2, 1}},
		{"between", store.PayloadQuery{Since: at(9), Until: at(11)}, []int64{11, 10}},
		{"endpoint", store.PayloadQuery{Endpoint: "other", Limit: 2}, []int64{20, 18}},
		{"nothing", store.PayloadQuery{Since: at(100)}, nil},
	} {
		got, next, err := w.a.List(w.ctx, c.q)
		w.must(err)
		var poss []int64
		for _, p := range got {
			if p.Body != nil {
				w.Errorf("%s: a list with bodies", c.name)
			}
			poss = append(poss, p.Pos)
		}
		w.same(c.name, poss, c.want)
		if full := len(got) > 0 && len(got) == c.q.Limit; full != (next > 0) || full && next != got[len(got)-1].Pos {
			w.Errorf("%s: the next page is before %d", c.name, next)
		}
	}
	for after, want := range map[int64]int64{0: 20, 5: 15, 20: 0, 30: 0} {
		n, err := w.a.After(w.ctx, after)
		w.must(err)
		w.same(fmt.Sprintf("payloads after %d", after), n, want)
	}
	s, err := w.a.Stats(w.ctx)
	w.must(err)
	if s.Payloads != 20 || s.LastPos != 20 || s.Rejects != 0 || s.Bytes <= 0 {
		w.Errorf("stats: %+v", s)
	}
}

func archiveConcurrent(w *world) {
	const callers, each = 16, 25
	var wg sync.WaitGroup
	var mu sync.Mutex
	bodies := make(map[int64][]byte)
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				p := w.callback(c*each + i)
				if err := w.a.Append(w.ctx, p); err != nil {
					w.Error(err)
					return
				}
				mu.Lock()
				bodies[p.Pos] = p.Body
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got, err := w.a.Read(w.ctx, 0, 10_000, 1<<30)
	w.must(err)
	w.same("payloads", len(got), callers*each)
	for i, p := range got {
		if p.Pos != int64(i+1) || !bytes.Equal(p.Body, bodies[p.Pos]) {
			w.Fatalf("payload %d has position %d or another body than was acknowledged", i+1, p.Pos)
		}
	}
}

func archiveRejects(w *world) {
	w.now = time.Now().UTC().Round(0) // the store drops what is old by its own clock
	for n := range 3 {
		r := &gateway.Reject{At: w.now, Reason: "wrong signature", Payload: *w.callback(n)}
		w.must(w.a.AppendReject(w.ctx, r))
		if r.ID == 0 {
			w.Fatal("a reject without an id")
		}
	}
	list, err := w.a.Rejects(w.ctx, 0, 2)
	w.must(err)
	if len(list) != 2 || list[0].ID <= list[1].ID || list[0].Payload.Body != nil {
		w.Fatalf("rejects are not the newest two without bodies")
	}
	older, err := w.a.Rejects(w.ctx, list[1].ID, 10)
	w.must(err)
	w.same("older rejects", len(older), 1)
	r, err := w.a.Reject(w.ctx, older[0].ID)
	w.must(err)
	w.same("reject", *r, gateway.Reject{ID: older[0].ID, At: w.now, Reason: "wrong signature", Payload: *w.callback(0)})

	p := r.Payload
	w.must(w.a.Readmit(w.ctx, r.ID, &p))
	if p.Pos != 1 || p.ID == "" {
		w.Errorf("readmitted at %d", p.Pos)
	}
	got, err := w.a.Get(w.ctx, p.Pos)
	w.must(err)
	w.same("readmitted", *got, p)
	if _, err := w.a.Reject(w.ctx, r.ID); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("the reject is still there: %v", err)
	}
	again := r.Payload
	if err := w.a.Readmit(w.ctx, r.ID, &again); !errors.Is(err, gateway.ErrNotFound) || again.Pos != 0 {
		w.Errorf("readmitted twice: %v", err)
	}
	s, err := w.a.Stats(w.ctx)
	w.must(err)
	if s.Rejects != 2 || s.Payloads != 1 {
		w.Errorf("stats: %+v", s)
	}
}

func archiveCancelled(w *world) {
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if err := w.a.Append(ctx, w.callback(1)); !errors.Is(err, context.Canceled) {
		w.Errorf("append: %v", err)
	}
	w.same("position of the next", w.append(2).Pos, int64(1))
}
