package main

import (
	"context"
	"math"
	"runtime"
	"strings"
)

// childMemory is what a gateway holds in memory after a collection, and what is in its
// broker.
type childMemory struct {
	Heap int64 `json:"heap"` // bytes in use
	// Broker is the part of it that the embedded server has, Gateway the rest: by who
	// allocated what is in use, of a sample.
	Broker    int64 `json:"broker"`
	Gateway   int64 `json:"gateway"`
	Consumers int   `json:"consumers"`
	Stored    int64 `json:"stored"` // bytes in the streams
}

// heapSampleRate is after how many bytes an allocation is remembered: of a million
// things of 200 bytes some 3,000 are.
const heapSampleRate = 64 << 10

// sampleHeap is called before anything is allocated.
func sampleHeap() { runtime.MemProfileRate = heapSampleRate }

func (a *app) childMemory(ctx context.Context) (any, error) {
	for range 3 { // the profile is of the collection before the last one
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	share := brokerShare()
	out := childMemory{Heap: int64(m.HeapAlloc), Broker: int64(float64(m.HeapAlloc) * share)} //nolint:gosec // less than 2^63
	out.Gateway = out.Heap - out.Broker
	s, err := a.broker.stream()
	if err != nil {
		return nil, err
	}
	use, err := s.Usage(ctx)
	out.Consumers, out.Stored = use.Consumers, use.Stored
	return out, err
}

const serverPackage = "github.com/nats-io/nats-server/"

// brokerShare is the part of the sampled heap that was allocated by the server's code.
func brokerShare() float64 {
	records := make([]runtime.MemProfileRecord, 1024)
	for {
		n, ok := runtime.MemProfile(records, false)
		if ok {
			records = records[:n]
			break
		}
		records = make([]runtime.MemProfileRecord, n+n/4)
	}
	var all, broker float64
	for i := range records {
		r := &records[i]
		bytes := scaled(r.InUseBytes(), r.InUseObjects())
		if all += bytes; ofServer(r.Stack()) {
			broker += bytes
		}
	}
	if all == 0 {
		return 0
	}
	return broker / all
}

// scaled is how much was in use of what was sampled, each allocation with a
// probability that grows with its size; see runtime/pprof.
func scaled(bytes, objects int64) float64 {
	if objects <= 0 || bytes <= 0 {
		return 0
	}
	size := float64(bytes) / float64(objects)
	return float64(bytes) / (1 - math.Exp(-size/heapSampleRate))
}

func ofServer(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, serverPackage) {
			return true
		}
		if !more {
			return false
		}
	}
}
