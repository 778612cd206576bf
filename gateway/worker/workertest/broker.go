package workertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/stream/embedded"
	"github.com/causewayhq/causeway/gateway/worker"
)

// Text makes an event: a text message in a single chat. conv names the
// conversation, seq its place in it, from 1.
func Text(conv string, seq int64, text string) *gateway.Event {
	id := fmt.Sprintf("ev_%s-%d", conv, seq)
	return &gateway.Event{
		Event: id, Delivery: id, Conv: conv, Seq: seq, Kind: gateway.KindMessage, Origin: gateway.OriginLive,
		Platform: "whatsapp", Account: "test", Chat: gateway.ChatSingle, Payload: "pl_test",
		ReceivedAt: time.Now().UTC(), Content: gateway.Content{Type: "text", ID: fmt.Sprintf("wamid.%s-%d", conv, seq), Text: text},
	}
}

// Broker is a broker with one application's gate.
type Broker struct {
	t       testing.TB
	app     gateway.Application
	srv     *embedded.Server
	nc      *nats.Conn
	streams *stream.Streams
	answers chan gateway.Answer

	mu     sync.Mutex
	rounds map[string]int
}

// Start runs a broker until the test ends. Fields of app that are zero get the
// gateway's defaults; its name must be set.
func Start(t testing.TB, app gateway.Application) *Broker {
	t.Helper()
	srv, err := embedded.Start(embedded.Options{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", MaxStorage: 1 << 30,
		Users: []embedded.User{{Name: app.Name, Password: password, Apps: []string{app.Name}}},
	})
	if err != nil {
		t.Fatalf("workertest: %v", err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	nc, err := nats.Connect("", srv.ConnectOptions()...)
	if err != nil {
		t.Fatalf("workertest: %v", err)
	}
	t.Cleanup(nc.Close)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := stream.Open(ctx, nc, stream.Options{
		StoreID: "st_test", Apps: []gateway.Application{app}, StorageLimit: srv.MaxStorage(),
	})
	if err != nil {
		cancel()
		t.Fatalf("workertest: %v", err)
	}
	b := &Broker{t: t, app: app, srv: srv, nc: nc, streams: s, answers: make(chan gateway.Answer, 100_000), rounds: map[string]int{}}
	var taking sync.WaitGroup
	taking.Go(func() { _ = s.TakeAnswers(ctx, gateway.ReplyPosition{}, b.take) }) // ends with ctx, and then with nil
	t.Cleanup(func() {
		cancel()
		taking.Wait()
		s.Close()
	})
	return b
}

const password = "workertest"

// Options are those of a worker of this broker's application, over TCP and with
// the rights that a worker has.
func (b *Broker) Options() worker.Options {
	return worker.Options{URL: b.srv.ClientURL(), User: b.app.Name, Password: password, App: b.app.Name}
}

// Streams is the gateway's side, for tests that look deeper.
func (b *Broker) Streams() *stream.Streams { return b.streams }

// Server is the broker itself.
func (b *Broker) Server() *embedded.Server { return b.srv }

// Run runs a worker until the test or ctx ends, and waits for it at the end of
// the test.
func (b *Broker) Run(ctx context.Context, opts worker.Options, h worker.Handler) {
	b.t.Helper()
	w, err := worker.New(opts)
	if err != nil {
		b.t.Fatal(err)
	}
	b.RunWorker(ctx, w, h)
}

// RunWorker is Run for a worker that exists, with its middleware.
func (b *Broker) RunWorker(ctx context.Context, w *worker.Worker, h worker.Handler) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, h) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("worker: %v", err)
		}
	})
}

// Bundle makes one delivery of several events of a conversation, as an application
// that collects gets it: the last one, with the others in Collected.
func Bundle(events ...*gateway.Event) *gateway.Event {
	last := len(events) - 1
	ev := *events[last]
	ev.Collected = events[:last]
	if last > 0 {
		ev.Delivery = (&gateway.Pending{Seq: events[0].Seq, Last: ev.Event}).Delivery()
	}
	return &ev
}

// Offer puts an event, or a Bundle, into the gate and returns what the gate said. Offering an
// event again is a new round of it.
func (b *Broker) Offer(ev *gateway.Event) gateway.Offered {
	b.t.Helper()
	row, before, err := rowsOf(ev)
	if err != nil {
		b.t.Fatal(err)
	}
	p := gateway.Pending{App: b.app.Name, Conv: ev.Conv, Seq: ev.Seq, Event: ev.Event, Run: ev.Run}
	if len(before) > 0 {
		p.Seq, p.Last = before[0].Seq, ev.Event
	}
	b.mu.Lock()
	p.Round = b.rounds[ev.Event]
	b.rounds[ev.Event]++
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	return b.streams.Offer(ctx, b.app.Name, []gateway.Offer{{Pending: p, Event: row, Before: before}})[0]
}

const answerWait = 30 * time.Second

// Answer waits for the next answer of a worker, at most 30 s.
func (b *Broker) Answer() gateway.Answer {
	b.t.Helper()
	timer := time.NewTimer(answerWait)
	defer timer.Stop()
	select {
	case a := <-b.answers:
		return a
	case <-timer.C:
		b.t.Fatal("workertest: no answer in 30 s")
		return gateway.Answer{}
	}
}

func (b *Broker) take(ctx context.Context, _ gateway.ReplyPosition, answers []gateway.TakenAnswer) error {
	for _, t := range answers {
		a, err := gateway.ParseAnswer(t.Data)
		if err != nil {
			b.t.Errorf("workertest: %v", err)
			continue
		}
		select {
		case b.answers <- a:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
