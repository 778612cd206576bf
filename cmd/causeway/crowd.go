package main

import (
	"runtime/metrics"
	"time"
)

// crowd says whether the goroutines of this process wait for a core: then every
// callback does too. The Go runtime counts how long goroutines were ready before
// they ran (a sample of one in eight, /sched/latencies of runtime/metrics).
// Unlike the length of the archive's queue, which grows with a slow disk as
// well, it tells that doing less would help. It belongs to one goroutine.
type crowd struct {
	sample []metrics.Sample
	counts []uint64 // at the last answer
	last   bool
}

// A crowd is when more than one in crowdShare goroutines waited crowdWait or
// longer. A question after few of them is answered as the last one was.
const (
	crowdWait  = time.Millisecond
	crowdShare = 20
	crowdFew   = 60
)

func newCrowd() *crowd {
	c := &crowd{sample: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
	c.seen()
	return c
}

// seen is whether there was a crowd since the last answer.
func (c *crowd) seen() bool {
	metrics.Read(c.sample)
	if c.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return true // a runtime that does not count; the queue decides alone
	}
	h := c.sample[0].Value.Float64Histogram()
	if len(c.counts) != len(h.Counts) {
		c.counts = make([]uint64, len(h.Counts))
	}
	var all, long uint64
	for i, n := range h.Counts {
		since := n - c.counts[i]
		all += since
		if from := h.Buckets[i]; from >= crowdWait.Seconds() {
			long += since
		}
	}
	if all < crowdFew {
		return c.last
	}
	copy(c.counts, h.Counts)
	c.last = long*crowdShare > all
	return c.last
}
