package sqlite

import (
	"syscall"
	"testing"
	"time"
)

// cost measures the CPU time of a benchmark, user and system, which says more
// than elapsed time on a machine that others use too. The timer is reset.
func cost(b *testing.B) (report func(ops int)) {
	b.Helper()
	start := cpuTime(b)
	b.ResetTimer()
	return func(ops int) {
		b.StopTimer()
		b.ReportMetric(float64((cpuTime(b)-start).Nanoseconds())/1e3/float64(ops), "cpu-µs/op")
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
