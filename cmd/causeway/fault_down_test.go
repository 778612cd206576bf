package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

//nolint:gochecknoglobals // a flag of this test binary
var downFor = flag.Duration("down.for", 0, "how long the bot of TestBotDownFor fails at everything, under load")

// A bot fails at everything for a long time while customers go on writing, and the
// gateway is killed in the middle of it: no event is dead, each conversation goes on
// in order, and the backlog drains. TestBotDown is its short form.
//
//	go test ./cmd/causeway -run TestBotDownFor -down.for=10m -timeout 30m
func TestBotDownFor(t *testing.T) {
	if *downFor == 0 {
		t.Skip("takes as long as -down.for says; TestBotDown is its short form")
	}
	const convs, every = 40, 2 * time.Second
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 2s}\n", account: `pace: {account: "0", pair: "0"}, `})
	w.start("")
	w.up()
	var down atomic.Bool
	down.Store(true)
	var mu sync.Mutex
	last, wrong := map[string]int64{}, []string(nil)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		if was := last[ev.Conv]; ev.Seq != was && ev.Seq != was+1 {
			wrong = append(wrong, fmt.Sprintf("%s: %d after %d", ev.Conv, ev.Seq, was))
		}
		last[ev.Conv] = ev.Seq
		mu.Unlock()
		if down.Load() {
			return nil, errors.New("the model does not answer")
		}
		return worker.Text(ev.Text), nil
	}, 16)
	l := &load{w: w, convs: convs, each: int(*downFor / every), pause: every}
	underLoad(t, l, 2**downFor, func(ctx context.Context) {
		w.until(time.Minute, "it is tripped", func() bool { return w.appNamed("echo").Tripped })
		wait(ctx, *downFor/2)
		w.kill()
		w.start("")
		w.up()
	})
	backlog := w.sums().Apps["echo"].Pending
	down.Store(false)
	began := time.Now()
	w.quiet(10 * time.Minute)
	app := w.sums().Apps["echo"]
	t.Logf("down for %s: %d of %d events waited, drained in %s", *downFor, backlog, app.Wanted, time.Since(began).Round(time.Second))
	if app.Dead != 0 || app.Settled != int64(convs*l.each) || len(wrong) > 0 {
		t.Errorf("%+v, order %v", app, wrong)
	}
	l.verify()
}
