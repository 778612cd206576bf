package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
	"github.com/causewayhq/causeway/gateway/outbox"
	"github.com/causewayhq/causeway/gateway/relay"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/stream/embedded"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/store/sqlite"
)

// dispatchRig is the part of the gateway between the ledger and the workers, over
// real stores and a real broker: ledger, gate, streams, intake. It has no front
// door and sends nothing.
type dispatchRig struct {
	dir    string
	app    gateway.Application
	store  *sqlite.Store
	server *embedded.Server
	conn   *stream.Conn
	bot    *stream.Conn
	broker rigBroker
	user   embedded.User
	seen   rigSeen
}

// rigSeen counts what passes between the stages.
type rigSeen struct {
	offers, closed atomic.Int64 // offers made; refused since the place was taken
	commits        atomic.Int64 // of answers
}

const (
	rigPassword = "bench-worker-password" //nolint:gosec // made up; the listener is on this machine for a minute
	rigStorage  = 4 << 30
)

// rigBroker is the broker as gate and intake see it.
type rigBroker struct {
	*stream.Streams
	seen *rigSeen
}

// Offer is for gate.Stream.
func (b rigBroker) Offer(ctx context.Context, app string, offers []gateway.Offer) []gateway.Offered {
	out := b.Streams.Offer(ctx, app, offers)
	b.seen.offers.Add(int64(len(out)))
	for i := range out {
		if out[i].State == gateway.OfferClosed {
			b.seen.closed.Add(1)
		}
	}
	return out
}

// TakeAnswers is for outbox.Replies.
func (b rigBroker) TakeAnswers(ctx context.Context, from gateway.ReplyPosition,
	fn func(context.Context, gateway.ReplyPosition, []gateway.TakenAnswer) error,
) error {
	return b.Streams.TakeAnswers(ctx, from, fn)
}

func newDispatchRig(ctx context.Context, dir string) (_ *dispatchRig, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r := &dispatchRig{
		dir:  dir,
		app:  gateway.Application{Name: benchApp, Tries: 4, AckWait: 30 * time.Second, HandlerMax: 10 * time.Minute, Replies: true},
		user: embedded.User{Name: "bench", Password: rigPassword, Apps: []string{benchApp}},
	}
	r.broker.seen = &r.seen
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.store, err = sqlite.Open(ctx, filepath.Join(dir, "store"), sqlite.Options{Now: time.Now}); err != nil {
		return nil, err
	}
	r.server, err = embedded.Start(embedded.Options{ //nolint:contextcheck // it outlives ctx; close ends it
		Dir: filepath.Join(dir, "nats"), Listen: "127.0.0.1:0", Users: []embedded.User{r.user}, MaxStorage: rigStorage,
	})
	if err != nil {
		return nil, err
	}
	if r.conn, err = stream.Dial("", r.server.ConnectOptions()...); err != nil {
		return nil, err
	}
	if r.bot, err = stream.Dial("", r.server.ConnectOptions()...); err != nil {
		return nil, err
	}
	id := r.store.Ledger.Identity()
	r.broker.Streams, err = stream.Open(ctx, r.conn, stream.Options{
		StoreID: id.ID, Epoch: id.Epoch, Apps: []gateway.Application{r.app}, StorageLimit: rigStorage,
	})
	return r, err
}

func (r *dispatchRig) close() error {
	var errs []error
	if r.broker.Streams != nil {
		r.broker.Close()
	}
	for _, c := range []*stream.Conn{r.bot, r.conn} {
		if c != nil {
			c.Close()
		}
	}
	if r.server != nil {
		errs = append(errs, r.server.Close())
	}
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}

// preload lets the relay decode and write the events of a workload.
func (r *dispatchRig) preload(ctx context.Context, w workload) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	made := 0
	rel := relay.New(relay.Options{
		Archive: newMemoryArchive(w), Ledger: r.store.Ledger, Directory: benchDirectory{r.app},
		Decoder: whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{benchAppSecret}, VerifyToken: benchVerifyToken}),
		Relayed: func(res gateway.RelayResult) { // called by the relay's own goroutine
			if made += len(res.Pending); made >= len(w.order) {
				done()
			}
		},
		Now: time.Now, Log: zap.NewNop(),
	})
	err := rel.Run(ctx)
	if made == len(w.order) {
		return nil
	}
	return fmt.Errorf("%d of %d events were preloaded: %w", made, len(w.order), err)
}

// run starts intake, gate and workers, and returns the time from the start of the
// gate to the commit that settled the last of n events.
func (r *dispatchRig) run(ctx context.Context, n, slots int, tcp bool, h worker.Handler) (took time.Duration, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var g *gate.Gate
	settled, all := 0, make(chan time.Time, 1)
	intake := outbox.NewIntake(outbox.IntakeOptions{
		Ledger: r.store.Ledger, Replies: r.broker, Apps: []gateway.Application{r.app}, Now: time.Now, Log: zap.NewNop(),
		Settled: func(list []gateway.Settled) { // called by the intake's own goroutine
			g.Settled(list)
			r.seen.commits.Add(1)
			for i := range list {
				if !list[i].Late && list[i].Decision.State == gateway.EventSettled {
					settled++
				}
			}
			if settled == n {
				settled++ // once
				all <- time.Now()
			}
		},
	})
	g = gate.New(gate.Options{App: r.app, Ledger: r.store.Ledger, Stream: r.broker, Intake: intake, Now: time.Now, Log: zap.NewNop()})
	o := worker.Options{App: r.app.Name, Concurrency: slots, Build: "bench"}
	if tcp {
		o.URL, o.User, o.Password = r.server.ClientURL(), r.user.Name, r.user.Password
	} else {
		o.Conn = r.bot
	}
	w, err := worker.New(o)
	if err != nil {
		return 0, err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return intake.Run(gctx) })
	group.Go(func() error { return w.Run(gctx, h) })
	if err := r.attached(gctx); err != nil {
		stop()
		return 0, errors.Join(err, group.Wait())
	}
	start := time.Now()
	group.Go(func() error { return g.Run(gctx) })
	select {
	case end := <-all:
		took = end.Sub(start)
	case <-gctx.Done():
	}
	stop()
	if err := group.Wait(); took == 0 {
		return 0, fmt.Errorf("%d of %d events were settled: %w", settled, n, err)
	}
	return took, nil
}

// attached waits until a worker asks for events.
func (r *dispatchRig) attached(ctx context.Context) error {
	for {
		s, err := r.broker.GateState(ctx, r.app.Name)
		if err == nil && s.Pulls > 0 {
			return nil
		}
		if !wait(ctx, 5*time.Millisecond) {
			return errors.Join(errors.New("no worker attached"), err)
		}
	}
}

// benchDirectory knows the one account and application of a bench.
type benchDirectory struct{ app gateway.Application }

// Account is for the relay.
func (benchDirectory) Account(string, string) (string, bool) { return benchAccount, true }

// Applications is for the relay.
func (d benchDirectory) Applications() []gateway.Application { return []gateway.Application{d.app} }

// memoryArchive makes the payloads of a workload when they are read.
type memoryArchive struct {
	w     workload
	maker *callbackMaker
	at    time.Time
}

func newMemoryArchive(w workload) *memoryArchive {
	customers := 0
	for _, c := range w.order {
		customers = max(customers, c+1)
	}
	return &memoryArchive{w: w, maker: newCallbackMaker(customers), at: time.Now()}
}

// Read is for the relay.
func (m *memoryArchive) Read(_ context.Context, after int64, limit, _ int) ([]gateway.Payload, error) {
	var out []gateway.Payload
	for pos := after + 1; pos <= int64(len(m.w.order)) && len(out) < limit; pos++ {
		body := m.maker.texts[m.w.order[pos-1]].fill(nil, pos)
		out = append(out, gateway.Payload{Pos: pos, Platform: "whatsapp", Endpoint: benchEndpoint, ReceivedAt: m.at, Body: body})
	}
	return out, nil
}

// Get is for the relay, which asks for payloads to be read again only.
func (m *memoryArchive) Get(context.Context, int64) (*gateway.Payload, error) {
	return nil, gateway.ErrNotFound
}

// Waiting is for the relay.
func (m *memoryArchive) Waiting() int { return 0 }
