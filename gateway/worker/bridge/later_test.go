package bridge_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker/bridge"
)

// post answers later, as the admin listener does for a bot.
func (r *rig) post(token, body string) error {
	r.t.Helper()
	take, ok := r.bridge.AnswerTo(token)
	if !ok {
		r.t.Fatalf("%s is not taken", token)
	}
	return take(r.t.Context(), []byte(body))
}

// called waits for the n-th request and returns its token.
func (r *rig) called(n int) string {
	r.t.Helper()
	r.until("a request", func() bool { return len(r.posts()) >= n })
	return r.posts()[n-1].Event.ReplyToken
}

// 202, and the answer by the other way: it is stored once, and the conversation goes
// on. A wrong answer changes nothing.
func TestLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, status(202, ""), nil)
	for seq := int64(1); seq <= 3; seq++ {
		ev := r.offer(1, seq)
		token := r.called(int(seq))
		r.until("the 202 has come", func() bool { return r.bridge.State().Calls[bridge.Later] == seq })
		if err := r.post(token, `{"verdict":"done","replies":[{"type":"image"}]}`); !errors.Is(err, gateway.ErrBadAnswer) || !strings.Contains(err.Error(), "replies[0].file") {
			t.Errorf("a wrong answer: %v", err)
		}
		if err := r.post(token, `{"verdict":"done","build":"v7","replies":[{"text":"the bot says hello"}]}`); err != nil {
			t.Fatal(err)
		}
		if a := r.broker.Answer(); a.Event != ev.Delivery || a.Verdict != gateway.VerdictDone || a.Build != "v7" || len(a.Replies) != 1 {
			t.Errorf("answer %+v", a)
		}
	}
	if n := len(r.posts()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	state := r.bridge.State()
	if state.Calls[bridge.Later] != 3 || state.Circuit != bridge.CircuitClosed {
		t.Errorf("state %+v", state)
	}
}

// The answer comes before the response to the request has: the request is cut, the
// delivery acknowledged.
func TestAnswerBeforeTheResponse(t *testing.T) {
	t.Parallel()
	var cut atomic.Int32
	r := newRig(t, func(_ http.ResponseWriter, req *http.Request) {
		<-req.Context().Done()
		cut.Add(1)
	}, nil)
	ev := r.offer(1, 1)
	if err := r.post(r.called(1), `{"verdict":"done","replies":[]}`); err != nil {
		t.Fatal(err)
	}
	if a := r.broker.Answer(); a.Event != ev.Delivery || a.Verdict != gateway.VerdictDone {
		t.Errorf("answer %+v", a)
	}
	r.offer(1, 2) // its place is free
	r.until("the request is cut", func() bool { return cut.Load() == 1 })
}

// 202 and then nothing is a failed try when answer_by has passed; so is a 202 when
// nobody could tell the bot where to answer.
func TestNeverAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bridge.Options)
		want   string
	}{
		"too late": {func(o *bridge.Options) { o.AnswerBy = 200 * time.Millisecond; o.Timeout = 200 * time.Millisecond }, "nothing within 200ms"},
		"no way":   {func(o *bridge.Options) { o.AnswersURL = "" }, "admin.url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, status(202, ""), c.change)
			r.offer(1, 1)
			if a := r.broker.Answer(); a.Verdict != gateway.VerdictRetry || !strings.Contains(a.Error, c.want) {
				t.Errorf("answer %+v", a)
			}
			if e := r.posts()[0].Event; (e.ReplyURL == "") != (name == "no way") || (e.ReplyToken == "") != (name == "no way") {
				t.Errorf("reply to %q with %q", e.ReplyURL, e.ReplyToken)
			}
		})
	}
}

// A bridge that is told to end hands back what waits for an answer or for the
// circuit, at once and without a try.
func TestStopHandsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, status(202, ""), nil)
	r.offer(1, 1)
	r.called(1)
	r.stop()
	if a := r.broker.Answer(); a.Verdict != gateway.VerdictHandback || a.AfterMS != 0 {
		t.Errorf("answer %+v", a)
	}
	if err := r.post(r.posts()[0].Event.ReplyToken, `{"verdict":"done"}`); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("an answer to a bridge that ended: %v", err)
	}
}

// Never more than Concurrency at the endpoint, those of later included; the others
// are handed out by the broker when a place is free.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	r := newRig(t, status(202, ""), func(o *bridge.Options) { o.Concurrency = 2 })
	for i := range 5 {
		r.offer(i, 1)
	}
	for n := 1; n <= 5; n++ {
		token := r.called(n)
		r.until("the others are at work", func() bool { return len(r.posts()) >= min(n+1, 5) })
		if got := len(r.posts()); got > n+1 {
			t.Errorf("%d requests after %d answers, want at most %d", got, n-1, n+1)
		}
		if err := r.post(token, `{"verdict":"done"}`); err != nil {
			t.Fatal(err)
		}
		r.broker.Answer()
	}
}

// While the endpoint is away nothing is sent and no try spent; when it is back one
// probe goes first, and then all.
func TestAwayAndBack(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}, nil)
	// Ten failures over five conversations, each a try.
	for n := range 10 {
		r.offer(n%5, int64(1+n/5))
		if a := r.broker.Answer(); a.Verdict != gateway.VerdictRetry {
			t.Fatalf("answer %+v to call %d", a, n)
		}
	}
	if s := r.bridge.State(); s.Circuit != bridge.CircuitOpen || !strings.Contains(s.Why, "502") || s.NextProbe.IsZero() {
		t.Fatalf("state %+v, want open", s)
	}
	for i := range 4 {
		r.offer(10+i, 1)
	}
	if a := r.broker.Answer(); a.Verdict != gateway.VerdictHandback { // of the first probe
		t.Errorf("answer %+v to a probe, want handback: no try", a)
	}
	broken.Store(false)
	for range 3 {
		if a := r.broker.Answer(); a.Verdict != gateway.VerdictDone && a.Verdict != gateway.VerdictHandback {
			t.Errorf("answer %+v", a)
		}
	}
	r.until("it is closed", func() bool { return r.bridge.State().Circuit == bridge.CircuitClosed })
}
