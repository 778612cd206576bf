package main

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// underLoad runs a load while breaks are made, and returns when everybody was
// answered 200 for everything.
func underLoad(t *testing.T, l *load, limit time.Duration, breaks func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	done := make(chan struct{})
	go func() { l.run(ctx); close(done) }()
	breaks(ctx)
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("callbacks were not answered 200 in time")
	}
}

// The broker's folder is deleted under load: callbacks are answered 200 all the
// time, and everything is handed out afterwards, in order, by itself.
func TestBrokerFolderDeletedUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.start("")
	w.up()
	l := &load{w: w, convs: 10, each: 20}
	underLoad(t, l, time.Minute, func(ctx context.Context) {
		wait(ctx, 300*time.Millisecond)
		if err := os.RemoveAll(filepath.Join(w.dir, "nats", "jetstream")); err != nil {
			t.Error(err)
		}
	})
	w.quiet(2 * time.Minute)
	if l.refused.Load() != 0 {
		t.Errorf("%d callbacks were not answered 200 at once", l.refused.Load())
	}
	l.verify()
}

// The folder is gone after a crash of the whole process: every head is offered
// again from the ledger.
func TestBrokerFolderLostInACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.start("")
	w.up()
	l := &load{w: w, convs: 10, each: 12}
	underLoad(t, l, time.Minute, func(ctx context.Context) {
		wait(ctx, 200*time.Millisecond)
		w.kill()
		if err := os.RemoveAll(filepath.Join(w.dir, "nats")); err != nil {
			t.Error(err)
		}
		w.start("")
	})
	w.quiet(time.Minute)
	l.verify()
}

// bot attaches a worker of the SDK to the world's gateway until the returned
// function is called.
func (w *world) bot(h worker.Handler, concurrency int) (stop func()) {
	w.t.Helper()
	b, err := worker.New(worker.Options{URL: "nats://" + w.nats, User: "bot", Password: "bot-password", App: "echo",
		Concurrency: concurrency, Grace: time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := b.Run(ctx, h); err != nil && ctx.Err() == nil {
				wait(ctx, 200*time.Millisecond) // the gateway is not up yet
			}
		}
	}()
	stop = func() { cancel(); <-done }
	w.t.Cleanup(stop)
	return stop
}

// Nobody takes events until the broker's storage limit is reached: callbacks go
// on being answered 200, and with a worker everything is handed out in order.
func TestBrokerStorageLimitReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 2s}\n", account: noPace,
		env: []string{storageEnv + "=6291456"}}) // 6 MiB for all streams
	w.start("")
	w.up()
	l := &load{w: w, convs: 400, each: 3, pad: 6000}
	underLoad(t, l, 2*time.Minute, func(context.Context) {})
	if l.refused.Load() != 0 {
		t.Errorf("%d callbacks were not answered 200 at once", l.refused.Load())
	}
	var handled atomic.Int64
	w.bot(func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		handled.Add(1)
		return worker.Text(ev.Text[:len("message 000")]), nil
	}, 64)
	w.quiet(2 * time.Minute)
	if handled.Load() < 1200 {
		t.Errorf("%d events handled", handled.Load())
	}
	l.verify()
}
