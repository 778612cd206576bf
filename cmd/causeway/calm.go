package main

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"
)

// A collection of garbage takes half a core for 50 to 100 ms when 100,000 events wait,
// and callbacks that come at the rate of a rush wait in line meanwhile. The runtime
// begins one when the heap has grown to its goal, which is during a rush: nothing else
// allocates as much. So one is made before, in a moment in which nobody waits.
const (
	calmTick  = 25 * time.Millisecond
	calmTicks = 2        // in a row
	calmBytes = 64 << 10 // allocated in a tick at most: a callback a millisecond takes twice that, what follows from it more
	calmLeast = 16 << 20
)

// collectWhenCalm runs a collection in calm moments when the heap has grown halfway to
// the goal at least, until ctx ends.
func collectWhenCalm(ctx context.Context) error {
	h := newHeap()
	tick := time.NewTicker(calmTick)
	defer tick.Stop()
	calm := 0
	for before := h.read(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now := h.read()
		if now-before < calmBytes {
			calm++
		} else {
			calm = 0
		}
		if before = now; calm >= calmTicks && h.halfway() {
			runtime.GC()
		}
	}
}

// heap is the runtime's own numbers, in bytes, as they were read last; 0 where the
// runtime does not count. It belongs to one goroutine.
type heap struct {
	objects, live, goal uint64
	samples             []metrics.Sample
}

func newHeap() *heap {
	return &heap{samples: []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"},
	}}
}

// read returns what was ever allocated.
func (h *heap) read() uint64 {
	metrics.Read(h.samples)
	var n [4]uint64
	for i := range h.samples {
		if v := h.samples[i].Value; v.Kind() == metrics.KindUint64 {
			n[i] = v.Uint64()
		}
	}
	h.objects, h.live, h.goal = n[1], n[2], n[3]
	return n[0]
}

// halfway is whether the heap has grown more than half of what the runtime waits for,
// and a collection is worth the work.
func (h *heap) halfway() bool {
	return h.live > 0 && h.objects > h.live+calmLeast && h.objects-h.live > (h.goal-min(h.live, h.goal))/2
}
