package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// BenchmarkTurn is a few conversations alone: an event after the other, from the ledger
// to a worker and back. What it takes is what a conversation's busiest pace ends at.
func BenchmarkTurn(b *testing.B) {
	for _, convs := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("conversations=%d", convs), func(b *testing.B) { benchTurn(b, convs) })
	}
}

func benchTurn(b *testing.B, convs int) {
	rig, err := newDispatchRig(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := rig.close(); err != nil {
			b.Error(err)
		}
	}()
	if err := rig.preload(b.Context(), uniform("few", b.N, convs)); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	before, _ := readProcess(os.Getpid())
	took, err := rig.run(b.Context(), b.N, 200, false, func(context.Context, *gateway.Event) ([]gateway.Reply, error) { return nil, nil })
	if err != nil {
		b.Fatal(err)
	}
	after, _ := readProcess(os.Getpid())
	b.ReportMetric(float64(took.Microseconds())/float64(b.N)*float64(convs), "µs/turn")
	b.ReportMetric(float64((after.CPU-before.CPU).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/float64(rig.seen.commits.Load()), "answers/commit")
	b.ReportMetric(float64(rig.seen.closed.Load())/float64(b.N), "closed/turn")
}
