package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// benchMachine is where numbers were measured; they mean nothing without it.
type benchMachine struct {
	Cores    int    `json:"cores"`
	Procs    int    `json:"gomaxprocs"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Version  string `json:"causeway"`
	Dir      string `json:"dir"`
	// FsyncP50 is the median of writing 1 KiB to a file in Dir and syncing it.
	FsyncP50 float64 `json:"fsync_p50_ms"`
	// Load is the load average of the last minute before the bench: with more
	// than a fraction of a core taken, the numbers are of the others too (Linux).
	Load float64 `json:"load_average"`
}

const fsyncProbes = 100

func newBenchMachine(dir string) (benchMachine, error) {
	m := benchMachine{
		Cores: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Version: version(), Dir: dir,
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(b), " ")
		m.Load, _ = strconv.ParseFloat(first, 64) // 0 when it is none
	}
	p50, err := fsyncP50(dir)
	m.FsyncP50 = inMillis(p50)
	return m, err
}

func (m *benchMachine) String() string {
	return fmt.Sprintf("%d cores, %s, %s, causeway %s, fsync p50 %.2f ms in %s, load average %.1f",
		m.Cores, m.Go, m.Platform, m.Version, m.FsyncP50, m.Dir, m.Load)
}

func fsyncP50(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "fsync.probe")) //nolint:gosec // in the bench's own folder
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
	h, page := newHistogram(), make([]byte, 1<<10)
	for range fsyncProbes {
		at := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		h.add(time.Since(at))
	}
	return h.quantile(0.5), nil
}

// processUse is what a process has used so far, as Linux tells it.
type processUse struct {
	CPU time.Duration // user and system
	RSS int64         // bytes in memory now
}

// clockTick is USER_HZ, which is 100 on every Linux that Go runs on (proc(5),
// sysconf(3)).
const clockTick = 10 * time.Millisecond

// readProcess reads /proc (proc(5)): fields 14 and 15 of stat, counted behind the
// name in parentheses, and VmRSS of status.
func readProcess(pid int) (u processUse, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("what a process uses can be read on Linux only: %w", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return u, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		u.CPU += time.Duration(n) * clockTick
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return u, fmt.Errorf("/proc/%d/status: %w", pid, err)
			}
			u.RSS = kib << 10
		}
	}
	return u, nil
}

// profile writes a CPU profile of what runs until the function it returns is
// called; path "" makes none.
func profile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path) //nolint:gosec // the operator named it
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
