package main

import (
	"math/bits"
	"time"
)

// histogram counts latencies in buckets of at most 1.6 % of their value, from a
// nanosecond to an hour. It is owned by one goroutine; merge joins those of
// several after they ended.
type histogram struct {
	counts  []uint32
	n       int64
	longest time.Duration
}

const (
	histogramBits = 6  // 64 buckets per power of two
	histogramTop  = 42 // 2^42 ns is 73 minutes
)

func newHistogram() *histogram {
	return &histogram{counts: make([]uint32, (histogramTop-histogramBits+1)<<histogramBits)}
}

func (h *histogram) add(d time.Duration) {
	v := uint64(max(d, 0))
	exp := max(bits.Len64(v)-histogramBits-1, 0)
	i := exp<<histogramBits + int(v>>exp) //nolint:gosec // v>>exp has 7 bits
	h.counts[min(i, len(h.counts)-1)]++
	h.n++
	h.longest = max(h.longest, d)
}

func (h *histogram) merge(other *histogram) {
	for i, c := range other.counts {
		h.counts[i] += c
	}
	h.n += other.n
	h.longest = max(h.longest, other.longest)
}

// quantile is the upper end of the bucket that holds the q-th part of all
// values; 0 when there are none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(int64(q*float64(h.n)+0.999999), 1)
	var seen int64
	for i, c := range h.counts {
		if seen += int64(c); seen < rank {
			continue
		}
		exp := max(i>>histogramBits-1, 0)
		low := i - exp<<histogramBits
		return min(time.Duration((low+1)<<exp-1), h.longest)
	}
	return h.longest
}

// latency is a histogram in a report, in milliseconds.
type latency struct {
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func (h *histogram) latency() latency {
	return latency{P50: inMillis(h.quantile(0.5)), P90: inMillis(h.quantile(0.9)), P99: inMillis(h.quantile(0.99)), Max: inMillis(h.longest)}
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
