package wecom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// tokenRun is one script of testdata/token_codes.json: what message/send
// answers, and what may come of it.
type tokenRun struct {
	Name       string
	Send       []json.RawMessage
	Parallel   int
	SendFirst  json.RawMessage `json:"send_first"`
	SendAlways json.RawMessage `json:"send_always"`
	ForS       int             `json:"for_s"`
	Expect     struct {
		GetToken    int `json:"gettoken"`
		GetTokenMax int `json:"gettoken_max"`
		Delivered   int
	}
}

// gettoken counts in the script begin with a token already held.
func TestTokenCase(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/token_codes.json")
	if err != nil {
		t.Fatal(err)
	}
	const taken = `{"errcode":0,"errmsg":"ok","msgid":"m"}`
	for _, run := range decodeCase(t, raw) {
		t.Run(run.Name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			warm, scripted, firsts := true, 0, map[string]bool{}
			var a *api
			a = newAPI(t, func(n int, w http.ResponseWriter) {
				mu.Lock()
				defer mu.Unlock()
				answer := []byte(taken)
				switch {
				case warm:
				case run.SendAlways != nil:
					answer = run.SendAlways
				case run.SendFirst != nil:
					// Every call with the token of before is refused.
					a.mu.Lock()
					url := a.urls[n-1] // of this call: others run beside it
					a.mu.Unlock()
					if strings.HasSuffix(url, "TOKENMARK-1") {
						answer = run.SendFirst
						firsts[url] = true
					}
				case scripted < len(run.Send):
					answer = run.Send[scripted]
					scripted++
				}
				_, _ = w.Write(answer)
			})
			clk := &movable{t: time.Now()}
			c := newSender(t, a.URL, egress.Options{}, clk.now)
			send := func() gateway.Outcome { return c.Send(t.Context(), outgoing(toMember("a"), "x", 1)) }
			if o := send(); o.Kind != gateway.OutcomeAccepted {
				t.Fatalf("warm-up: %+v", o)
			}
			mu.Lock()
			warm = false
			mu.Unlock()
			before, delivered := a.tokens, 0
			switch {
			case run.ForS > 0:
				for end := clk.now().Add(time.Duration(run.ForS) * time.Second); clk.now().Before(end); {
					o := send()
					if o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.After < 30*time.Second {
						t.Fatalf("got %+v", o)
					}
					clk.move(o.After)
				}
			case run.Parallel > 0:
				var wg sync.WaitGroup
				outcomes := make(chan gateway.Outcome, run.Parallel)
				for range run.Parallel {
					wg.Go(func() { outcomes <- send() })
				}
				wg.Wait()
				close(outcomes)
				for o := range outcomes {
					if o.Kind == gateway.OutcomeAccepted {
						delivered++
					}
				}
			default:
				if o := send(); o.Kind == gateway.OutcomeAccepted {
					delivered++
				}
			}
			fetched := a.tokens - before
			if delivered != run.Expect.Delivered || (run.Expect.GetToken > 0 && fetched != run.Expect.GetToken) ||
				(run.Expect.GetTokenMax > 0 && fetched > run.Expect.GetTokenMax) {
				t.Errorf("delivered %d, %d tokens fetched; want %+v", delivered, fetched, run.Expect)
			}
		})
	}
}

// A hundred sends with no token make one gettoken call.
func TestTokenSingleFlight(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpToken, DelayMS: 50}); err != nil {
		t.Fatal(err)
	}
	c := newSender(t, s.URL(), egress.Options{}, nil)
	round := func(want int) {
		t.Helper()
		var wg sync.WaitGroup
		for n := range 100 {
			wg.Go(func() {
				if o := c.Send(t.Context(), outgoing(toMember(fmt.Sprint("member", n)), "x", 1)); o.Kind != gateway.OutcomeAccepted {
					t.Errorf("got %+v", o)
				}
			})
		}
		wg.Wait()
		if n := s.TokenCalls(); n != want {
			t.Errorf("%d gettoken calls, want %d", n, want)
		}
	}
	round(1)
	s.RevokeToken() // 40014
	round(2)
	s.ExpireToken() // 42001
	round(3)
	if len(s.CallLog().Overlaps()) != 0 {
		t.Error("calls of one member overlap")
	}
}

// The token is renewed at 85 % of its life, and used to its end when renewing
// fails.
func TestTokenRenewal(t *testing.T) {
	t.Parallel()
	clk := &movable{t: time.Now()}
	s := startSandbox(t, wecomtest.Options{TokenLife: 1000 * time.Second, Now: clk.now})
	c := newSender(t, s.URL(), egress.Options{}, clk.now)
	send := func() gateway.Outcome { return c.Send(t.Context(), outgoing(toMember("a"), "x", 1)) }
	step := func(move time.Duration, tokenCalls int) {
		t.Helper()
		clk.move(move)
		if o := send(); o.Kind != gateway.OutcomeAccepted {
			t.Fatalf("got %+v", o)
		}
		if n := s.TokenCalls(); n != tokenCalls {
			t.Fatalf("%d gettoken calls, want %d", n, tokenCalls)
		}
	}
	step(0, 1)
	step(849*time.Second, 1)
	step(2*time.Second, 2) // renewed: the sandbox gives the same token, 149 s left
	step(100*time.Second, 2)
	if _, err := s.Faults().Add(sandbox.Fault{Name: "down", Op: sandbox.OpToken, Status: 500}); err != nil {
		t.Fatal(err)
	}
	step(30*time.Second, 2) // renewing fails, the old one is good for 19 s more
	clk.move(30 * time.Second)
	o := send()
	if o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.Code != "token_http_500" || o.After <= 0 {
		t.Fatalf("got %+v", o)
	}
	s.Faults().Remove("down")
	clk.move(o.After)
	if o := send(); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("got %+v", o)
	}
}

// A wrong secret is not asked about again and again: WeCom blocks who does.
func TestWrongSecretIsPaced(t *testing.T) {
	t.Parallel()
	clk := &movable{t: time.Now()}
	s := startSandbox(t, wecomtest.Options{})
	e := egress.New(egress.Options{})
	defer e.Close()
	c := wecom.NewClient(wecom.ClientConfig{APIBase: s.URL(), CorpID: corpID, AgentID: agentID, Secret: "WRONGMARK"}, e, clk.now)
	for _, want := range []struct {
		move, after time.Duration
		calls       int
	}{{0, 30 * time.Second, 1}, {10 * time.Second, 20 * time.Second, 1}, {20 * time.Second, time.Minute, 2}, {59 * time.Second, time.Second, 2}, {time.Second, 2 * time.Minute, 3}} {
		clk.move(want.move)
		o := c.Send(t.Context(), outgoing(toMember("a"), "x", 1))
		if o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.Code != "token_40001" || o.After != want.after || s.TokenCalls() != want.calls {
			t.Fatalf("got %+v and %d calls, want %+v", o, s.TokenCalls(), want)
		}
		checkQuiet(t, o, "WRONGMARK")
	}
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		status     int
		code       string
		after      time.Duration
	}{
		{"quota", `{"errcode":45009,"errmsg":"x"}`, 200, "token_45009", time.Minute},
		{"busy", `{"errcode":-1}`, 200, "token_-1", time.Second},
		{"corp id", `{"errcode":40013,"errmsg":"` + secret + `"}`, 200, "token_40013", 30 * time.Second},
		{"unknown code", `{"errcode":55555}`, 200, "token_other", 30 * time.Second},
		{"no token", `{"errcode":0}`, 200, "token_unreadable", 30 * time.Second},
		{"not JSON", `<html>`, 200, "token_http_200", time.Second},
		{"502", ``, 502, "token_http_502", time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.URL.Path, "/cgi-bin/gettoken") {
					t.Error("a message was sent without a token")
				}
				w.WriteHeader(tt.status)
				_, _ = fmt.Fprint(w, tt.body)
			}))
			defer s.Close()
			o := newSender(t, s.URL, egress.Options{}, nil).Send(t.Context(), outgoing(toMember("a"), "x", 1))
			checkQuiet(t, o)
			if o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.Code != tt.code || o.After > tt.after || o.After < tt.after-time.Second/2 {
				t.Errorf("got %+v", o)
			}
		})
	}
}

// The caller who fetches may give up; the others then fetch for themselves.
func TestTokenFetcherGivesUp(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := func(*sandbox.Call) bool { cancel(); return true }
	if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpToken, Drop: sandbox.DropHang, Next: 1, Match: asked}); err != nil {
		t.Fatal(err)
	}
	c := newSender(t, s.URL(), egress.Options{}, nil)
	first := make(chan gateway.Outcome, 1)
	go func() { first <- c.Send(ctx, outgoing(toMember("a"), "x", 1)) }()
	<-ctx.Done()
	var wg sync.WaitGroup
	for n := range 10 {
		wg.Go(func() {
			if o := c.Send(t.Context(), outgoing(toMember(fmt.Sprint("m", n)), "x", 1)); o.Kind != gateway.OutcomeAccepted {
				t.Errorf("got %+v", o)
			}
		})
	}
	wg.Wait()
	if o := <-first; o.Kind != gateway.OutcomeRetry || o.Code != "canceled" || o.Scope != gateway.ScopePair {
		t.Errorf("got %+v", o)
	}
	if n := s.TokenCalls(); n != 1 { // the hanging one was not counted by the platform
		t.Errorf("%d tokens given", n)
	}
}
