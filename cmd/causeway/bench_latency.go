package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// targetHandoutP50 is from the relay's commit to the handler, in milliseconds.
const targetHandoutP50 = 1.0

type latencyOptions struct {
	rate      float64
	duration  time.Duration
	rounds    int
	customers int
	slots     int
}

// latencyResult is what `causeway bench latency` found, round by round.
type latencyResult struct {
	Offered       float64        `json:"offered_per_second"`
	Conversations int            `json:"conversations"`
	Rounds        []latencyRound `json:"rounds"`
}

type latencyRound struct {
	Events  int     `json:"events"`
	Handout latency `json:"commit_to_handler"`
	Ack     latency `json:"callback_to_200"`
}

func (b *bench) latencyCommand() *cobra.Command {
	var o latencyOptions
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "How long an event takes from the relay's commit to its handler",
		Long: "Offers signed callbacks at a fixed rate, conversations taking turns, to serve with a worker of the SDK in a\n" +
			"process of its own, connected by TCP. Measured is from the ledger's commit of the event to the first line of its\n" +
			"handler, by the clock of the machine.",
		Example: "  causeway bench latency\n  causeway bench latency --rate 2000 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.rate <= 0 || o.duration <= 0 || o.rounds < 1 || o.customers < 1 || o.slots < 1 {
				return usageError("--rate, --duration, --rounds, --conversations and --slots must be positive")
			}
			return b.measure(cmd.Context(), "latency", func(ctx context.Context, dir string, r *benchReport) error {
				return b.latency(ctx, dir, o, r)
			})
		},
	}
	f := cmd.Flags()
	f.Float64Var(&o.rate, "rate", 500, "events per second")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "length of one round")
	f.IntVar(&o.rounds, "rounds", 3, "rounds; the target is for the median of them")
	f.IntVar(&o.customers, "conversations", 1000, "conversations that take turns")
	f.IntVar(&o.slots, "slots", 64, "handlers at once")
	return cmd
}

// handoutWarmUp is a load before the first that counts.
const handoutWarmUp = time.Second

func (b *bench) latency(ctx context.Context, dir string, o latencyOptions, r *benchReport) (err error) {
	side, err := b.startHandout(ctx, dir, "latency", o.customers, o.slots, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, side.stop()) }()
	if _, err := side.load(ctx, o.rate, min(handoutWarmUp, o.duration)); err != nil {
		return err
	}
	res := &latencyResult{Offered: o.rate, Conversations: o.customers}
	var p50 []float64
	for range o.rounds {
		b.progress("%.0f events per second for %s", o.rate, o.duration)
		h, err := side.load(ctx, o.rate, o.duration)
		if err != nil {
			return err
		}
		res.Rounds = append(res.Rounds, latencyRound{Events: h.Events, Handout: h.Handout, Ack: h.Ack})
		p50 = append(p50, h.Handout.P50)
	}
	r.Latency = res
	r.atMost("relay's commit to handler, p50 in ms", median(p50), targetHandoutP50)
	return nil
}

func (r *latencyResult) human(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%.0f events per second over %d conversations\n\n", r.Offered, r.Conversations)
	t := newBenchTable(w, "events", "", "p50 ms", "p90 ms", "p99 ms", "max ms")
	for _, l := range r.Rounds {
		t.row(fmt.Sprint(l.Events), "commit to handler", ms(l.Handout.P50), ms(l.Handout.P90), ms(l.Handout.P99), ms(l.Handout.Max))
		t.row("", "callback to 200", ms(l.Ack.P50), ms(l.Ack.P90), ms(l.Ack.P99), ms(l.Ack.Max))
	}
	t.end()
}
