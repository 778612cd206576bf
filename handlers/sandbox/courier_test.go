package sandbox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

func retries(waits ...time.Duration) func(int) (time.Duration, bool) {
	return func(n int) (time.Duration, bool) {
		if n > len(waits) {
			return 0, false
		}
		return waits[n-1], true
	}
}

func newCourier(t *testing.T, o CourierOptions) *Courier {
	t.Helper()
	o.Log, o.Timeout = zap.NewNop(), 5*time.Second
	if o.Retry == nil {
		o.Retry = retries()
	}
	c := NewCourier(o)
	t.Cleanup(c.Close)
	return c
}

func to(url, name string, after time.Duration) Callback {
	return Callback{Kind: "message", After: after, Build: func(ctx context.Context, try int) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodPost, url+"/"+name+"/"+strconv.Itoa(try), nil)
	}}
}

func wait(t *testing.T, c *Courier) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestCourierRetriesAndGivesUp(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
		switch r.URL.Path {
		case "/moved/1":
			http.Redirect(w, r, "/elsewhere", http.StatusFound) // not 200, not followed
		case "/never/1", "/never/2", "/never/3":
			w.WriteHeader(http.StatusNoContent) // not 200 either
		}
	}))
	defer s.Close()
	c := newCourier(t, CourierOptions{Retry: retries(0, 0), Workers: 1})
	for _, name := range []string{"fine", "moved", "never"} {
		c.Queue(to(s.URL, name, 0))
		wait(t, c)
	}
	want := []string{"/fine/1", "/moved/1", "/moved/2", "/never/1", "/never/2", "/never/3"}
	if d := cmp.Diff(want, paths); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Delivered{OK: 2, Failed: 4, GivenUp: 1}, c.Count()); d != "" {
		t.Error(d)
	}
	c.Queue(to("http://127.0.0.1:1", "refused", 0))
	wait(t, c)
	if n := c.Count().GivenUp; n != 2 {
		t.Errorf("%d given up", n)
	}
}

func TestCourierOrderAndDistortion(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
	}))
	defer s.Close()
	c := newCourier(t, CourierOptions{Workers: 1})
	group := func() {
		c.Queue(to(s.URL, "a", 0), to(s.URL, "b", time.Millisecond), to(s.URL, "c", 2*time.Millisecond))
		wait(t, c)
	}
	group()
	c.Distort(Distortion{Reverse: true})
	group()
	c.Distort(Distortion{Copies: 2, DelayMS: 1, JitterMS: 2})
	c.Queue(to(s.URL, "d", 0))
	wait(t, c)
	want := []string{"/a/1", "/b/1", "/c/1", "/c/1", "/b/1", "/a/1", "/d/1", "/d/1", "/d/1"}
	if d := cmp.Diff(want, paths); d != "" {
		t.Error(d)
	}
}

func TestCourierIsBoundedAndCloses(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 3 {
			once.Do(func() { close(full) })
		}
		<-r.Context().Done() // answers never
	}))
	defer s.Close()
	c := newCourier(t, CourierOptions{Workers: 3})
	for range 20 {
		c.Queue(to(s.URL, "x", 0))
	}
	c.Queue(to(s.URL, "later", time.Hour))
	<-full
	if err := c.Flush(canceled(t)); err == nil {
		t.Error("flushed")
	}
	c.Close()
	if n := most.Load(); n != 3 {
		t.Errorf("%d at once, want 3", n)
	}
	if c.Queue(to(s.URL, "x", 0)) {
		t.Error("took a callback after Close")
	}
	if err := c.Flush(t.Context()); err == nil {
		t.Error("Flush waits for what will not come")
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
