package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// childEnv makes the test binary behave as causeway itself, so that tests can
// start and kill real processes. killEnv is "boundary:n": the process ends
// itself with SIGKILL the n-th time it comes to that boundary.
const (
	childEnv = "CAUSEWAY_TEST_CHILD"
	killEnv  = "CAUSEWAY_TEST_KILL"
	// storageEnv limits the embedded broker's storage, in bytes.
	storageEnv = "CAUSEWAY_TEST_STORAGE"
	// laterEnv is how far the process's clock is ahead, so that what waits for an hour
	// is due; callEnv in place of testCallTimeout, unknownEnv of a wait for evidence of 3 s.
	laterEnv   = "CAUSEWAY_TEST_LATER"
	callEnv    = "CAUSEWAY_TEST_CALL"
	unknownEnv = "CAUSEWAY_TEST_UNKNOWN"
)

// testCallTimeout is how long a call of the gateways may take.
const testCallTimeout = 2 * time.Second

const standsStill = ":stop"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		flag.Parse()
		// Whole gateways mostly wait, so many more of them run at once than there are cores.
		if p := flag.Lookup("test.parallel"); p.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
			_ = flag.Set(p.Name, strconv.Itoa(5*runtime.GOMAXPROCS(0)))
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	if spec := os.Getenv(workerEnv); spec != "" {
		os.Exit(runWorker(ctx, spec)) //nolint:gocritic // the process ends here, nothing is left to stop
	}
	if conf := os.Getenv(natsEnv); conf != "" {
		os.Exit(runNATS(conf)) //nolint:gocritic // the process ends here, nothing is left to stop
	}
	c := &cli{stdio: stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}, tune: func(o *appOptions) {
		o.CallTimeout = duration(callEnv, testCallTimeout)
		if later := duration(laterEnv, 0); later != 0 {
			o.Now = func() time.Time { return time.Now().Add(later) }
		}
		unknown := duration(unknownEnv, 3*time.Second)
		o.UnknownWait = func(string, string) time.Duration { return unknown }
		o.Boundary = suicide(os.Getenv(killEnv))
		o.MaxStorage, _ = strconv.ParseInt(os.Getenv(storageEnv), 10, 64)
	}}
	os.Exit(c.run(ctx, os.Args[1:])) //nolint:gocritic // the process ends here, nothing is left to stop
}

// duration reads one of the environment.
func duration(name string, otherwise time.Duration) time.Duration {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// suicide returns the hook that kills this process at a boundary, or, when the spec
// ends so, lets it stand still there.
func suicide(spec string) func(string) {
	name, count, ok := strings.Cut(spec, ":")
	if !ok {
		return nil
	}
	count, stands := strings.CutSuffix(count, standsStill)
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		panic(err)
	}
	var seen atomic.Int64
	return func(step string) {
		if step == name && seen.Add(1) == n {
			if stands {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				time.Sleep(200 * time.Millisecond) // a moment passes until it has reached this thread
				return
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // SIGKILL is on its way; go no step further
		}
	}
}
