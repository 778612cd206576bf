package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

// Whatever delays a call until voidAfter is over, nothing is written.
func TestVoid(t *testing.T) {
	t.Parallel()
	over := func(c *clock) { c.move(time.Minute) }
	tests := []struct {
		name string
		// freeze happens where the process stands still.
		dial func(c *clock) func(context.Context, string, string) (net.Conn, error)
		got  func(c *clock) // after the connection was got
		pre  func(c *clock) // before Do
		warm bool           // a connection waits in the pool
	}{
		{name: "over before the call", pre: over},
		{name: "frozen while dialing", dial: func(c *clock) func(context.Context, string, string) (net.Conn, error) {
			return func(ctx context.Context, network, address string) (net.Conn, error) {
				over(c)
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
		}},
		{name: "frozen after the connection was got", got: over},
		{name: "frozen with a connection out of the pool", got: over, warm: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, func(_ int, c *peerConn) {
				for c.readRequest() {
					c.answer(okAnswer)
				}
			})
			clk := newClock()
			o := Options{Now: clk.now}
			if tt.dial != nil {
				o.Dial = tt.dial(clk)
			}
			c := client(t, o)
			if tt.warm {
				if _, err := c.Do(post(t.Context(), t, p.url(), "warm"), clk.now().Add(time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			if tt.got != nil {
				ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tt.got(clk) }})
			}
			voidAfter := clk.now().Add(30 * time.Second)
			if tt.pre != nil {
				tt.pre(clk)
			}
			_, err := c.Do(post(ctx, t, p.url(), "late"), voidAfter)
			wantError(t, err, WordVoid, false)
			if errors.Is(err, context.Canceled) {
				t.Error("void must not look like the caller's cancel")
			}
			c.Close()
			_ = p.Close()
			p.wg.Wait()
			if n := p.requests("late"); n != 0 {
				t.Errorf("the request arrived %d times", n)
			}
		})
	}
}

// A dial or handshake that hangs ends at voidAfter by itself.
func TestVoidEndsWaiting(t *testing.T) {
	t.Parallel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	silent := newPeer(t, func(_ int, c *peerConn) {
		buf := make([]byte, 4096)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	})
	tests := map[string]struct {
		url     string
		options Options
	}{
		"dial":      {"http://127.0.0.1:1/?access_token=" + secret, Options{Dial: dial}},
		"handshake": {strings.Replace(silent.url(), "http", "https", 1), Options{TLSTimeout: time.Minute}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t, tt.options).Do(post(t.Context(), t, tt.url, "late"), time.Now().Add(50*time.Millisecond))
			wantError(t, err, WordVoid, false)
		})
	}
}

// Over TLS the guard sits below the cipher: handshake bytes are no request.
func TestVoidOverTLS(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 10)
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.URL.Path }))
	defer s.Close()
	clk := newClock()
	c := client(t, Options{Now: clk.now, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig})
	for _, path := range []string{"/one", "/two"} { // a new connection, then a reused one
		resp, err := c.Do(post(t.Context(), t, s.URL+path, "x"), clk.now().Add(time.Minute))
		if err != nil || resp.Status != http.StatusOK {
			t.Fatalf("%s: %v, %v", path, resp, err)
		}
		if got := <-calls; got != path {
			t.Fatalf("got %s", got)
		}
	}
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { clk.move(time.Hour) }})
	_, err := c.Do(post(ctx, t, s.URL+"/late", "x"), clk.now().Add(time.Minute))
	wantError(t, err, WordVoid, false)
	if len(calls) != 0 {
		t.Errorf("%s arrived", <-calls)
	}
}

// A peer that does not read cannot hold a write beyond voidAfter, and a request
// of which a part left is not "not written".
func TestBlockedWriteEnds(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	p := newPeer(t, func(int, *peerConn) { <-hang })
	defer close(hang)
	_, err := client(t, Options{Timeout: time.Minute}).Do(post(t.Context(), t, p.url(), strings.Repeat("x", 32<<20)), time.Now().Add(2*time.Second))
	var e *Error
	if !errors.As(err, &e) || !e.Written {
		t.Fatalf("got %v, want an error with Written", err)
	}
	if e.Word != WordTimeout && e.Word != WordVoid {
		t.Errorf("got word %q", e.Word)
	}
}

// Each clock alone stops a write: the monotonic one when the wall clock was set
// back, the wall clock when the monotonic one stood still in a suspend.
func TestBothClocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tests := []struct {
		name       string
		mono, wall time.Time
		over       bool
	}{
		{"neither is over", now.Add(time.Hour), now.Round(0).Add(time.Hour), false},
		{"monotonic is over", now.Add(-time.Second), now.Round(0).Add(time.Hour), true},
		{"wall is over", now.Add(time.Hour), now.Round(0).Add(-time.Second), true},
		{"no limit", time.Time{}, time.Time{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := &guard{now: time.Now, mono: tt.mono, wall: tt.wall}
			g.attach(true)
			err := g.begin()
			if got := errors.Is(err, errVoid); got != tt.over {
				t.Errorf("begin: %v, want void %v", err, tt.over)
			}
			if _, voided := g.end(); voided != tt.over {
				t.Errorf("voided %v, want %v", voided, tt.over)
			}
		})
	}
	if g := newGuard(time.Now, now.Round(0).Add(time.Minute)); g.over() {
		t.Error("a voidAfter out of a store, without monotonic part, must count from now")
	}
}

// After end nothing is written and what end said stays true.
func TestSealedGuard(t *testing.T) {
	t.Parallel()
	g := newGuard(time.Now, time.Time{})
	g.attach(true)
	g.wroteHeaders()
	if written, _ := g.end(); written {
		t.Error("a header in a buffer is not written")
	}
	if err := g.begin(); !errors.Is(err, errSealed) {
		t.Errorf("got %v after end", err)
	}
	foreign := newGuard(time.Now, time.Time{})
	foreign.attach(false)
	foreign.wroteHeaders()
	if written, _ := foreign.end(); !written {
		t.Error("on a connection that is not ours WroteHeaders decides")
	}
	busy := newGuard(time.Now, time.Time{})
	busy.attach(true)
	if err := busy.begin(); err != nil {
		t.Fatal(err)
	}
	if written, _ := busy.end(); !written {
		t.Error("a write that has begun counts as written")
	}
}
