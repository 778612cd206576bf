package main

import (
	"context"
	"testing"
	"time"
)

// Two workers with a plain NATS client: one is killed while it works, then the gateway.
// Order holds, every event is settled once and answered once.
func TestJavaScriptWorkers(t *testing.T) {
	t.Parallel()
	recipeUnderKills(t, func(w *world) *botProcess { return w.jsProcess(20 * time.Millisecond) })
}

func TestPythonWorkers(t *testing.T) {
	t.Parallel()
	recipeUnderKills(t, func(w *world) *botProcess { return w.pyProcess(20 * time.Millisecond) })
}

func recipeUnderKills(t *testing.T, bot func(w *world) *botProcess) {
	t.Helper()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 2s, tries: 10, delays: [100ms]}\n"})
	first := bot(w)
	second := bot(w) // both wait for the gateway
	w.start("")
	w.up()
	w.until(time.Minute, "both are there", func() bool { return first.ready() && second.ready() })
	l := &load{w: w, convs: 8, each: 20, pause: 100 * time.Millisecond}
	underLoad(t, l, 2*time.Minute, func(ctx context.Context) {
		w.until(time.Minute, "both work", func() bool { return first.ended() >= 5 && second.ended() >= 5 })
		first.kill()
		w.until(time.Minute, "the other one works on", func() bool { return second.ended() >= 15 })
		w.kill()
		w.start("")
		w.up()
	})
	w.quiet(2 * time.Minute)
	if app := w.sums().Apps["echo"]; app.Settled != 8*20 || app.Dead != 0 {
		t.Errorf("settled %d, dead %d", app.Settled, app.Dead)
	}
	second.leave()
	if found := disorder(append(first.told(), second.told()...)); len(found) > 0 {
		t.Errorf("violations of the order: %q", found)
	}
	if unknown := l.verify(); unknown > l.convs { // one call of each may have been open when the gateway was killed
		t.Errorf("%d unknown messages", unknown)
	}
}
