package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

func TestBenchCallbacksAreGenuineAndDifferent(t *testing.T) {
	e := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{benchAppSecret}, VerifyToken: benchVerifyToken})
	m := newCallbackMaker(3)
	list, first, buffer := m.requests(7, "127.0.0.1:1", nil)
	more, second, _ := m.requests(3, "127.0.0.1:1", bytes.Clone(buffer))
	if first != 1 || second != 8 {
		t.Errorf("serials begin at %d and %d, want 1 and 8", first, second)
	}
	keys, people := map[string]bool{}, map[string]bool{}
	for i, raw := range append(list, more...) {
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Verify(&handlers.Request{Header: req.Header, Body: body}); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		items, _, err := e.Decode(&gateway.Payload{Platform: "whatsapp", Body: body})
		if err != nil || len(items) != 1 || items[0].AccountID != benchPhoneID {
			t.Fatalf("request %d: %d items, %v", i, len(items), err)
		}
		keys[items[0].Key] = true
		people[items[0].Chat.Identities[0].Value] = true
		if n, ok := serialOf([]byte(items[0].Content.Text)); !ok || n != int64(i+1) {
			t.Errorf("request %d: the text says turn %d", i, n)
		}
	}
	if len(keys) != 10 || len(people) != 3 {
		t.Errorf("%d ids of %d customers, want 10 of 3", len(keys), len(people))
	}
}

func TestLoad(t *testing.T) {
	var seen atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch n := seen.Add(1); {
		case n%5 == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case n%7 == 0:
			w.Header().Set("Connection", "close")
			_, _ = w.Write([]byte("a body"))
		}
	}))
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	list, _, _ := newCallbackMaker(1).requests(70, addr, nil)
	for name, l := range map[string]benchLoad{
		"closed": {addr: addr, conns: 3, requests: list, limit: time.Minute},
		"open":   {addr: addr, conns: 3, requests: list, limit: time.Minute, rate: 5000},
	} {
		seen.Store(0)
		var begun atomic.Int64
		l.begun = func(int, time.Time) { begun.Add(1) }
		r, err := l.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Sent != 70 || r.OK != 56 || r.Refused != 14 || r.Failed != 0 || begun.Load() != 70 || r.hist.n != 70 {
			t.Errorf("%s: %+v, begun %d; want 70 sent, 56 ok, 14 refused", name, r, begun.Load())
		}
	}
}

func TestLoadCountsWhatIsNotAnswered(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing": "", "no length": "HTTP/1.1 200 OK\r\n\r\n", "bad length": "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"cut body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "another protocol": "SSH-2.0-server\r\n", "bad status": "HTTP/1.1 2x0 OK\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = http.ReadRequest(bufio.NewReader(c))
					_, _ = io.WriteString(c, answer)
					_ = c.Close()
				}
			}()
			list, _, _ := newCallbackMaker(1).requests(3, "host", nil)
			r, err := benchLoad{addr: l.Addr().String(), conns: 1, requests: list, limit: time.Minute}.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Sent != 3 || r.Failed != 3 || r.OK != 0 {
				t.Errorf("%+v, want three failures", r)
			}
			_ = l.Close()
			<-done
		})
	}
}

func TestLoadNeedsAServer(t *testing.T) {
	if _, err := (benchLoad{addr: freePort(t), conns: 1, limit: time.Second}).run(t.Context()); err == nil {
		t.Error("no error without a server")
	}
}

// TestOpenLoadCountsFromTheTime: an answer that comes late makes the requests
// behind it late too.
func TestOpenLoadCountsFromTheTime(t *testing.T) {
	hold := make(chan struct{})
	var seen atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if seen.Add(1) == 1 {
			<-hold
		}
	}))
	defer srv.Close()
	list, _, _ := newCallbackMaker(1).requests(20, "host", nil)
	const late = 200 * time.Millisecond
	timer := time.AfterFunc(late, func() { close(hold) })
	defer timer.Stop()
	r, err := benchLoad{addr: srv.Listener.Addr().String(), conns: 1, requests: list, limit: time.Minute, rate: 1000}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.OK != 20 || r.hist.quantile(0.5) < late/2 {
		t.Errorf("%d ok, p50 %s; want the half of 20 that waited to count their wait", r.OK, r.hist.quantile(0.5))
	}
}

func TestBenchSandbox(t *testing.T) {
	gw := make(chan []byte, 4)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		gw <- b
	}))
	defer srv.Close()
	s, err := newBenchSandbox()
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { stopped <- s.run(ctx, srv.Listener.Addr().String()) }()
	all := s.expect(5, 2)
	s.began(0, time.Now())
	s.began(1, time.Now())
	post := func(text string) int {
		body := fmt.Sprintf(`{"to":"+17770000001","text":{"body":%q},"biz_opaque_callback_data":"ms_1"}`, text)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base()+"/v26.0/"+benchPhoneID+"/messages", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for _, text := range []string{"turn 000000000005: a", "turn 000000000005: again", "no turn", "turn 000000000006: b"} {
		if got := post(text); got != http.StatusOK {
			t.Errorf("%s: status %d", text, got)
		}
	}
	<-all
	if s.replied != 2 || s.doubles != 1 || s.strange != 1 {
		t.Errorf("replied %d, doubles %d, strange %d; want 2, 1, 1", s.replied, s.doubles, s.strange)
	}
	e := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{benchAppSecret}, VerifyToken: benchVerifyToken})
	for range 4 {
		items, _, err := e.Decode(&gateway.Payload{Platform: "whatsapp", Body: <-gw})
		if err != nil || len(items) != 1 || items[0].Content.Status == nil || items[0].Content.Status.Marker != "ms_1" {
			t.Fatalf("status callback: %+v, %v", items, err)
		}
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
