package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// workload says which conversation each event belongs to, in the order of
// arrival.
type workload struct {
	name  string
	order []int
	// convs is the number of conversations that have events; busiest how many
	// events the largest of them has.
	convs, busiest int
}

// The workloads of `bench dispatch`.
const (
	zipfExponent      = 1.1
	zipfBusiest       = 0.05 // share of the first conversation
	zipfConversations = 10_000
	workloadSeed      = 20
)

func newWorkload(name string, counts []int) workload {
	w := workload{name: name, busiest: slices.Max(counts)}
	for conv, n := range counts {
		if n > 0 {
			w.convs++
		}
		for range n {
			w.order = append(w.order, conv)
		}
	}
	r := rand.New(rand.NewPCG(workloadSeed, uint64(len(w.order)))) //nolint:gosec // the same order every time is wanted
	r.Shuffle(len(w.order), func(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] })
	return w
}

// uniform gives every conversation the same number of events, one more to the
// first ones when it does not come out even.
func uniform(name string, events, conversations int) workload {
	counts := make([]int, min(conversations, events))
	for i := range counts {
		counts[i] = events / len(counts)
		if i < events%len(counts) {
			counts[i]++
		}
	}
	return newWorkload(name, counts)
}

// zipf gives the k-th conversation, from 0, a share in proportion to (v+k)^-s,
// with v such that the first one has the share busiest. (With v = 1, the
// classical law, the first of 10,000 would have 15 %.)
func zipf(name string, events, conversations int, s, busiest float64) workload {
	conversations = max(min(conversations, events), 1)
	v := zipfOffset(conversations, s, busiest)
	total := zipfTotal(conversations, s, v)
	counts := make([]int, conversations)
	left, sum := events, 0.0
	for k := range counts {
		sum += math.Pow(v+float64(k), -s) / total
		n := int(math.Round(sum*float64(events))) - (events - left)
		counts[k] = min(n, left)
		left -= counts[k]
	}
	counts[0] += left
	return newWorkload(name, counts)
}

// zipfOffset finds v by halving; the share of the first falls as v grows.
func zipfOffset(conversations int, s, busiest float64) float64 {
	low, high := 1e-3, 1e6
	for range 50 {
		v := math.Sqrt(low * high)
		if math.Pow(v, -s)/zipfTotal(conversations, s, v) > busiest {
			low = v
		} else {
			high = v
		}
	}
	return low
}

func zipfTotal(conversations int, s, v float64) (total float64) {
	for k := range conversations {
		total += math.Pow(v+float64(k), -s)
	}
	return total
}
