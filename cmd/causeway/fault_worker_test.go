package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// workerEnv makes the test binary a bot process: "nats address|milliseconds a
// handler takes".
const workerEnv = "CAUSEWAY_TEST_WORKER"

// failing begins the texts at which the bots of the tests fail.
const failing = "fail at "

// runWorker is the bot process: it repeats what it is told after a while, and
// says what it begins and ends, and when.
func runWorker(ctx context.Context, spec string) int {
	address, ms, _ := strings.Cut(spec, "|")
	takes, err := time.ParseDuration(ms + "ms")
	if err != nil {
		panic(err)
	}
	w, err := worker.New(worker.Options{URL: "nats://" + address, User: "bot", Password: "bot-password", App: "echo",
		Concurrency: 16, Grace: time.Second})
	if err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		_ = w.Run(ctx, func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			fmt.Println("begin", ev.Conv, ev.Seq, time.Now().UnixMicro()) //nolint:forbidigo // what this process is for
			wait(ctx, takes)
			fmt.Println("end", ev.Conv, ev.Seq, time.Now().UnixMicro()) //nolint:forbidigo // what this process is for
			if strings.HasPrefix(ev.Text, failing) {
				return nil, errors.New("as told")
			}
			return worker.Text(ev.Text), nil
		})
		wait(ctx, 100*time.Millisecond) // the gateway is not up yet
	}
	return 0
}

// A worker process is killed while it works: its conversations wait for ack_wait
// and go on with the other one; order is kept and nothing is sent twice.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 1s}\n"})
	w.start("")
	w.up()
	first := w.botProcess(30 * time.Millisecond)
	l := &load{w: w, convs: 8, each: 8}
	underLoad(t, l, time.Minute, func(ctx context.Context) {
		w.until(20*time.Second, "the worker works", func() bool { return first.ended() >= 5 })
		w.botProcess(30 * time.Millisecond)
		first.kill()
	})
	w.quiet(time.Minute)
	if unknown := l.verify(); unknown != 0 {
		t.Errorf("%d unknown messages", unknown)
	}
}

// A worker is frozen past ack_wait while it works and then goes on: its events
// ran elsewhere meanwhile, one answer counts, the other is late.
func TestWorkerFrozen(t *testing.T) {
	for name, bot := range map[string]func(w *world, takes time.Duration) *botProcess{
		"Go": (*world).botProcess, "JavaScript": (*world).jsProcess, "Python": (*world).pyProcess,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 1s}\n"})
			first := bot(w, time.Second)
			w.start("")
			w.up()
			l := &load{w: w, convs: 6, each: 5}
			underLoad(t, l, time.Minute, func(ctx context.Context) {
				w.until(20*time.Second, "the worker works", func() bool { return len(first.open()) > 0 })
				first.freeze()
				second := bot(w, 50*time.Millisecond)
				w.until(30*time.Second, "the other worker took over what the first one has", func() bool {
					return slices.ContainsFunc(first.open(), func(event string) bool { return second.began(event) })
				})
				first.thaw()
			})
			w.quiet(time.Minute)
			var c struct {
				Counters map[string]int64 `json:"counters"`
			}
			w.until(20*time.Second, "the late answers are counted", func() bool {
				return w.get("/api/v1/sums", &c) == nil && c.Counters["late"] > 0
			})
			if unknown := l.verify(); unknown != 0 {
				t.Errorf("%d unknown messages", unknown)
			}
		})
	}
}

// A worker that is asked to stop hands back what it cannot end within its grace, and
// no try is spent: the event has one, and goes to the next worker at once, before
// the later one of its conversation.
func TestWorkerLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 10m, tries: 1}\n"})
	w.start("")
	w.up()
	began := make(chan string, 10)
	leave := w.bot(func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		began <- ev.Text
		<-ctx.Done() // longer than any grace
		return nil, ctx.Err()
	}, 4)
	w.says(customer(1), "first")
	<-began
	w.says(customer(1), "second")
	leave()
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		began <- ev.Text
		return worker.Text(ev.Text), nil
	}, 4)
	for _, want := range []string{"first", "second"} {
		select {
		case got := <-began:
			if got != want {
				t.Errorf("the next worker got %q, want %q", got, want)
			}
		case <-time.After(leastLimit): // long before ack_wait
			t.Fatalf("%q was not handed back", want)
		}
	}
	w.settled(30 * time.Second)
	if app := w.sums().Apps["echo"]; app.Settled != 2 || app.Dead != 0 {
		t.Errorf("settled %d, dead %d", app.Settled, app.Dead)
	}
}
