package sqlite

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cost measures the CPU time of a benchmark, user and system, which says more
// than elapsed time on a machine that others use too, and the bytes written: to
// the logs and, by checkpoints, to the files (Linux). The timer is reset.
func cost(b *testing.B) (report func(ops int)) {
	b.Helper()
	start, bytes := cpuTime(b), written()
	b.ResetTimer()
	return func(ops int) {
		b.StopTimer()
		b.ReportMetric(float64((cpuTime(b)-start).Nanoseconds())/1e3/float64(ops), "cpu-µs/op")
		if bytes > 0 {
			b.ReportMetric(float64(written()-bytes)/1024/float64(ops), "written-KiB/op")
		}
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

// written is how many bytes this process has written; 0 where nobody counts.
func written() (n int64) {
	raw, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(raw)) {
		if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
			return n
		}
	}
	return 0
}
