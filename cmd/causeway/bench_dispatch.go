package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// What dispatch is held to.
const (
	targetDispatchRate  = 12_000 // events per second, handlers that do nothing
	targetDispatchShare = 0.95   // of the ideal, handlers that take 50 ms
)

type dispatchOptions struct {
	events, slowEvents int
	slots              int
	handler            time.Duration
	rounds             int
	tcp                bool
}

// dispatchResult is one workload with one kind of handler; medians over rounds of
// the speed, the worst of what must not happen.
type dispatchResult struct {
	Workload      string  `json:"workload"`
	Conversations int     `json:"conversations"`
	Busiest       int     `json:"events_of_busiest"`
	Events        int     `json:"events"`
	Slots         int     `json:"slots"`
	HandlerMS     float64 `json:"handler_ms"`      // asked for
	TookMS        float64 `json:"handler_took_ms"` // on average: a timer is late by up to 1 ms
	Rounds        int     `json:"rounds"`
	Seconds       float64 `json:"seconds"`
	Rate          float64 `json:"per_second"`
	// CPU of this process per event, in microseconds: ledger, gate, broker,
	// worker and intake together, and the collector (Linux).
	CPU float64 `json:"cpu_us"`
	// Ideal is the time of all handlers, as they took it, divided by min(conversations,
	// slots), or that of the busiest conversation's handlers when that is longer; Share is
	// Ideal / Seconds. Both 0 for handlers that take no time.
	Ideal float64 `json:"ideal_seconds,omitempty"`
	Share float64 `json:"share_of_ideal,omitempty"`
	// Violations are events that came out of their conversation's order;
	// InFlight is the most handlers of one conversation at once; Running of all.
	Violations int `json:"order_violations"`
	InFlight   int `json:"max_in_flight_per_conversation"`
	Running    int `json:"max_running"`
	// PerCommit is how many answers one ledger transaction settled on average;
	// Closed the offers that the broker refused because the one before was not
	// acknowledged yet, per event.
	PerCommit float64 `json:"answers_per_commit"`
	Closed    float64 `json:"offers_closed_per_event"`

	cpu, ideal, took []float64
}

func (b *bench) dispatchCommand() *cobra.Command {
	var o dispatchOptions
	cmd := &cobra.Command{
		Use:   "dispatch",
		Short: "Events per second from the ledger through gate, broker, workers and back, in order",
		Long: "Puts events into the ledger, then measures from the start of the gate to the commit that settles the last\n" +
			"one: once with handlers that do nothing, once with handlers that take --handler, against the ideal for\n" +
			"one event of a conversation at a time. Of a handler counts what it took: timers are late by up to 1 ms.",
		Example: "  causeway bench dispatch\n  causeway bench dispatch --events 200000 --slots 500 --tcp",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.events < 1 || o.slowEvents < 1 || o.slots < 1 || o.rounds < 1 || o.handler <= 0 {
				return usageError("--events, --slow-events, --slots, --rounds and --handler must be positive")
			}
			return b.measure(cmd.Context(), "dispatch", func(ctx context.Context, dir string, r *benchReport) error {
				return b.dispatch(ctx, dir, o, r)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.events, "events", 50_000, "events for handlers that do nothing")
	f.IntVar(&o.slowEvents, "slow-events", 50_000, "events for handlers that take --handler")
	f.IntVar(&o.slots, "slots", 200, "handlers at once")
	f.DurationVar(&o.handler, "handler", 50*time.Millisecond, "how long a slow handler takes")
	f.IntVar(&o.rounds, "rounds", 1, "rounds of each workload; medians are reported")
	f.BoolVar(&o.tcp, "tcp", false, "the worker connects by TCP instead of in process")
	return cmd
}

// workloads are what is measured, for so many events.
func workloads(events int) []workload {
	return []workload{
		uniform("uniform 1000", events, 1_000),
		uniform("uniform 10000", events, 10_000),
		zipf(fmt.Sprintf("zipf %.1f, busiest %.0f%%", zipfExponent, 100*zipfBusiest), events, zipfConversations, zipfExponent, zipfBusiest),
	}
}

func (b *bench) dispatch(ctx context.Context, dir string, o dispatchOptions, r *benchReport) error {
	for _, handler := range []time.Duration{0, o.handler} {
		events := o.events
		if handler > 0 {
			events = o.slowEvents
		}
		for i, w := range workloads(events) {
			b.progress("%s, %d events, handler %s", w.name, events, handler)
			res := newDispatchResult(w, o, handler)
			var seconds []float64
			for range o.rounds {
				part := fmt.Sprintf("dispatch-%d-%s", i+1, handler)
				s, err := b.dispatchOnce(ctx, filepath.Join(dir, part), w, o, handler, &res, b.profilePath(part))
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				seconds = append(seconds, s)
			}
			res.conclude(seconds)
			r.Dispatch = append(r.Dispatch, res)
			res.judge(r)
		}
	}
	return nil
}

func newDispatchResult(w workload, o dispatchOptions, handler time.Duration) dispatchResult {
	return dispatchResult{
		Workload: w.name, Conversations: w.convs, Busiest: w.busiest, Events: len(w.order), Slots: o.slots,
		HandlerMS: inMillis(handler), Rounds: o.rounds,
	}
}

func (r *dispatchResult) conclude(seconds []float64) {
	r.Seconds = median(seconds)
	r.Rate = float64(r.Events) / r.Seconds
	if r.HandlerMS > 0 {
		r.Ideal, r.TookMS = median(r.ideal), median(r.took)
		r.Share = r.Ideal / r.Seconds
	}
	r.CPU = median(r.cpu)
}

func (r *dispatchResult) judge(to *benchReport) {
	name := r.Workload + ", handler does nothing"
	if r.HandlerMS > 0 {
		name = fmt.Sprintf("%s, handler %.0f ms", r.Workload, r.HandlerMS)
		to.atLeast(name+": share of the ideal", r.Share, targetDispatchShare)
	} else {
		to.atLeast(name+": events/s", r.Rate, targetDispatchRate)
	}
	to.atMost(name+": order violations", float64(r.Violations), 0)
	to.atMost(name+": in flight per conversation", float64(r.InFlight), 1)
}

// dispatchOnce preloads a new ledger and measures one run, in seconds.
func (b *bench) dispatchOnce(ctx context.Context, dir string, w workload, o dispatchOptions, handler time.Duration,
	res *dispatchResult, cpu string,
) (seconds float64, err error) {
	rig, err := newDispatchRig(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rig.close()) }()
	if err := rig.preload(ctx, w); err != nil {
		return 0, err
	}
	runtime.GC() // what the preload left is not the run's
	turns := max(len(w.order)/min(w.convs, o.slots), w.busiest)
	limit := time.Minute + 4*time.Duration(turns)*handler + time.Duration(len(w.order))*time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	watch := newOrderWatch()
	stop, err := profile(cpu)
	if err != nil {
		return 0, err
	}
	before, _ := readProcess(os.Getpid()) // where it cannot be read, CPU is 0
	took, err := rig.run(ctx, len(w.order), o.slots, o.tcp, func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		end := watch.begin(ev.Conv, ev.Seq)
		defer end()
		if handler > 0 {
			wait(ctx, handler)
		}
		return nil, nil
	})
	if err := errors.Join(err, stop()); err != nil {
		return 0, err
	}
	after, _ := readProcess(os.Getpid())
	res.cpu = append(res.cpu, float64(after.CPU-before.CPU)/float64(time.Microsecond)/float64(len(w.order)))
	res.PerCommit = float64(len(w.order)) / float64(max(rig.seen.commits.Load(), 1))
	res.Closed = float64(rig.seen.closed.Load()) / float64(len(w.order))
	res.ideal, res.took = append(res.ideal, watch.ideal(o.slots).Seconds()), append(res.took, inMillis(watch.mean()))
	res.Violations += watch.violations
	res.InFlight = max(res.InFlight, watch.maxInFlight)
	res.Running = max(res.Running, watch.maxRunning)
	return took.Seconds(), rig.settledAll(ctx, len(w.order))
}

// settledAll asks the ledger whether it agrees.
func (r *dispatchRig) settledAll(ctx context.Context, n int) error {
	s, err := r.store.Ledger.Recount(ctx)
	if err != nil {
		return err
	}
	if a := s.Apps[r.app.Name]; a.Settled != int64(n) || a.Pending != 0 {
		return fmt.Errorf("the ledger holds %d settled and %d pending events, of %d", a.Settled, a.Pending, n)
	}
	return nil
}

func humanDispatch(w io.Writer, list []dispatchResult) {
	t := newBenchTable(w, "workload", "handler", "took", "events", "conversations", "slots", "seconds", "events/s", "CPU us", "ideal s", "share", "violations", "in flight", "per commit", "closed")
	for _, r := range list {
		ideal, share, took := "", "", ""
		if r.HandlerMS > 0 {
			took = fmt.Sprintf("%.1f ms", r.TookMS)
			ideal, share = fmt.Sprintf("%.2f", r.Ideal), fmt.Sprintf("%.1f %%", 100*r.Share)
		}
		t.row(r.Workload, fmt.Sprintf("%.0f ms", r.HandlerMS), took, fmt.Sprint(r.Events), fmt.Sprint(r.Conversations), fmt.Sprint(r.Slots),
			fmt.Sprintf("%.2f", r.Seconds), fmt.Sprintf("%.0f", r.Rate), fmt.Sprintf("%.0f", r.CPU), ideal, share, fmt.Sprint(r.Violations), fmt.Sprint(r.InFlight),
			fmt.Sprintf("%.1f", r.PerCommit), fmt.Sprintf("%.2f", r.Closed))
	}
	t.end()
}
