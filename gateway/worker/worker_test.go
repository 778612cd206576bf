package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

const conv = "abcdefghijklmnopqrstuvwxyz"

func bot() gateway.Application {
	return gateway.Application{Name: "bot", Tries: 3, AckWait: 4 * time.Second, HandlerMax: time.Minute, Replies: true}
}

func say(text string) worker.Handler {
	return func(context.Context, *gateway.Event) ([]gateway.Reply, error) { return worker.Text(text), nil }
}

func fail(err error) worker.Handler {
	return func(context.Context, *gateway.Event) ([]gateway.Reply, error) { return nil, err }
}

func TestAnswerOfHandler(t *testing.T) {
	boom := errors.New("backend away")
	for _, c := range []struct {
		name    string
		h       worker.Handler
		verdict gateway.Verdict
		after   int64
		text    string // of the error
		replies int
	}{
		{"replies", say("hi"), gateway.VerdictDone, 0, "", 1},
		{"nothing to say", fail(nil), gateway.VerdictDone, 0, "", 0},
		{"error", fail(boom), gateway.VerdictRetry, 0, "backend away", 0},
		{"retry", fail(worker.Retry(boom, 3*time.Second)), gateway.VerdictRetry, 3000, "backend away", 0},
		{"retry without error", fail(worker.Retry(nil, 0)), gateway.VerdictRetry, 0, "", 0},
		{"dead", fail(worker.Dead(boom)), gateway.VerdictDead, 0, "backend away", 0},
		{"handback", fail(worker.Handback(time.Second)), gateway.VerdictHandback, 1000, "", 0},
		{"too far", fail(worker.Handback(1000 * time.Hour)), gateway.VerdictHandback, 86_400_000, "", 0},
		{"in the past", fail(worker.Handback(-time.Hour)), gateway.VerdictHandback, 0, "", 0},
		{"wrapped", fail(errors.Join(errors.New("x"), worker.Dead(boom))), gateway.VerdictDead, 0, "backend away", 0},
		{"panic", func(context.Context, *gateway.Event) ([]gateway.Reply, error) { panic("oh") }, gateway.VerdictRetry, 0, "panic: string at github.com/causewayhq/causeway/gateway/worker_test.TestAnswerOfHandler.func1 (worker_test.go:", 0},
		{"empty text", say(""), gateway.VerdictRetry, 0, "replies[0].text", 0},
		{"bad UTF-8", say("\xff"), gateway.VerdictRetry, 0, "replies[0].text", 0},
		{"long text", say(strings.Repeat("x", gateway.MaxReplyBytes+1)), gateway.VerdictRetry, 0, "replies[0].text", 0},
		{"many replies", func(context.Context, *gateway.Event) ([]gateway.Reply, error) {
			return make([]gateway.Reply, gateway.MaxReplies+1), nil
		}, gateway.VerdictRetry, 0, "21 replies", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := workertest.Ask(t.Context(), c.h, workertest.Text(conv, 1, "hello"))
			if a.Verdict != c.verdict || a.AfterMS != c.after || len(a.Replies) != c.replies || !strings.Contains(a.Error, c.text) {
				t.Errorf("got %s after %d, %d replies, error %q", a.Verdict, a.AfterMS, len(a.Replies), a.Error)
			}
			if a.Event != "ev_"+conv+"-1" || a.Replies == nil {
				t.Errorf("event %q, replies nil: %t", a.Event, a.Replies == nil)
			}
		})
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		o    worker.Options
		want string
	}{
		{worker.Options{URL: "x", App: "Bad Name"}, "App"},
		{worker.Options{App: "bot"}, "URL"},
		{worker.Options{URL: "x", App: "bot", Concurrency: -1}, "Concurrency"},
		{worker.Options{URL: "x", App: "bot", Grace: -1}, "Grace"},
	} {
		if _, err := worker.New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error naming %s", c.o, err, c.want)
		}
	}
}

func TestRunAnswersAndAcks(t *testing.T) {
	b := workertest.Start(t, bot())
	opts := b.Options()
	opts.Build = "v7"
	b.Run(t.Context(), opts, func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if i := worker.Info(ctx); i.ID != ev.Delivery || i.Try != 1 || i.Delivered != 1 {
			t.Errorf("info %+v", i)
		}
		return worker.Text("you wrote " + ev.Text), nil
	})
	for seq := int64(1); seq <= 3; seq++ {
		offerWhenFree(t, b, workertest.Text(conv, seq, "hello & <you>"))
		a := b.Answer()
		if a.Verdict != gateway.VerdictDone || len(a.Replies) != 1 || a.Replies[0].Text != "you wrote hello & <you>" ||
			a.Build != "v7" || a.Delivered != 1 || a.Try != 1 {
			t.Errorf("answer %+v", a)
		}
	}
}

// offerWhenFree offers until the place is free: the answer is taken before the
// acknowledgement has reached the gate.
func offerWhenFree(t *testing.T, b *workertest.Broker, ev *gateway.Event) {
	t.Helper()
	until(t, "a free place", func() bool {
		got := b.Offer(ev)
		if got.State == gateway.OfferFailed {
			t.Fatalf("offer: %v", got.Err)
		}
		return got.State == gateway.OfferTaken
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not in 30 s: %s", what)
		case <-tick.C:
		}
	}
}

func TestUnreadableBodyIsDead(t *testing.T) {
	b := workertest.Start(t, bot())
	nc := connectGateway(t, b)
	b.Run(t.Context(), b.Options(), func(context.Context, *gateway.Event) ([]gateway.Reply, error) {
		t.Error("the handler was called")
		return nil, nil
	})
	m := &nats.Msg{Subject: "cw.ready.bot.whatsapp.test." + conv, Header: nats.Header{"ce-id": {"ev_odd"}}, Data: []byte("{")}
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	if a := b.Answer(); a.Verdict != gateway.VerdictDead || a.Event != "ev_odd" {
		t.Errorf("answer %+v", a)
	}
}

func connectGateway(t *testing.T, b *workertest.Broker) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", b.Server().ConnectOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// A handler that takes 0.75 or 2.25 times AckWait, and two workers: nothing runs
// twice, nothing overlaps, the order stays.
func TestSlowHandlerKeepsItsEvent(t *testing.T) {
	app := bot()
	app.AckWait = 2 * time.Second
	b := workertest.Start(t, app)
	var running atomic.Int32
	handler := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if running.Add(1) != 1 {
			t.Error("two handlers at once in one conversation")
		}
		defer running.Add(-1)
		factor := 75
		if ev.Seq%2 == 0 {
			factor = 225
		}
		timer := time.NewTimer(app.AckWait * time.Duration(factor) / 100)
		defer timer.Stop()
		<-timer.C
		return nil, nil
	}
	for range 2 {
		b.Run(t.Context(), b.Options(), handler)
	}
	for seq := int64(1); seq <= 4; seq++ {
		ev := workertest.Text(conv, seq, "slow")
		offerWhenFree(t, b, ev)
		if a := b.Answer(); a.Event != ev.Delivery || a.Delivered != 1 {
			t.Errorf("answer for %s, delivery %d; want %s, 1", a.Event, a.Delivered, ev.Delivery)
		}
	}
}

// A handler whose answer went out by another way: one answer is stored, and the
// offer leaves the gate.
func TestAnsweredIsOnlyAcked(t *testing.T) {
	b := workertest.Start(t, bot())
	nc := connectGateway(t, b)
	b.Run(t.Context(), b.Options(), func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		info := worker.Info(ctx)
		if again, err := gateway.DecodeEvent(info.Body); err != nil || again.Text != ev.Text || nats.Header(info.Header).Get("Cw-Conv") != conv {
			t.Errorf("body %s, header %v", info.Body, info.Header)
		}
		answer := fmt.Sprintf(`{"event": %q, "verdict": "done", "replies": [], "build": "by hand"}`, info.ID)
		if err := nc.Publish("cw.reply.bot.whatsapp.test."+conv, []byte(answer)); err != nil {
			t.Error(err)
		}
		return worker.Text("never"), worker.Answered()
	})
	for seq := int64(1); seq <= 2; seq++ {
		ev := workertest.Text(conv, seq, "x")
		offerWhenFree(t, b, ev)
		if a := b.Answer(); a.Event != ev.Delivery || a.Build != "by hand" || len(a.Replies) != 0 {
			t.Errorf("answer %+v", a)
		}
	}
}

func TestHandlerMaxEndsTheContext(t *testing.T) {
	app := bot()
	app.HandlerMax = 50 * time.Millisecond
	b := workertest.Start(t, app)
	b.Run(t.Context(), b.Options(), func(ctx context.Context, _ *gateway.Event) ([]gateway.Reply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	b.Offer(workertest.Text(conv, 1, "x"))
	if a := b.Answer(); a.Verdict != gateway.VerdictRetry || a.Error != worker.ErrHandlerMax.Error() {
		t.Errorf("answer %+v", a)
	}
}

func TestStopHandsBackAndWaits(t *testing.T) {
	b := workertest.Start(t, bot())
	started, release := make(chan string, 10), make(chan struct{})
	opts := b.Options()
	opts.Concurrency = 2
	w, err := worker.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.Run(ctx, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			started <- ev.Event
			<-release
			return worker.Text("done"), nil
		})
	}()
	b.Offer(workertest.Text(conv, 1, "x"))
	<-started
	cancel()
	select {
	case err := <-ended:
		t.Fatalf("Run ended with a handler running: %v", err)
	default:
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if a := b.Answer(); a.Verdict != gateway.VerdictDone {
		t.Errorf("answer %+v", a)
	}
	// The acknowledgement is with the broker; it takes it behind what it is at.
	until(t, "the acknowledged offer leaves the gate", func() bool {
		state, err := b.Streams().GateState(t.Context(), "bot")
		if err != nil {
			t.Fatal(err)
		}
		return state.Messages == 0
	})
}

func TestGraceEndsHandlersAndHandsBack(t *testing.T) {
	b := workertest.Start(t, bot())
	opts := b.Options()
	opts.Grace = 20 * time.Millisecond
	w, err := worker.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- w.Run(ctx, func(ctx context.Context, _ *gateway.Event) ([]gateway.Reply, error) {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		})
	}()
	b.Offer(workertest.Text(conv, 1, "x"))
	<-started
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if a := b.Answer(); a.Verdict != gateway.VerdictHandback {
		t.Errorf("answer %+v, want handback: a shutdown spends no try", a)
	}
}

// A worker that dies in the handler: its event comes to the other worker after
// AckWait, before any later event of the conversation, marked as the second
// delivery.
func TestDeathOfAWorker(t *testing.T) {
	app := bot()
	app.AckWait = time.Second
	b := workertest.Start(t, app)
	nc, err := nats.Connect(b.Server().ClientURL(), nats.UserInfo("bot", "workertest"), nats.CustomInboxPrefix("_INBOX_bot"))
	if err != nil {
		t.Fatal(err)
	}
	b.Offer(workertest.Text(conv, 1, "x"))
	reply := nc.NewInbox()
	sub, err := nc.SubscribeSync(reply)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.CW_READY_bot.bot", reply, []byte(`{"batch":1,"expires":5000000000}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.NextMsg(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	nc.Close() // took the event and is gone without a word

	if got := b.Offer(workertest.Text(conv, 2, "y")); got.State != gateway.OfferClosed {
		t.Errorf("the next event: %s, want closed", got.State)
	}
	b.Run(t.Context(), b.Options(), say("ok"))
	if a := b.Answer(); a.Event != "ev_"+conv+"-1" || a.Delivered < 2 { // more when a busy machine looks like a freeze
		t.Errorf("answer for %s, delivery %d; want the first event, 2 or more", a.Event, a.Delivered)
	}
}

// A process that stood still drops what it holds and starts nothing late.
func TestFrozenProcessStartsNothingLate(t *testing.T) {
	app := bot()
	app.AckWait = 2 * time.Second
	b := workertest.Start(t, app)
	clock := &jumpingClock{}
	opts := b.Options()
	opts.Now = clock.now
	opts.Concurrency = 1
	var mu sync.Mutex
	var got []string
	inFirst, jumped := make(chan struct{}), make(chan struct{})
	b.Run(t.Context(), opts, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		got = append(got, ev.Event)
		first := len(got) == 1
		mu.Unlock()
		if first {
			close(inFirst)
			<-jumped
		}
		return nil, nil
	})
	b.Offer(workertest.Text(conv, 1, "x"))
	<-inFirst
	clock.jump(time.Hour) // the process was stopped while the handler ran
	close(jumped)
	a := b.Answer()
	if a.Event != "ev_"+conv+"-1" {
		t.Errorf("answer for %s", a.Event)
	}
	// It must not have acknowledged: the event comes again, as delivery 2, and
	// is answered again; the gateway counts that one as late.
	if a := b.Answer(); a.Event != "ev_"+conv+"-1" || a.Delivered < 2 {
		t.Errorf("second answer for %s, delivery %d; want the first event again", a.Event, a.Delivered)
	}
}

// jumpingClock is the real clock plus what it jumped.
type jumpingClock struct{ ahead atomic.Int64 }

func (c *jumpingClock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *jumpingClock) jump(d time.Duration) { c.ahead.Add(int64(d)) }

// The broker restarts while workers are connected over TCP.
func TestBrokerRestart(t *testing.T) {
	b := workertest.Start(t, bot())
	b.Run(t.Context(), b.Options(), say("ok"))
	offerWhenFree(t, b, workertest.Text(conv, 1, "x"))
	b.Answer()
	if err := b.Server().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "an offer after the restart", func() bool {
		s := b.Offer(workertest.Text(conv, 2, "x")).State
		return s == gateway.OfferTaken
	})
	if a := b.Answer(); a.Event != "ev_"+conv+"-2" {
		t.Errorf("answer for %s", a.Event)
	}
}

func TestWrongPasswordEndsRun(t *testing.T) {
	b := workertest.Start(t, bot())
	opts := b.Options()
	opts.Password = "not the one"
	w, err := worker.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Run(t.Context(), say("x"))
	if !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("got %v, want an authorization error", err)
	}
	if err != nil && strings.Contains(err.Error(), opts.Password) {
		t.Error("the error tells the password")
	}
}
