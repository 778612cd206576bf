package main

import (
	"runtime"
	"testing"
)

// A collection in a calm moment is made when it is worth it, and not again after it.
func TestHalfway(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name                string
		objects, live, goal uint64
		want                bool
	}{
		{"just collected", 130 * mib, 130 * mib, 390 * mib, false},
		{"a third of the way", 220 * mib, 130 * mib, 390 * mib, false},
		{"more than half of it", 270 * mib, 130 * mib, 390 * mib, true},
		{"a small heap is not worth it", 12 * mib, 4 * mib, 12 * mib, false},
		{"nothing collected yet", 60 * mib, 0, 64 * mib, false},
		{"goal below what lives, by a memory limit", 200 * mib, 180 * mib, 100 * mib, true},
		{"a runtime that does not count", 0, 0, 0, false},
	} {
		h := heap{objects: c.objects, live: c.live, goal: c.goal}
		if got := h.halfway(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The names of the runtime's numbers are right, and what is allocated is seen.
func TestHeapNumbers(t *testing.T) {
	runtime.GC() // before the first one nothing is known to live
	h := newHeap()
	before := h.read()
	if h.objects == 0 || h.live == 0 || h.goal < h.live {
		t.Fatalf("objects %d, live %d, goal %d bytes", h.objects, h.live, h.goal)
	}
	kept := make([]byte, 32<<20)
	defer runtime.KeepAlive(kept)
	if got := h.read() - before; got < uint64(len(kept)) {
		t.Errorf("%d bytes seen of %d that were allocated", got, len(kept))
	}
}
