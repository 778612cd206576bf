package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// benchChildEnv makes this test binary a server that a bench measures.
const benchChildEnv = "CAUSEWAY_TEST_BENCH_CHILD"

// TestBenchChild is no test: it is the server's process of the tests below.
func TestBenchChild(t *testing.T) {
	args := os.Getenv(benchChildEnv)
	if args == "" {
		t.Skip("runs as a child of the other tests")
	}
	c := &cli{stdio: stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}}
	root := c.root()
	if cmd, _, err := root.Find([]string{"bench"}); err != nil || cmd == root {
		root.AddCommand(c.benchCommand())
	}
	root.SetArgs(strings.Split(args, "\n"))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// tinyBench is a bench in a temporary folder whose servers are this test binary.
func tinyBench(t *testing.T) (b *bench, out *bytes.Buffer) {
	t.Helper()
	out = &bytes.Buffer{}
	return &bench{
		c:   &cli{stdio: stdio{out: out, err: testWriter{t}}, asJSON: true},
		dir: t.TempDir(),
		command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBenchChild$")
			cmd.Env = append(os.Environ(), benchChildEnv+"="+strings.Join(args, "\n"))
			return cmd, nil
		},
	}, out
}

// testWriter shows a child's log beside a failing test.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// runBench runs a bench, checks that it prints its report as JSON and as tables,
// and leaves its folder empty.
func runBench(t *testing.T, name string, do func(b *bench, ctx context.Context, dir string, r *benchReport) error) *benchReport {
	t.Helper()
	b, out := tinyBench(t)
	err := b.measure(t.Context(), name, func(ctx context.Context, dir string, r *benchReport) error { return do(b, ctx, dir, r) })
	if err != nil {
		t.Fatal(err)
	}
	var r benchReport
	dec := json.NewDecoder(out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		t.Fatalf("the report is not the JSON it should be: %v", err)
	}
	if r.Bench != name || r.Machine.Cores < 1 || r.Machine.Go == "" || r.Machine.FsyncP50 <= 0 || r.Seconds <= 0 || len(r.Targets) == 0 {
		t.Errorf("the report lacks the machine or targets: %+v", r)
	}
	var text bytes.Buffer
	r.human(&text)
	for _, want := range []string{"causeway bench " + name, "fsync p50", "wanted", r.Targets[0].Name} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not name %q:\n%s", want, text.String())
		}
	}
	left, err := os.ReadDir(b.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the bench left %v behind (%v)", left, err)
	}
	return &r
}

func TestBenchIngest(t *testing.T) {
	o := ingestOptions{connections: []int{1, 4}, rounds: 1, duration: 150 * time.Millisecond, events: 300}
	r := runBench(t, "ingest", func(b *bench, ctx context.Context, dir string, r *benchReport) error { return b.ingest(ctx, dir, o, r) })
	in := r.Ingest
	if len(in.Paused) != 2 || in.BodyBytes < 900 || in.BodyBytes > 1300 {
		t.Fatalf("%d parts with bodies of %d bytes, want 2 of about 1 KB", len(in.Paused), in.BodyBytes)
	}
	for _, p := range append(slices.Clone(in.Paused), in.Half) {
		for name, s := range map[string]ingestSide{"floor": p.Floor, "gateway": p.Gateway} {
			if s.Samples != 2 || s.Rate <= 0 || s.Refused != 0 || s.Failed != 0 {
				t.Errorf("%d connections, %s: %+v, want two samples and nothing refused", p.Connections, name, s)
			}
			if l := s.Latency; l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.Max {
				t.Errorf("%d connections, %s: latency %+v is not in order", p.Connections, name, l)
			}
		}
		if p.RateRatio <= 0 || p.P99Ratio <= 0 {
			t.Errorf("%d connections: ratios %+v", p.Connections, p)
		}
	}
	if s := in.Saturated; s.OK == 0 || s.Refused != 0 || s.Failed != 0 || s.DrainSeconds <= 0 || s.Backlog < 0 {
		t.Errorf("saturated: %+v", s)
	}
	if len(r.Targets) != 2*2+2 {
		t.Errorf("%d targets, want 6", len(r.Targets))
	}
}

func TestBenchDispatch(t *testing.T) {
	o := dispatchOptions{events: 200, slowEvents: 60, slots: 16, handler: 5 * time.Millisecond, rounds: 1}
	r := runBench(t, "dispatch", func(b *bench, ctx context.Context, dir string, r *benchReport) error {
		return b.dispatch(ctx, dir, o, r)
	})
	if len(r.Dispatch) != 6 || len(r.Targets) != 18 {
		t.Fatalf("%d results and %d targets, want 6 and 18", len(r.Dispatch), len(r.Targets))
	}
	for _, d := range r.Dispatch {
		if d.Violations != 0 || d.InFlight != 1 || d.Running < 1 || d.Running > o.slots || d.Rate <= 0 {
			t.Errorf("%+v: want order, one at a time, at most %d at once", d, o.slots)
		}
		if (d.HandlerMS > 0) != (d.Share > 0) || d.Share > 1 {
			t.Errorf("%s: share of the ideal is %v", d.Workload, d.Share)
		}
	}
}

func TestBenchDispatchOverTCP(t *testing.T) {
	b, _ := tinyBench(t)
	o := dispatchOptions{slots: 8, tcp: true}
	w := uniform("few", 60, 6)
	res := newDispatchResult(w, o, 0)
	if _, err := b.dispatchOnce(t.Context(), b.dir+"/tcp", w, o, 0, &res, ""); err != nil {
		t.Fatal(err)
	}
	if res.Violations != 0 || res.InFlight != 1 {
		t.Errorf("%+v: want order, one at a time", res)
	}
}

func TestBenchFootprint(t *testing.T) {
	o := footprintOptions{rate: 40, duration: 500 * time.Millisecond, events: 1000, rounds: 2, settle: 10 * time.Millisecond}
	if _, err := readProcess(os.Getpid()); err != nil {
		t.Skip(err)
	}
	r := runBench(t, "footprint", func(b *bench, ctx context.Context, dir string, r *benchReport) error {
		return b.footprint(ctx, dir, o, r)
	})
	f := r.Footprint
	if len(f.Rounds) != 2 || f.IdleRSS <= 0 || f.BusyRSS <= 0 {
		t.Fatalf("%+v: want two rounds and memory", f)
	}
	for _, l := range f.Rounds {
		if l.Turns != 20 || l.Missing != 0 || l.Doubles != 0 || l.Refused != 0 || l.Achieved <= 0 || l.Send.P99 < l.Send.P50 || l.Send.P50 <= 0 {
			t.Errorf("%+v: want 20 turns, each answered once", l)
		}
	}
	if d := f.Disk; d.Callbacks != 2*2*20 || d.Archive == 0 || d.Ledger == 0 || d.Streams == 0 {
		t.Errorf("%+v: want 80 callbacks and three sizes", d)
	}
}

func TestBenchSchedule(t *testing.T) {
	o := scheduleOptions{count: 200, over: time.Second, lead: time.Second, samples: 1}
	r := runBench(t, "schedule", func(b *bench, ctx context.Context, dir string, r *benchReport) error {
		return b.schedule(ctx, dir, o, r)
	})
	s := r.Schedule
	if s.Arrived+s.Cancelled+s.Unknown != o.count || s.Cancelled+s.TooLate < 1 || s.Missing+s.Early+s.Twice+s.Undead != 0 {
		t.Errorf("%+v: want %d messages, each once and not before its time", s, o.count)
	}
	if len(s.Waiting) != 9 || s.Late.P99 < s.Late.P50 || s.AskSeconds <= 0 || s.RestartSeconds <= 0 {
		t.Errorf("%+v: want nine acts, and how late they were", s)
	}
}

func TestBenchCheck(t *testing.T) {
	for _, c := range []struct {
		check bool
		got   float64
		fails bool
	}{{true, 0.95, false}, {true, 0.85, true}, {false, 0.85, false}} {
		b, _ := tinyBench(t)
		b.check = c.check
		err := b.measure(t.Context(), "ingest", func(_ context.Context, _ string, r *benchReport) error {
			r.Ingest = &ingestResult{}
			r.atLeast("rate", c.got, 0.9)
			r.atMost("p99", 1, 1.25)
			return nil
		})
		if (err != nil) != c.fails {
			t.Errorf("check %t, got %v: error %v", c.check, c.got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "1 of 2 targets missed: rate") {
			t.Errorf("error %q does not name the target", err)
		}
	}
}

func TestBenchUsage(t *testing.T) {
	for _, args := range [][]string{
		{"ingest", "--rounds", "0"}, {"ingest", "--connections", "0"}, {"ingest", "--dir", "/does/not/exist"},
		{"dispatch", "--slots", "0"}, {"dispatch", "--handler", "0s"}, {"send", "--delay", "0s"}, {"send", "--case", "none"}, {"footprint", "--rate", "0"}, {"footprint", "more"},
		{"schedule", "--count", "1"}, {"schedule", "--over", "0s"}, {"schedule", "--lead", "-1s"},
		{"latency", "--rate", "0"}, {"neighbour", "--slots", "1"}, {"conversations", "--waiting", "2", "--count", "1"},
	} {
		c := &cli{stdio: stdio{out: &bytes.Buffer{}, err: &bytes.Buffer{}}}
		cmd := c.benchCommand()
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		var e *exitError
		if err == nil {
			t.Errorf("%v: no error", args)
		} else if errors.As(err, &e) && e.code != exitUsage {
			t.Errorf("%v: exit %d, want %d", args, e.code, exitUsage)
		}
	}
}

func TestHistogram(t *testing.T) {
	h, half := newHistogram(), newHistogram()
	for i := 1; i <= 1000; i++ {
		to := h
		if i%2 == 0 {
			to = half
		}
		to.add(time.Duration(i) * 100 * time.Microsecond)
	}
	h.merge(half)
	for q, want := range map[float64]time.Duration{0: 100 * time.Microsecond, 0.5: 50 * time.Millisecond, 0.9: 90 * time.Millisecond, 0.99: 99 * time.Millisecond, 1: 100 * time.Millisecond} {
		got := h.quantile(q)
		if off := math.Abs(float64(got-want)) / float64(want); off > 0.016 {
			t.Errorf("quantile %v is %s, want %s within 1.6 %%", q, got, want)
		}
	}
	if h.n != 1000 || h.longest != 100*time.Millisecond {
		t.Errorf("%d values up to %s", h.n, h.longest)
	}
	for _, d := range []time.Duration{-1, 0, 1, 127, 128, 129, time.Hour, 100 * time.Hour} {
		one := newHistogram()
		one.add(d)
		if got := one.quantile(0.5); got > max(d, 0) || float64(got) < 0.98*float64(min(max(d, 0), time.Hour)) {
			t.Errorf("a histogram of %d says %d", d, got)
		}
	}
	if got := newHistogram().quantile(0.99); got != 0 {
		t.Errorf("an empty histogram says %s", got)
	}
}

func TestMedian(t *testing.T) {
	for want, list := range map[float64][]float64{0: nil, 2: {3, 1, 2}, 2.5: {4, 1, 3, 2}} {
		if got := median(list); got != want {
			t.Errorf("median of %v is %v, want %v", list, got, want)
		}
	}
}

func TestWorkloads(t *testing.T) {
	const events = 50_000
	for _, c := range []struct {
		w              workload
		convs, busiest int
	}{
		{uniform("u", events, 1000), 1000, 50},
		{uniform("u", events, 10_000), 10_000, 5},
		{uniform("u", 7, 3), 3, 3},
		{uniform("u", 2, 10), 2, 1},
		{zipf("z", events, zipfConversations, zipfExponent, zipfBusiest), 0, events / 20},
	} {
		counts := map[int]int{}
		for _, conv := range c.w.order {
			counts[conv]++
		}
		busiest := 0
		for _, n := range counts {
			busiest = max(busiest, n)
		}
		if len(counts) != c.w.convs || busiest != c.w.busiest || c.convs > 0 && c.w.convs != c.convs || math.Abs(float64(busiest-c.busiest)) > 1 {
			t.Errorf("%s: %d conversations, busiest %d (says %d, %d), want %d, %d", c.w.name, len(counts), busiest, c.w.convs, c.w.busiest, c.convs, c.busiest)
		}
	}
	z := zipf("z", events, zipfConversations, zipfExponent, zipfBusiest)
	if len(z.order) != events {
		t.Errorf("zipf has %d events", len(z.order))
	}
	if again := zipf("z", events, zipfConversations, zipfExponent, zipfBusiest); cmp.Diff(z.order, again.order) != "" {
		t.Error("the same workload came out in another order")
	}
}

func TestOrderWatch(t *testing.T) {
	o := newOrderWatch()
	first := o.begin("a", 1)
	o.begin("b", 1)()
	second := o.begin("a", 2) // the first one is still running
	first()
	second()
	o.begin("a", 2)() // again
	o.begin("a", 5)() // a gap
	if o.violations != 2 || o.maxInFlight != 2 || o.maxRunning != 2 || o.handled != 5 {
		t.Errorf("violations %d, in flight %d, running %d, handled %d; want 2, 2, 2, 5", o.violations, o.maxInFlight, o.maxRunning, o.handled)
	}
}
