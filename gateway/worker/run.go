package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway/stream"
)

const (
	settingsEvery = 30 * time.Second // how often the consumer's settings are read again
	infoWait      = 5 * time.Second
	drainWait     = 2 * time.Second
	afterGrace    = 2 * time.Second
)

// run is one call of Run.
type run struct {
	opts    *Options
	log     *slog.Logger
	handler Handler
	nc      *nats.Conn
	js      jetstream.JetStream
	pub     *stream.Publisher
	claims  *claims
	guard   *guard
	work    chan delivery
	slots   chan struct{} // a token for each handler that runs
	begun   atomic.Uint64 // handlers, so far
	gap     chan struct{} // the guard saw one
	running atomic.Int64
	ending  atomic.Int64 // deliveries between handler and acknowledgement whose place is free again

	stopping <-chan struct{}
	hard     context.Context //nolint:containedctx // the life of the handlers, which outlive Run's context by Grace

	ackWait    atomic.Int64 // time.Duration, from the consumer
	handlerMax atomic.Int64
}

// Run takes and answers events until ctx ends, then returns nil after handlers
// have ended. Errors: the broker refused the credentials; handlers did not end
// within Grace (they go on in the background, their answers are lost).
func (w *Worker) Run(ctx context.Context, h Handler) error {
	if h == nil {
		return errors.New("worker: no handler")
	}
	nc, own, err := w.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped before the broker was there
		}
		return err
	}
	if own {
		defer nc.Close()
	}
	hard, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	r := &run{
		opts: &w.opts, log: w.opts.Log.With("app", w.opts.App), handler: Recover(Chain(h, w.use...)), nc: nc,
		guard: newGuard(w.opts.Now, time.Minute),
		work:  make(chan delivery, 2*w.opts.Concurrency),
		slots: make(chan struct{}, w.opts.Concurrency),
		gap:   make(chan struct{}, 1), stopping: ctx.Done(), hard: hard,
	}
	r.setAckWait(time.Minute)
	if err := r.open(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	defer r.pub.Close()
	defer r.claims.close()
	return r.all(ctx, cancel)
}

func (r *run) open() (err error) {
	if r.js, err = jetstream.New(r.nc); err != nil {
		return err
	}
	if r.pub, err = stream.NewPublisher(r.nc); err != nil {
		return err
	}
	if r.claims, err = newClaims(r.nc, r.opts.Now); err != nil {
		r.pub.Close()
	}
	return err
}

// all owns every goroutine of a run.
func (r *run) all(ctx context.Context, cancel context.CancelCauseFunc) error {
	clock, stopClock := context.WithCancel(context.WithoutCancel(ctx))
	var ticking, slots sync.WaitGroup
	ticking.Go(func() { r.tick(clock) })
	// As many again publish answers, see handle, and some wait for their place.
	for range 2*r.opts.Concurrency + r.opts.Concurrency/aheadShare {
		slots.Go(func() { //nolint:contextcheck // answers are published also while Run is stopping
			for d := range r.work {
				r.handle(d)
			}
		})
	}
	r.pull(ctx)
	close(r.work)
	ended := make(chan struct{})
	go func() { slots.Wait(); close(ended) }()
	err := r.wait(ended, cancel)
	stopClock()
	ticking.Wait()
	if r.nc.IsConnected() {
		_ = r.nc.FlushTimeout(afterGrace) // acknowledgements; a lost one is a second delivery
	}
	return err
}

// wait gives handlers the grace, then ends their contexts.
func (r *run) wait(ended <-chan struct{}, cancel context.CancelCauseFunc) error {
	for _, d := range []time.Duration{r.opts.Grace, afterGrace} {
		t := time.NewTimer(d)
		select {
		case <-ended:
			t.Stop()
			return nil
		case <-t.C:
			cancel(errStopping)
		}
	}
	return fmt.Errorf("worker: %d handlers did not end within the grace", r.running.Load())
}

// pull keeps a Puller at the application's consumer until ctx ends.
func (r *run) pull(ctx context.Context) {
	wait, told := firstWait, false
	for ctx.Err() == nil {
		begun := r.opts.Now()
		err := r.session(ctx)
		if err == nil {
			continue // a gap: fetch anew at once
		}
		if ctx.Err() != nil {
			return
		}
		if r.opts.Now().Sub(begun) > mostWait {
			wait, told = firstWait, false
		}
		if !told {
			told = true
			r.log.Warn("worker.waiting", "error", err)
		}
		sleep(ctx, wait)
		wait = min(2*wait, mostWait)
	}
}

// session fetches until ctx ends, the broker is gone, or the process stood
// still, which returns nil.
func (r *run) session(ctx context.Context) error {
	if err := r.readSettings(ctx); err != nil {
		return err
	}
	epoch := r.guard.current()
	p, err := stream.NewPuller(r.nc, stream.PullOptions{
		Stream: stream.ReadyName(r.opts.App), Consumer: r.opts.App, Room: r.opts.Concurrency,
		Into: func(p *stream.Puller, m *nats.Msg) {
			select {
			case r.work <- delivery{m, p, r.opts.Now(), epoch}:
			default: // more than was asked for; comes again after AckWait
			}
		},
	})
	if err != nil {
		return err
	}
	defer p.Close()
	r.log.Info("worker.pulling", "ack_wait", r.getAckWait(), "concurrency", r.opts.Concurrency)
	again, pace := time.NewTicker(settingsEvery), time.NewTicker(aheadEvery)
	defer again.Stop()
	defer pace.Stop()
	var a ahead
	for {
		select {
		case <-ctx.Done():
			p.Drain(drainWait)
			return nil
		case <-p.Done():
			return p.Err()
		case <-r.gap:
			if r.guard.current() != epoch {
				r.log.Warn("worker.stood_still")
				return nil
			}
		case <-pace.C:
			a.look(p, r.begun.Load(), r.opts.Now(), r.opts.Concurrency)
		case <-again.C:
			if err := r.readSettings(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// readSettings takes AckWait and handler_max from the consumer.
func (r *run) readSettings(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	c, err := r.js.Consumer(ctx, stream.ReadyName(r.opts.App), r.opts.App)
	if err != nil {
		return fmt.Errorf("consumer of application %s: %w", r.opts.App, err)
	}
	cfg := c.CachedInfo().Config
	r.setAckWait(cfg.AckWait)
	handlerMax, err := time.ParseDuration(cfg.Metadata[stream.MetaHandlerMax])
	if err != nil {
		handlerMax = 0 // none is set
	}
	r.handlerMax.Store(int64(handlerMax))
	return nil
}

func (r *run) setAckWait(d time.Duration) {
	if d <= 0 {
		d = 30 * time.Second // the server's own default
	}
	r.ackWait.Store(int64(d))
	r.guard.set(d)
}

func (r *run) getAckWait() time.Duration { return time.Duration(r.ackWait.Load()) }

// tick tells the guard the time and the broker what is worked on, sixteen times
// per AckWait.
func (r *run) tick(ctx context.Context) {
	step := func() time.Duration { return min(max(r.getAckWait()/16, 10*time.Millisecond), time.Second) }
	t := time.NewTimer(step())
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if r.guard.tick() {
			select {
			case r.gap <- struct{}{}:
			default:
			}
		}
		r.claims.beat(r.getAckWait())
		t.Reset(step())
	}
}
