package main

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"
)

// inLine says that the quantiles of a latency are in order.
func (l latency) inLine() bool {
	return l.P50 > 0 && l.P50 <= l.P90 && l.P90 <= l.P99 && l.P99 <= l.Max
}

func TestBenchLatency(t *testing.T) {
	t.Parallel()
	o := latencyOptions{rate: 100, duration: 300 * time.Millisecond, rounds: 2, customers: 7, slots: 4}
	r := runBench(t, "latency", func(b *bench, ctx context.Context, dir string, r *benchReport) error {
		return b.latency(ctx, dir, o, r)
	})
	if len(r.Latency.Rounds) != 2 || len(r.Targets) != 1 {
		t.Fatalf("%+v: want two rounds and a target", r)
	}
	for _, l := range r.Latency.Rounds {
		if l.Events != 30 || !l.Handout.inLine() || !l.Ack.inLine() {
			t.Errorf("%+v: want 30 events and latencies in order", l)
		}
	}
}

func TestBenchNeighbour(t *testing.T) {
	t.Parallel()
	o := neighbourOptions{waiting: 1100, rate: 100, duration: 200 * time.Millisecond, rounds: 2, customers: 7, slots: 4, handler: time.Minute}
	r := runBench(t, "neighbour", func(b *bench, ctx context.Context, dir string, r *benchReport) error {
		return b.neighbour(ctx, dir, o, r)
	})
	n := r.Neighbour
	// Of the others the last answers may be on the way.
	if n.Waiting != 1100 || n.WaitingEnd < 1100 || n.WaitingEnd > 1120 || len(n.Rounds) != 2 || n.Ratio <= 0 {
		t.Fatalf("%+v: want 1100 events waiting all the time, and two rounds", n)
	}
	for _, l := range n.Rounds {
		if !l.Alone.inLine() || !l.Beside.inLine() || l.Ratio != l.Beside.P99/l.Alone.P99 {
			t.Errorf("%+v: want latencies in order, and their ratio", l)
		}
	}
}

func TestBenchConversations(t *testing.T) {
	t.Parallel()
	if _, err := readProcess(os.Getpid()); err != nil {
		t.Skip(err)
	}
	o := conversationsOptions{count: 1500, waiting: 60, slots: 8}
	r := runBench(t, "conversations", func(b *bench, ctx context.Context, dir string, r *benchReport) error {
		return b.conversations(ctx, dir, o, r)
	})
	c := r.Conversations
	for name, m := range map[string]conversationsMemory{"empty": c.Empty, "known": c.Known, "held": c.Held, "again": c.Again, "drained": c.Drained} {
		if m.Gateway <= 0 || m.Broker <= 0 || m.Gateway+m.Broker != m.Heap || m.RSS < m.Heap/2 || m.Stored <= 0 || m.Consumers != c.Empty.Consumers {
			t.Errorf("%s: %+v: want memory of both, and as many consumers as before", name, m)
		}
	}
	if c.Known.Stored <= c.Empty.Stored || c.First <= 0 || c.FirstEmpty <= 0 || c.Ledger == 0 || c.Archive == 0 {
		t.Errorf("%+v: want more in the streams than before, times and sizes", c)
	}
	if asked := len(looks()); len(c.Looks) != asked || len(r.Targets) != 6+asked {
		t.Errorf("%d of %d questions asked, %d targets", len(c.Looks), asked, len(r.Targets))
	}
	if i := slices.IndexFunc(c.Looks, func(l conversationsLook) bool { return l.Seconds <= 0 }); i >= 0 {
		t.Errorf("%s took no time", c.Looks[i].Path)
	}
}
