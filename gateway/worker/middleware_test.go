package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// mark is middleware that writes down when it is entered and left.
func mark(name string, said *[]string) worker.Middleware {
	return func(h worker.Handler) worker.Handler {
		return func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			*said = append(*said, "into "+name)
			replies, err := h(ctx, ev)
			*said = append(*said, "out of "+name)
			return replies, err
		}
	}
}

// The first middleware is the outermost, and a panic comes to all as an error.
func TestChain(t *testing.T) {
	var said []string
	var seen error
	last := func(h worker.Handler) worker.Handler {
		return func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			replies, err := h(ctx, ev)
			seen = err
			return replies, err
		}
	}
	h := worker.Chain(func(context.Context, *gateway.Event) ([]gateway.Reply, error) { panic("what the customer wrote") },
		mark("first", &said), mark("second", &said), last)
	a := workertest.Ask(t.Context(), h, workertest.Text(conv, 1, "x"))
	if want := []string{"into first", "into second", "out of second", "out of first"}; !slices.Equal(said, want) {
		t.Errorf("order %q, want %q", said, want)
	}
	p := (*worker.PanicError)(nil)
	if !errors.As(seen, &p) || !strings.Contains(string(p.Stack), "TestChain") {
		t.Errorf("the innermost middleware saw %v", seen)
	}
	if a.Verdict != gateway.VerdictRetry || strings.Contains(a.Error, "customer") {
		t.Errorf("answer %+v", a)
	}
}

// What a panic is called: the runtime's words, else the kind of its value.
func TestPanicsAreNamed(t *testing.T) {
	const at = " at github.com/causewayhq/causeway/gateway/worker_test.TestPanicsAreNamed.func"
	for what, f := range map[string]func(list []int){
		"panic: runtime error: index out of range [3] with length 0" + at:              func(list []int) { _ = list[3] },
		"panic: *errors.errorString" + at:                                              func([]int) { panic(errors.New("secret")) },
		"panic: runtime error: invalid memory address or nil pointer dereference" + at: nil,
	} {
		h := func(context.Context, *gateway.Event) ([]gateway.Reply, error) { f(nil); return nil, nil }
		if a := workertest.Ask(t.Context(), h, workertest.Text(conv, 1, "x")); !strings.HasPrefix(a.Error, what) || a.Verdict != gateway.VerdictRetry {
			t.Errorf("got %s %q, want %q…", a.Verdict, a.Error, what)
		}
	}
}

// Every line names the event and how it ended, and holds no text.
func TestLogHoldsNoText(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	secret := "SECRET"
	handlers := map[string]worker.Handler{
		"done/INFO":      say(secret),
		"retry/WARN":     fail(errors.New(secret)),
		"dead/WARN":      fail(worker.Dead(errors.New(secret))),
		"handback/WARN":  fail(worker.Handback(time.Second)),
		"retry/ERROR":    func(context.Context, *gateway.Event) ([]gateway.Reply, error) { panic(secret) },
		"retry/WARN/bad": say(strings.Repeat(secret, gateway.MaxReplyBytes)), // the gateway would refuse it
	}
	for want, h := range handlers {
		out.Reset()
		workertest.Ask(t.Context(), worker.Chain(h, worker.Log(log)), workertest.Text(conv, 3, secret))
		var line struct {
			Level, Msg, Event, Conv, Verdict, Stack string
			Seq                                     int64
			Try                                     int
		}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %s", want, err, out.String())
		}
		if got := line.Verdict + "/" + line.Level; !strings.HasPrefix(want, got) || line.Msg != "event.handled" ||
			line.Event != "ev_"+conv+"-3" || line.Conv != conv || line.Seq != 3 || line.Try != 1 {
			t.Errorf("%s: %s", want, out.String())
		}
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s: a text is in the log: %s", want, out.String())
		}
		if (line.Stack != "") != (line.Level == "ERROR") {
			t.Errorf("%s: stack %q", want, line.Stack)
		}
	}
}

// counts is a bot's metrics.
type counts struct {
	running  int
	verdicts map[gateway.Verdict]int
}

func (c *counts) Began(context.Context, *gateway.Event) { c.running++ }
func (c *counts) Ended(_ context.Context, _ *gateway.Event, h worker.Handled) {
	c.running--
	c.verdicts[h.Verdict] += 1 + h.Replies
}

func TestObserve(t *testing.T) {
	c := &counts{verdicts: map[gateway.Verdict]int{}}
	for _, h := range []worker.Handler{say("hi"), fail(errors.New("x")), func(context.Context, *gateway.Event) ([]gateway.Reply, error) { panic(1) }} {
		workertest.Ask(t.Context(), worker.Chain(h, worker.Observe(c)), workertest.Text(conv, 1, "x"))
	}
	if c.running != 0 || c.verdicts[gateway.VerdictDone] != 2 || c.verdicts[gateway.VerdictRetry] != 2 {
		t.Errorf("%+v", c)
	}
}

// The trace that the gateway named comes to the handler, the same one in every try,
// and the middleware given to Use is around it.
func TestTraceComesWithTheEvent(t *testing.T) {
	b := workertest.Start(t, bot())
	type key struct{}
	traces, ended := make(chan string, 2), make(chan error, 2)
	w, err := worker.New(b.Options())
	if err != nil {
		t.Fatal(err)
	}
	w.Use(worker.Trace(func(ctx context.Context, _ *gateway.Event, traceparent string) (context.Context, func(error)) {
		return context.WithValue(ctx, key{}, traceparent), func(err error) { ended <- err }
	}))
	boom := errors.New("boom")
	b.RunWorker(t.Context(), w, func(ctx context.Context, _ *gateway.Event) ([]gateway.Reply, error) {
		trace, _ := ctx.Value(key{}).(string)
		traces <- trace
		return nil, boom
	})
	ev := workertest.Text(conv, 1, "x")
	offerWhenFree(t, b, ev)
	b.Answer()
	offerWhenFree(t, b, ev)
	b.Answer()
	first, second := <-traces, <-traces
	if len(first) != 55 || first[:36] != gateway.Traceparent(ev.Event, "")[:36] || second[:36] != first[:36] || first == second {
		t.Errorf("traces %q, %q", first, second)
	}
	for range 2 {
		if err := <-ended; !errors.Is(err, boom) {
			t.Errorf("the end was told %v", err)
		}
	}
}

// A bot that links the SDK links no server, no web framework and no SQL driver.
func TestWhatABotLinks(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, heavy := range []string{"nats-server", "gin-gonic/gin", "database/sql", "modernc.org", "pgx", "prometheus", "causeway/store", "causeway/handlers", "causeway/config", "testing"} {
		for path := range strings.Lines(string(out)) {
			if strings.Contains(path, heavy) {
				t.Errorf("a bot links %s", strings.TrimSpace(path))
			}
		}
	}
}
