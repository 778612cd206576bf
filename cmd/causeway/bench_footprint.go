package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

const (
	targetFootprintRate = 0.98 // of the offered rate
	footprintCustomers  = 10_000
	footprintConns      = 32
	footprintPatience   = 60 * time.Second // for the last replies and statuses
	footprintLook       = 20 * time.Millisecond
)

type footprintOptions struct {
	rate     float64
	duration time.Duration
	events   int
	rounds   int
	settle   time.Duration
}

// footprintResult is what `causeway bench footprint` found. Sizes are in bytes.
type footprintResult struct {
	SettleSeconds float64         `json:"settle_seconds"`
	IdleRSS       int64           `json:"idle_rss"`
	BusyRSS       int64           `json:"busy_rss"` // at the end of the last round
	Rounds        []footprintLoad `json:"rounds"`
	Disk          footprintDisk   `json:"disk"`
}

// footprintLoad is one round of turns: callback, echo, reply taken, status back.
type footprintLoad struct {
	Turns    int     `json:"turns"`
	Offered  float64 `json:"offered_per_second"`
	Achieved float64 `json:"achieved_per_second"` // replies, until the last one
	// CPU is the gateway's CPU seconds per second while turns were offered;
	// PerTurn its milliseconds per turn until everything was done.
	CPU     float64 `json:"cpu"`
	PerTurn float64 `json:"cpu_ms_per_turn"`
	Ack     latency `json:"callback_to_200"`
	Send    latency `json:"callback_to_send"`
	Missing int     `json:"turns_without_reply"`
	Doubles int     `json:"turns_with_two_replies"`
	Refused int64   `json:"callbacks_refused"`
}

// footprintDisk is measured after the gateway ended, which copies its logs back
// into the files.
type footprintDisk struct {
	Callbacks int64 `json:"callbacks"` // messages and statuses
	Archive   int64 `json:"archive"`
	Ledger    int64 `json:"ledger"`
	Streams   int64 `json:"streams"`
}

func (b *bench) footprintCommand() *cobra.Command {
	var o footprintOptions
	cmd := &cobra.Command{
		Use:   "footprint",
		Short: "Memory when idle, CPU at a fixed rate of turns, bytes on disk",
		Long: "Runs serve with the echo application as a process of its own; a turn is a callback in, the echo, the reply\n" +
			"taken by a fake platform, and its status back. What a process uses is read from /proc (Linux).",
		Example: "  causeway bench footprint\n  causeway bench footprint --rate 200 --duration 1m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.rate <= 0 || o.duration <= 0 || o.rounds < 1 || o.events < 1 || o.settle < 0 {
				return usageError("--rate, --duration, --events and --rounds must be positive")
			}
			return b.measure(cmd.Context(), "footprint", func(ctx context.Context, dir string, r *benchReport) error {
				return b.footprint(ctx, dir, o, r)
			})
		},
	}
	f := cmd.Flags()
	f.Float64Var(&o.rate, "rate", 1000, "turns per second offered")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "length of one round")
	f.IntVar(&o.events, "events", 100_000, "turns of one round at most")
	f.IntVar(&o.rounds, "rounds", 1, "rounds")
	f.DurationVar(&o.settle, "settle", 5*time.Second, "how long the idle gateway is left alone")
	return cmd
}

func (b *bench) footprint(ctx context.Context, dir string, o footprintOptions, r *benchReport) (err error) {
	sandbox, err := newBenchSandbox()
	if err != nil {
		return err
	}
	path, err := benchConfig{dir: dir, apiBase: sandbox.base(), builtin: "echo"}.write()
	if err != nil {
		return err
	}
	args := []string{"child-gateway", "-c", path}
	if p := b.profilePath("footprint"); p != "" {
		args = append(args, "--profile", p)
	}
	child, err := b.startChild(ctx, args...)
	if err != nil {
		return errors.Join(err, sandbox.listener.Close())
	}
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(sctx)
	g.Go(func() error { return sandbox.run(gctx, child.addr) })
	res := &footprintResult{SettleSeconds: o.settle.Seconds()}
	run := &footprintRun{b: b, o: o, child: child, sandbox: sandbox, maker: newCallbackMaker(footprintCustomers)}
	err = run.all(gctx, res)
	cancel()
	err = errors.Join(err, g.Wait(), child.stop())
	if err != nil {
		return err
	}
	if err := res.Disk.measure(dir); err != nil {
		return err
	}
	r.Footprint = res
	res.judge(r)
	return nil
}

// footprintRun is the work on a running gateway.
type footprintRun struct {
	b       *bench
	o       footprintOptions
	child   *benchChild
	sandbox *benchSandbox
	maker   *callbackMaker
	took    int64 // callbacks of messages answered 200
}

func (f *footprintRun) all(ctx context.Context, res *footprintResult) error {
	f.b.progress("idle for %s", f.o.settle)
	wait(ctx, f.o.settle)
	idle, err := readProcess(f.child.cmd.Process.Pid)
	if err != nil {
		return err
	}
	res.IdleRSS = idle.RSS
	for range f.o.rounds {
		f.b.progress("%.0f turns per second for %s", f.o.rate, f.o.duration)
		l, err := f.round(ctx)
		if err != nil {
			return err
		}
		res.Rounds = append(res.Rounds, l)
	}
	busy, err := readProcess(f.child.cmd.Process.Pid)
	if err != nil {
		return err
	}
	res.BusyRSS = busy.RSS
	res.Disk.Callbacks = f.took + f.sandbox.sent.Load()
	return nil
}

// round offers the turns of one round and waits until they are over.
func (f *footprintRun) round(ctx context.Context) (out footprintLoad, err error) {
	n := max(min(int(f.o.rate*f.o.duration.Seconds()), f.o.events), 1)
	l := benchLoad{addr: f.child.addr, conns: footprintConns, rate: f.o.rate, limit: f.o.duration, begun: f.sandbox.began}
	var first int64
	l.requests, first, _ = f.maker.requests(n, f.child.addr, nil)
	all := f.sandbox.expect(first, n)
	pid := f.child.cmd.Process.Pid
	before, err := readProcess(pid)
	if err != nil {
		return out, err
	}
	start := time.Now()
	sent, err := l.run(ctx)
	if err != nil {
		return out, err
	}
	offered, err := readProcess(pid)
	if err != nil {
		return out, err
	}
	select {
	case <-all:
	case <-time.After(footprintPatience):
	case <-ctx.Done():
		return out, ctx.Err()
	}
	took := time.Since(start)
	f.took += sent.OK
	if err := f.statusesBack(ctx); err != nil {
		return out, err
	}
	after, err := readProcess(pid)
	if err != nil {
		return out, err
	}
	s := f.sandbox
	s.mu.Lock()
	defer s.mu.Unlock()
	return footprintLoad{
		Turns: n, Offered: f.o.rate, Achieved: float64(s.replied) / took.Seconds(),
		CPU:     (offered.CPU - before.CPU).Seconds() / sent.took.Seconds(),
		PerTurn: inMillis(after.CPU-before.CPU) / float64(n),
		Ack:     sent.Latency, Send: s.hist.latency(), Missing: n - s.replied, Doubles: s.doubles, Refused: sent.Refused + sent.Failed,
	}, nil
}

// statusesBack waits until every status was taken and relayed.
func (f *footprintRun) statusesBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, footprintPatience)
	defer cancel()
	for f.sandbox.tried.Load() < f.sandbox.accepted.Load() {
		if !wait(ctx, footprintLook) {
			return errors.Join(errors.New("the statuses were not taken in time"), ctx.Err())
		}
	}
	_, err := f.child.relayed(ctx, f.took+f.sandbox.sent.Load(), footprintPatience)
	return err
}

// measure adds up the files of a gateway that has ended.
func (d *footprintDisk) measure(dir string) (err error) {
	if d.Archive, err = sizeOf(filepath.Join(dir, "store"), "archive.db*"); err != nil {
		return err
	}
	if d.Ledger, err = sizeOf(filepath.Join(dir, "store"), "ledger.db*"); err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(dir, "nats"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			d.Streams += info.Size()
		}
		return err
	})
}

func sizeOf(dir, pattern string) (n int64, err error) {
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, err
}

func (r *footprintResult) judge(to *benchReport) {
	for i, l := range r.Rounds {
		name := fmt.Sprintf("round %d: ", i+1)
		to.atLeast(name+"replies per second / offered", l.Achieved/l.Offered, targetFootprintRate)
		to.atMost(name+"turns without a reply or with two", float64(l.Missing+l.Doubles), 0)
		to.atMost(name+"callbacks refused or not answered", float64(l.Refused), 0)
	}
}

func (r *footprintResult) human(w io.Writer) {
	mib := func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	_, _ = fmt.Fprintf(w, "idle for %.0f s: %s in memory; after the load: %s\n\n", r.SettleSeconds, mib(r.IdleRSS), mib(r.BusyRSS))
	t := newBenchTable(w, "turns", "offered/s", "achieved/s", "CPU s/s", "CPU ms/turn", "", "p50 ms", "p90 ms", "p99 ms", "max ms")
	for _, l := range r.Rounds {
		t.row(fmt.Sprint(l.Turns), fmt.Sprintf("%.0f", l.Offered), fmt.Sprintf("%.0f", l.Achieved), fmt.Sprintf("%.2f", l.CPU),
			fmt.Sprintf("%.2f", l.PerTurn), "callback to 200", ms(l.Ack.P50), ms(l.Ack.P90), ms(l.Ack.P99), ms(l.Ack.Max))
		t.row("", "", "", "", "", "callback to send", ms(l.Send.P50), ms(l.Send.P90), ms(l.Send.P99), ms(l.Send.Max))
	}
	t.end()
	d := &r.Disk
	per := func(n int64) string { return fmt.Sprintf("%.0f", float64(n)/float64(max(d.Callbacks, 1))) }
	_, _ = fmt.Fprintf(w, "\nbytes on disk per callback, after %d: archive %s, ledger %s, streams %s\n", d.Callbacks, per(d.Archive), per(d.Ledger), per(d.Streams))
}
