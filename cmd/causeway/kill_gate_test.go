package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// poison is the text of the event that plainBot never answers.
const poison = "message 001"

// plainBot attaches a plain NATS client that repeats what it is told, but not the
// poison: with naks it says no to it at once, otherwise it works on it for ever,
// tells the broker so, and lives on when the gateway dies.
func (w *world) plainBot(naks bool) {
	w.t.Helper()
	nc, err := nats.Connect("nats://"+w.nats, nats.UserInfo("bot", "bot-password"), nats.CustomInboxPrefix(stream.InboxPrefix("bot")),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		w.t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			c, err := js.Consumer(ctx, stream.ReadyName("echo"), "echo")
			if err != nil {
				wait(ctx, 50*time.Millisecond) // the gateway is not up
				continue
			}
			batch, err := c.Fetch(16, jetstream.FetchMaxWait(500*time.Millisecond))
			if err != nil {
				continue
			}
			for m := range batch.Messages() {
				wg.Go(func() { plainHandle(ctx, nc, m, naks) })
			}
		}
	})
	w.t.Cleanup(func() { cancel(); nc.Close(); wg.Wait() })
}

func plainHandle(ctx context.Context, nc *nats.Conn, m jetstream.Msg, naks bool) {
	ev, err := gateway.DecodeEvent(m.Data())
	if err != nil {
		return
	}
	if ev.Text == poison {
		for !naks && wait(ctx, 200*time.Millisecond) {
			_ = m.InProgress() // nobody hears it while the gateway is dead
		}
		_ = m.Nak()
		return
	}
	body, err := json.Marshal(gateway.Answer{Event: ev.Delivery, Verdict: gateway.VerdictDone, Replies: []gateway.Reply{{Type: "text", Text: ev.Text}}})
	if err != nil {
		return
	}
	to := strings.Replace(m.Subject(), "cw.ready.", "cw.reply.", 1)
	if _, err := nc.Request(to, body, 5*time.Second); err == nil { // unanswered, it comes again
		_ = m.Ack()
	}
}

// The process dies around the gate's own dead letter: before its commit, between
// the commit and the withdrawal of the offer, and after it. Each conversation has
// one event that its worker hangs on, or refuses until the broker gives up, or
// events that are too old for their turn. Each is one dead letter, and the
// conversation goes on, though the worker of the buried event never lets go.
func TestKillAroundTheGatesDeadLetter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, app, reason string
		naks, stale       bool
	}{
		{"watchdog", "{name: echo, ack_wait: 1s, handler_max: 1s, tries: 4}", gateway.ReasonWatchdog, false, false},
		{"max-deliveries", "{name: echo, ack_wait: 1s, handler_max: 20s, tries: 1}", gateway.ReasonSilent, true, false},
		{"stale", "{name: echo, ack_wait: 2s, stale_after: 1s}", gateway.ReasonStale, false, true},
	} {
		for _, step := range sideBoundaries() {
			switch {
			case !strings.HasPrefix(step, "gate."), strings.HasPrefix(step, "gate.collect"): // TestKillAroundABundle
				continue
			case c.stale && step == "gate.withdrawn": // an event that was not offered
				continue
			}
			for _, n := range []int{1, 7} {
				t.Run(fmt.Sprintf("%s/%s/%d", c.name, step, n), func(t *testing.T) {
					t.Parallel()
					l := &load{w: newWorld(t, worldOptions{apps: "  - " + c.app + "\n"}), convs: 8, each: 4, dead: 8}
					if c.stale {
						// All but the one whose offer waits for a worker; that one as well where
						// the broker was not up in time to offer it.
						l.dead, l.deadMost = 8*3, 8*4
					}
					l.killedAtTheGate(fmt.Sprintf("%s:%d", step, n), c.naks, c.stale)
					l.deadLetters(c.reason)
					if unknown := l.verify(); unknown > l.convs {
						t.Errorf("%d unknown messages after one death at %s", unknown, step)
					}
				})
			}
		}
	}
}

// killedAtTheGate runs the load through a gateway that dies at a boundary, and
// returns when another one has finished everything.
func (l *load) killedAtTheGate(at string, naks, stale bool) {
	w, t := l.w, l.w.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	p := w.start(at)
	done := make(chan struct{})
	go func() { l.run(ctx); close(done) }()
	if stale {
		<-done
		wait(ctx, 1100*time.Millisecond) // older than stale_after
	}
	w.plainBot(naks)
	select {
	case <-p.done:
	case <-ctx.Done():
		t.Fatalf("never came to %s", at)
	}
	w.start("")
	<-done
	w.up()
	w.quiet(90 * time.Second)
}

// deadLetters wants as many as the load says, each of another event.
func (l *load) deadLetters(reason string) {
	l.w.t.Helper()
	events := map[string]bool{}
	list := l.w.deadLetters()
	for i := range list {
		if list[i].Kind != "event" || list[i].Reason != reason || events[list[i].Event] {
			l.w.t.Errorf("dead letter %+v", list[i])
		}
		events[list[i].Event] = true
	}
	if n := len(list); n < l.dead || n > max(l.dead, l.deadMost) {
		l.w.t.Errorf("%d dead letters, want %d (at most %d)", n, l.dead, l.deadMost)
	}
	l.dead = len(list)
}
