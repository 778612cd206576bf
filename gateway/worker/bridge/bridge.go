package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/worker"
)

// Options of a Bridge; all required but Headers, ContentType, AnswersURL, TLS, Boundary and Log.
type Options struct {
	App     gateway.Application
	URL     string
	Keys    gateway.WebhookKeys
	Headers []Header
	// ContentType names the body; "" is CloudEvents' own.
	ContentType string
	// Concurrency is how many events are at the endpoint at one moment, those it
	// answers later included; Timeout bounds a request, AnswerBy the answer after
	// a 202, counted from the request.
	Concurrency       int
	Timeout, AnswerBy time.Duration
	// AnswersURL is where answers of later are posted; "" where nobody can know.
	AnswersURL string
	// TLS is the configuration for https; nil for Go's own.
	TLS *tls.Config
	// Boundary is told each step (bridge.calling, called, answering, answered).
	Boundary func(step string)
	Now      func() time.Time
	Log      *slog.Logger
}

// Header goes along with every request.
type Header struct{ Name, Value string }

// State is how a bridge is.
type State struct {
	Circuit string // CircuitClosed, CircuitOpen or CircuitHalfOpen
	Since   time.Time
	// Why it is open, for the operator; NextProbe not before, zero while a probe
	// is out.
	Why       string
	NextProbe time.Time
	Calls     map[string]int64 // by outcome
}

// Bridge is the worker of one application behind a URL.
type Bridge struct {
	o         Options
	log       *slog.Logger
	transport *http.Transport
	circuit   *circuit
	waiting   waiting

	mu    sync.Mutex
	calls map[string]int64
	pub   *stream.Publisher // nil while the broker is not open
}

// holdFor is how long an event in hand waits for the circuit before it is handed
// back, so that another one's turn comes and none is held for handler_max.
const holdFor = 30 * time.Second

// New checks the options; it does not connect.
func New(o Options) (*Bridge, error) {
	if _, err := o.address(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ContentType == "" {
		o.ContentType = "application/cloudevents+json"
	}
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	b := &Bridge{o: o, log: o.Log.With("app", o.App.Name), transport: transport(&o), calls: map[string]int64{},
		waiting: waiting{open: map[string]map[*waiter]bool{}}}
	b.circuit = newCircuit(o.Now, func(open bool, why string, wait time.Duration) {
		if open {
			b.log.Warn("bridge.circuit", "open", true, "why", why, "probe_in", wait)
		} else {
			b.log.Info("bridge.circuit", "open", false)
		}
	})
	return b, nil
}

// address is host and port of the endpoint.
func (o *Options) address() (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("bridge %s: the URL is none of http or https", o.App.Name)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return u, nil
}

// Run posts events and takes answers until ctx ends. Then what waits is handed back
// at once; calls in flight get the SDK's grace.
func (b *Bridge) Run(ctx context.Context, conn *stream.Conn) error {
	w, err := worker.New(worker.Options{Conn: conn, App: b.o.App.Name, Concurrency: b.o.Concurrency, Build: "bridge",
		Now: b.o.Now, Boundary: b.o.Boundary, Log: b.o.Log})
	if err != nil {
		return err
	}
	pub, err := stream.NewPublisher(conn)
	if err != nil {
		return err
	}
	b.publish(pub)
	defer func() {
		b.publish(nil)
		pub.Close()
		b.transport.CloseIdleConnections()
	}()
	return w.Run(ctx, func(hctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return b.handle(hctx, ctx.Done(), ev)
	})
}

func (b *Bridge) publish(p *stream.Publisher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pub = p
}

// State tells how the bridge is.
func (b *Bridge) State() State {
	s := b.circuit.state()
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Calls = maps.Clone(b.calls)
	return s
}

// handle is the worker's handler. stop is closed when the bridge is to end.
func (b *Bridge) handle(ctx context.Context, stop <-chan struct{}, ev *gateway.Event) ([]gateway.Reply, error) {
	info := worker.Info(ctx)
	ctx, end := b.waiting.begin(ctx, info.ID)
	defer end()
	probe, ok := b.pass(ctx, stop)
	if !ok {
		return nil, b.ended(ctx)
	}
	begun := b.o.Now()
	r, err := b.call(ctx, ev, info)
	if err != nil {
		b.circuit.release(probe)
		return nil, b.ended(ctx)
	}
	b.count(r.word)
	b.log.Debug("bridge.called", "conv", ev.Conv, "event", info.ID, "try", info.Try, "outcome", r.word, "took", b.o.Now().Sub(begun))
	if spends := b.circuit.leave(probe, ev.Conv, r.fault, r.why); r.fault == fails && !spends {
		// The endpoint is out of order as a whole, so this event need not be the
		// reason; the pace is the circuit's.
		return nil, worker.Handback(awayFor)
	}
	if r.word == Later {
		return nil, b.later(ctx, stop, begun)
	}
	return r.replies, r.err
}

// pass waits for the circuit, at most holdFor.
func (b *Bridge) pass(ctx context.Context, stop <-chan struct{}) (probe, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, holdFor)
	defer cancel()
	return b.circuit.enter(ctx, stop)
}

// later waits for the answer after a 202.
func (b *Bridge) later(ctx context.Context, stop <-chan struct{}, begun time.Time) error {
	if b.o.AnswersURL == "" {
		return worker.Retry(errors.New("the endpoint answered 202, and nothing tells it where to answer later: set admin.url"), 0)
	}
	timer := time.NewTimer(b.o.AnswerBy - b.o.Now().Sub(begun))
	defer timer.Stop()
	select {
	case <-timer.C:
		return worker.Retry(fmt.Errorf("the endpoint answered 202 and then nothing within %s", b.o.AnswerBy), 0)
	case <-stop:
	case <-ctx.Done():
	}
	return b.ended(ctx)
}

// ended is how a delivery ends whose call came to nothing: answered by another way,
// at the end of its context as the SDK says, or handed back, since nothing failed.
func (b *Bridge) ended(ctx context.Context) error {
	switch {
	case errors.Is(context.Cause(ctx), errAnswered):
		return worker.Answered()
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return worker.Handback(0)
}

func (b *Bridge) count(word string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[word]++
}
