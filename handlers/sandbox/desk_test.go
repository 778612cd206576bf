package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
)

// newDesk serves a platform that takes everything; ?text= is the message.
func newDesk(t *testing.T) (*Desk, *Server) {
	t.Helper()
	closed := make(chan struct{})
	d := &Desk{Calls: NewCallLog(0), Faults: &Faults{}, Now: time.Now, Closed: closed}
	refuse := func(code, status int) Answer {
		if status == 0 {
			status = http.StatusBadRequest
		}
		return Answer{Status: status, Body: []byte("code " + strconv.Itoa(code)), Code: strconv.Itoa(code)}
	}
	s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		d.Take(w, r, OpSend, Call{To: "a", Text: r.URL.Query().Get("text")}, func() Answer {
			return Answer{Status: http.StatusOK, Body: []byte("taken"), Accepted: true, MessageID: "id"}
		}, refuse)
	}), zap.NewNop())
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(closed)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, s
}

func get(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("x"))
	if err != nil {
		return 0, "", err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestDesk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		fault    Fault
		status   int // 0: no answer
		body     string
		accepted bool
		code     string
	}{
		{"no fault", Fault{Text: "other", Code: 1}, 200, "taken", true, ""},
		{"slow", Fault{DelayMS: 1}, 200, "taken", true, ""},
		{"slow after", Fault{Stage: After, DelayMS: 1}, 200, "taken", true, ""},
		{"code before", Fault{Code: 131056}, 400, "code 131056", false, "131056"},
		{"code before, other status", Fault{Code: 130429, Status: 429}, 429, "code 130429", false, "130429"},
		{"bare 500 before", Fault{Status: 500}, 500, "<html>fault of the sandbox</html>", false, "http_500"},
		{"bare 500 after", Fault{Stage: After, Status: 500}, 500, "<html>fault of the sandbox</html>", true, "http_500"},
		{"reset before", Fault{Drop: DropReset}, 0, "", false, "reset"},
		{"reset after", Fault{Stage: After, Drop: DropReset}, 0, "", true, "reset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, s := newDesk(t)
			if _, err := d.Faults.Add(tt.fault); err != nil {
				t.Fatal(err)
			}
			status, body, err := get(t.Context(), s.URL()+"/?text=x")
			if status != tt.status || body != tt.body || (err == nil) != (tt.status != 0) {
				t.Errorf("got %d %q %v", status, body, err)
			}
			if tt.status == 0 && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v, want a reset", err)
			}
			c := d.Calls.Calls()[0]
			if c.Accepted != tt.accepted || c.Code != tt.code || c.Status != tt.status || c.End.Before(c.Start) {
				t.Errorf("got %+v", c)
			}
		})
	}
}

// An answer that never comes ends with the caller, or with the sandbox.
func TestHangEnds(t *testing.T) {
	t.Parallel()
	d, s := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	taken := func(*Call) bool { cancel(); return true } // the caller gives up once it is taken
	if _, err := d.Faults.Add(Fault{Stage: After, Drop: DropHang, Match: taken}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := get(ctx, s.URL()); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if err := s.Refuse(); err != nil { // waits for the call
		t.Fatal(err)
	}
	if c := d.Calls.Calls()[0]; !c.Accepted || c.Code != "hang" || c.End.IsZero() {
		t.Errorf("got %+v", c)
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	d, s := newDesk(t)
	before := s.URL()
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := get(t.Context(), before); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want refused", err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	if s.URL() != before {
		t.Errorf("came back at %s, was %s", s.URL(), before)
	}
	if status, _, err := get(t.Context(), before); err != nil || status != 200 {
		t.Errorf("got %d, %v", status, err)
	}
	if err := s.Listen(""); err == nil {
		t.Error("listened twice")
	}
	if n := len(d.Calls.Calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err == nil {
		t.Error("listened after Close")
	}
}

func TestControlIsLocal(t *testing.T) {
	t.Parallel()
	courier := NewCourier(CourierOptions{Log: zap.NewNop()})
	defer courier.Close()
	d := &Desk{Calls: NewCallLog(0), Faults: &Faults{}, Now: time.Now}
	c := NewControl(d, courier)
	for _, tt := range []struct {
		remote, host string
		want         int
	}{
		{"127.0.0.1:5", "127.0.0.1:80", 200}, {"[::1]:5", "localhost:80", 200}, {"127.0.0.1:5", "[::1]", 200},
		{"10.0.0.7:5", "127.0.0.1:80", 403}, {"127.0.0.1:5", "evil.example:80", 403}, {"", "", 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_sandbox/summary", nil)
		r.RemoteAddr, r.Host = tt.remote, tt.host
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s to %s: got %d", tt.remote, tt.host, w.Code)
		}
	}
	d.Calls.Begin(Call{Start: time.Now(), To: "a"})
	d.Calls.Begin(Call{Start: time.Now(), To: "b", Text: "1"})
	d.Calls.Begin(Call{Start: time.Now(), To: "b", Text: "<2>"})
	for query, want := range map[string]int{"": 3, "?to=b": 2, "?to=b&limit=1": 1, "?limit=0": -1, "?limit=x": -1} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_sandbox/calls"+query, nil)
		r.RemoteAddr, r.Host = "127.0.0.1:5", "localhost"
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		var calls []Call
		if err := json.Unmarshal(w.Body.Bytes(), &calls); (err == nil) != (want >= 0) || (want >= 0 && len(calls) != want) {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
}
