package handlers_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers"
)

// dial opens a bare connection to the front door.
func (f *front) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// A length over the limit is refused although not one byte of the body came,
// and the connection ends there.
func TestTooLargeByLength(t *testing.T) {
	f := open(t, nil)
	c := f.dial(t)
	if _, err := fmt.Fprintf(c, "POST /webhooks/whatsapp/meta HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 413 || !res.Close {
		t.Errorf("%d, close %v", res.StatusCode, res.Close)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays: %v", err)
	}
	if f.count(t, "causeway_webhook_requests_total", "413") != 1 {
		t.Error("not counted")
	}
}

// Chunks over the limit are refused once the limit is passed; the rest is not
// read.
func TestTooLargeByChunks(t *testing.T) {
	f := open(t, func(o *handlers.Options) { o.Limits.Body = 256 << 10 })
	c := f.dial(t)
	answer := make(chan *http.Response, 1)
	go func() {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_ = res.Body.Close()
		}
		answer <- res
	}()
	if _, err := fmt.Fprint(c, "POST /webhooks/whatsapp/meta HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	chunk := append([]byte("10000\r\n"), append(bytes.Repeat([]byte("a"), 1<<16), "\r\n"...)...)
	sent := 0
	for ; sent < 100<<20; sent += 1 << 16 {
		if _, err := c.Write(chunk); err != nil {
			break // the server has closed
		}
	}
	if sent >= 100<<20 {
		t.Error("100 MiB were taken")
	}
	if res := <-answer; res == nil || res.StatusCode != 413 {
		t.Errorf("answer %v", res)
	}
}

// Bodies of every size up to the limit arrive whole, with and without a length.
func TestBodySizes(t *testing.T) {
	const limit = 300 << 10
	f := open(t, func(o *handlers.Options) { o.Limits.Body = limit })
	for _, size := range []int{0, 1, 8191, 8192, 8193, 65535, 65536, 65537, limit - 1, limit, limit + 1} {
		body := bytes.Repeat([]byte{byte(size), 'x', 0}, size/3+1)[:size]
		for _, chunked := range []bool{false, true} {
			var r io.Reader = bytes.NewReader(body)
			if chunked {
				r = io.MultiReader(r) // hides the length
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/webhooks/whatsapp/meta", r)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Hub-Signature-256", sign(body))
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			want := 200
			if size > limit {
				want = 413
			}
			if res.StatusCode != want {
				t.Errorf("%d bytes, chunked %v: %d", size, chunked, res.StatusCode)
			}
			if list := f.archived(t); want == 200 && !bytes.Equal(list[len(list)-1].Body, body) {
				t.Errorf("%d bytes, chunked %v: other bytes archived", size, chunked)
			}
		}
	}
}

// A client that sends its header or its body slowly is cut off, while others
// are served.
func TestSlowClients(t *testing.T) {
	f := open(t, func(o *handlers.Options) {
		o.Limits.Header, o.Limits.Read, o.Limits.Idle = 150*time.Millisecond, 300*time.Millisecond, 150*time.Millisecond
	})
	for name, first := range map[string]string{
		"header": "POST /webhooks/whatsapp/meta HTTP/1.1\r\nHost: x\r\nX-A: ",
		"body":   "POST /webhooks/whatsapp/meta HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"idle":   "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
		"silent": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := f.dial(t)
			if _, err := io.WriteString(c, first); err != nil {
				t.Fatal(err)
			}
			stop, done := make(chan struct{}), make(chan struct{})
			go func() { // a byte now and then, as the attack does
				defer close(done)
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				for name == "header" || name == "body" {
					select {
					case <-tick.C:
						if _, err := io.WriteString(c, "a"); err != nil {
							return
						}
					case <-stop:
						return
					}
				}
			}()
			started := time.Now()
			text, err := io.ReadAll(c)
			close(stop)
			<-done
			if errors.Is(err, os.ErrDeadlineExceeded) || time.Since(started) > 10*time.Second {
				t.Errorf("still open after %v", time.Since(started))
			}
			if name == "body" && !strings.HasPrefix(string(text), "HTTP/1.1 408") {
				t.Errorf("answer %q", text)
			}
		})
	}
	t.Run("others", func(t *testing.T) {
		t.Parallel()
		res, _ := f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", []byte("{}"), http.Header{"X-Hub-Signature-256": {sign([]byte("{}"))}})
		if res.StatusCode != 200 {
			t.Errorf("%d", res.StatusCode)
		}
	})
}

func TestLargeHeader(t *testing.T) {
	f := open(t, nil)
	res, _ := f.send(t, http.MethodPost, "/webhooks/whatsapp/meta", nil, http.Header{"X-A": {strings.Repeat("a", 40<<10)}})
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", res.StatusCode)
	}
}

// A body that ends early is a 400 and leaves nothing.
func TestShortBody(t *testing.T) {
	f := open(t, nil)
	c := f.dial(t)
	if _, err := fmt.Fprint(c, "POST /webhooks/whatsapp/meta HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400") {
		t.Errorf("%q, %v", text, err)
	}
	if len(f.archived(t)) != 0 || len(f.rejects(t)) != 0 {
		t.Error("half a body was stored")
	}
}
