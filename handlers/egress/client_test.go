package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	nobody := "http://" + refusing(t) + "/send?access_token=" + secret
	overTLS := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(overTLS.Close)

	script := func(answer func(c *peerConn)) func(*testing.T) string {
		return func(t *testing.T) string {
			return newPeer(t, func(_ int, c *peerConn) {
				if c.readRequest() {
					answer(c)
				}
			}).url()
		}
	}
	fixed := func(u string) func(*testing.T) string { return func(*testing.T) string { return u } }
	tests := []struct {
		name    string
		url     func(*testing.T) string
		options Options
		word    string
		written bool
	}{
		{"refused", fixed(nobody), Options{}, WordRefused, false},
		{"name not found", fixed("http://no-such-host.invalid/x?access_token=" + secret), Options{
			Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "no-such-host.invalid", IsNotFound: true}}
			},
		}, WordDNS, false},
		{"dial hangs", fixed("http://127.0.0.1:1/?access_token=" + secret), Options{
			Timeout: 30 * time.Millisecond,
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}, WordTimeout, false},
		{"plain peer asked for TLS", func(t *testing.T) string {
			return "https" + strings.TrimPrefix(newPeer(t, func(_ int, c *peerConn) { c.answer("HTTP/1.1 400 no\n\n") }).url(), "http")
		}, Options{}, WordTLS, false},
		{"certificate unknown", fixed(overTLS.URL + "/?access_token=" + secret), Options{}, WordTLS, false},
		{"not a scheme", fixed("gopher://127.0.0.1/?access_token=" + secret), Options{}, WordOther, false},
		{"reset after the request", script((*peerConn).reset), Options{}, WordReset, true},
		{"closed after the request", script(func(*peerConn) {}), Options{}, WordReset, true},
		{"no answer", script(func(c *peerConn) { c.readRequest() }), Options{Timeout: 2 * time.Second}, WordTimeout, true},
		{"not HTTP", script(func(c *peerConn) { c.answer("hello\n\n") }), Options{}, WordProtocol, true},
		{"answer cut", script(func(c *peerConn) { c.answer("HTTP/1.1 200 OK\nContent-Length: 100\n\nhalf") }), Options{}, WordReset, true},
		{"answer too long", script(func(c *peerConn) { c.answer("HTTP/1.1 200 OK\nContent-Length: 11\n\n01234567890") }), Options{MaxBody: 10}, WordTooLarge, true},
		{"header too long", script(func(c *peerConn) {
			c.answer("HTTP/1.1 200 OK\nX: " + strings.Repeat("x", 1<<17) + "\n\n")
		}), Options{}, WordReset, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := client(t, tt.options)
			resp, err := c.Do(post(t.Context(), t, tt.url(t), "hello"), time.Now().Add(time.Hour))
			if err == nil {
				t.Fatalf("got status %d, want an error", resp.Status)
			}
			wantError(t, err, tt.word, tt.written)
		})
	}
}

func TestCanceledByTheCaller(t *testing.T) {
	t.Parallel()
	arrived, hang := make(chan struct{}), make(chan struct{})
	p := newPeer(t, func(_ int, c *peerConn) {
		c.readRequest()
		close(arrived)
		<-hang
	})
	defer close(hang)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := client(t, Options{}).Do(post(ctx, t, p.url(), "x"), time.Time{})
	wantError(t, err, WordCanceled, true)
}

func TestAnswersAreAnswers(t *testing.T) {
	t.Parallel()
	var calls sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Store(r.URL.Path, r.Header.Clone())
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("body"))
	}))
	defer s.Close()
	c := client(t, Options{})

	req := post(t.Context(), t, s.URL+"/away", "x")
	req.Header.Set("Idempotency-Key", "k")
	req.Header["X-Idempotency-Key"] = []string{"k"}
	resp, err := c.Do(req, time.Time{})
	if err != nil || resp.Status != http.StatusTemporaryRedirect {
		t.Fatalf("got %v, %v", resp, err)
	}
	if _, followed := calls.Load("/elsewhere"); followed {
		t.Error("a redirect was followed")
	}
	sent, _ := calls.Load("/away")
	for name := range sent.(http.Header) {
		if strings.Contains(name, "Idempotency") {
			t.Errorf("header %s was sent", name)
		}
	}
	if req.Header.Get("Idempotency-Key") != "k" {
		t.Error("the caller's request was changed")
	}

	resp, err = c.Do(post(t.Context(), t, s.URL+"/down", "x"), time.Time{})
	if err != nil || resp.Status != http.StatusServiceUnavailable || string(resp.Body) != "body" || resp.Header.Get("Retry-After") != "7" {
		t.Fatalf("got %+v, %v", resp, err)
	}
}

// A connection that the server closed while it was idle must not cost anything:
// nothing was written to it, so a new one is taken.
func TestIdleConnectionClosedByServer(t *testing.T) {
	t.Parallel()
	shut := make(chan struct{}, 1)
	p := newPeer(t, func(n int, c *peerConn) {
		if !c.readRequest() {
			return
		}
		c.answer(okAnswer)
		if n == 0 {
			_ = c.Close()
			shut <- struct{}{}
			return
		}
		c.readRequest()
	})
	c := client(t, Options{})
	if _, err := c.Do(post(t.Context(), t, p.url(), "first"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	<-shut
	if _, err := c.Do(post(t.Context(), t, p.url(), "second"), time.Time{}); err != nil {
		t.Fatalf("the second call failed: %v", err)
	}
	if n := p.requests("second"); n != 1 {
		t.Errorf("the second request arrived %d times, want 1", n)
	}
}

// A reused connection that ends after the request was read is ambiguous, and the
// request must not be repeated on another one.
func TestReusedConnectionLosesTheAnswer(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(n int, c *peerConn) {
		if n > 0 {
			if c.readRequest() {
				c.answer(okAnswer)
			}
			return
		}
		c.readRequest()
		c.answer(okAnswer)
		c.readRequest()
		c.reset()
	})
	c := client(t, Options{})
	if _, err := c.Do(post(t.Context(), t, p.url(), "first"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	reused := false
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
	_, err := c.Do(post(ctx, t, p.url(), "second"), time.Time{})
	wantError(t, err, WordReset, true)
	if n := p.requests("second"); n != 1 || !reused {
		t.Errorf("the second request arrived %d times (reused %v), want once on the reused connection", n, reused)
	}
}

// Bytes that an idle connection brings (a 408 before closing) answer nothing.
func TestUnsolicitedAnswer(t *testing.T) {
	t.Parallel()
	written := make(chan struct{})
	p := newPeer(t, func(n int, c *peerConn) {
		c.readRequest()
		if n > 0 {
			c.answer(okAnswer)
			return
		}
		c.answer(okAnswer + "HTTP/1.1 408 Request Timeout\nContent-Length: 0\nConnection: close\n\n")
		close(written)
	})
	c := client(t, Options{})
	if _, err := c.Do(post(t.Context(), t, p.url(), "first"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	<-written
	resp, err := c.Do(post(t.Context(), t, p.url(), "second"), time.Time{})
	if err == nil && resp.Status != http.StatusOK {
		t.Fatalf("a stray answer was taken for ours: %d", resp.Status)
	}
	if err != nil {
		wantError(t, err, WordReset, p.requests("second") > 0)
	}
}

// What Do calls "not written" never arrives, whenever the caller gives up.
func TestNotWrittenNeverArrives(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(_ int, c *peerConn) {
		for c.readRequest() {
			c.answer(okAnswer)
		}
	})
	c := client(t, Options{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var unsent []string
	for n := range 400 {
		wg.Go(func() {
			// Give up a varying number of microseconds after the start: before,
			// in the middle of, and after writing.
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*5)*time.Microsecond)
			defer cancel()
			text := fmt.Sprintf("call-%04d", n)
			_, err := c.Do(post(ctx, t, p.url(), text), time.Time{})
			if e, ok := err.(*Error); ok && !e.Written { //nolint:errorlint // Do's own type
				mu.Lock()
				unsent = append(unsent, text)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	c.Close()
	_ = p.Close()
	p.wg.Wait() // every connection was read to its end
	if len(unsent) == 0 {
		t.Skip("no call was given up before writing on this machine")
	}
	for _, text := range unsent {
		if p.requests(text) > 0 {
			t.Errorf("%s was called not written, and arrived", text)
		}
	}
}
