package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const secret = "SECRETMARK-31337"

// peer is a raw TCP server: script handles each connection, in order of
// acceptance, and may answer anything or nothing.
type peer struct {
	net.Listener
	wg sync.WaitGroup

	mu   sync.Mutex
	seen [][]byte // what each connection sent
}

func newPeer(t *testing.T, script func(n int, c *peerConn)) *peer {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{Listener: l}
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.seen = append(p.seen, nil)
			p.mu.Unlock()
			p.wg.Add(1)
			go func() {
				defer p.wg.Done()
				defer func() { _ = c.Close() }()
				script(n, &peerConn{Conn: c, p: p, n: n})
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); p.wg.Wait() })
	return p
}

// refusing is an address at which nobody listens while the test lasts: the near end
// of a connection, where nobody else can.
func refusing(t *testing.T) string {
	t.Helper()
	far := newPeer(t, func(_ int, c *peerConn) { c.readRequest() })
	near, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", far.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close() }) // before the far end waits for it
	return near.LocalAddr().String()
}

func (p *peer) url() string { return "http://" + p.Addr().String() + "/send?access_token=" + secret }

// requests counts how often a text was received, over all connections.
func (p *peer) requests(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(string(bytes.Join(p.seen, nil)), text)
}

// peerConn keeps what it reads.
type peerConn struct {
	net.Conn
	p *peer
	n int
}

func (c *peerConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.seen[c.n] = append(c.p.seen[c.n], b[:n]...)
	return n, err
}

// readRequest reads one request whose body ends with "END".
func (c *peerConn) readRequest() bool {
	buf, got := make([]byte, 4096), ""
	for !strings.HasSuffix(got, "END") {
		n, err := c.Read(buf)
		if err != nil {
			return false
		}
		got += string(buf[:n])
	}
	return true
}

func (c *peerConn) answer(s string) {
	_, _ = io.WriteString(c, strings.ReplaceAll(s, "\n", "\r\n"))
}

const okAnswer = "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"

func (c *peerConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func post(ctx context.Context, t *testing.T, url, text string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text+" END"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	return req
}

// client makes a Client that is closed with the test.
func client(t *testing.T, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

// wantError checks word and Written, and that nothing secret is in the text.
func wantError(t *testing.T, err error, word string, written bool) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if e.Word != word || e.Written != written {
		t.Errorf("got word %q written %v, want %q %v", e.Word, e.Written, word, written)
	}
	for u := err; u != nil; u = errors.Unwrap(u) {
		if strings.Contains(u.Error(), secret) || strings.Contains(u.Error(), "access_token") {
			t.Errorf("the error holds a secret: %v", u)
		}
	}
}

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}
