package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// targetNeighbour is the p99 beside a conversation with much to do, against that
// without; the median of the rounds.
const targetNeighbour = 1.5

type neighbourOptions struct {
	waiting   int
	rate      float64
	duration  time.Duration
	rounds    int
	customers int
	slots     int
	handler   time.Duration
}

// neighbourResult is what `causeway bench neighbour` found. Ratio is the median of
// those of the rounds.
type neighbourResult struct {
	Offered       float64          `json:"offered_per_second"`
	Conversations int              `json:"conversations"`
	HandlerMS     float64          `json:"slow_handler_ms"`
	Waiting       int64            `json:"waiting"`      // in the one, at the beginning
	WaitingEnd    int64            `json:"waiting_left"` // at the end
	FillSeconds   float64          `json:"fill_seconds"`
	Rounds        []neighbourRound `json:"rounds"`
	Ratio         float64          `json:"p99_ratio"`
}

// neighbourRound is one load without and one beside the busy conversation.
type neighbourRound struct {
	Alone  latency `json:"alone"`
	Beside latency `json:"beside"`
	Ratio  float64 `json:"p99_ratio"`
}

func (b *bench) neighbourCommand() *cobra.Command {
	var o neighbourOptions
	cmd := &cobra.Command{
		Use:   "neighbour",
		Short: "How other conversations fare beside one with very much to do",
		Long: "Two gateways with a worker each get the same load, turn and turn about. In one of them another conversation has\n" +
			"very many events that wait because its handler is slow. Measured is from the relay's commit of the other\n" +
			"conversations' events to the first line of their handlers.",
		Example: "  causeway bench neighbour\n  causeway bench neighbour --waiting 1000000 --rounds 9",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.waiting < 1 || o.rate <= 0 || o.duration <= 0 || o.rounds < 1 || o.customers < 1 || o.slots < 2 || o.handler <= 0 {
				return usageError("--waiting, --rate, --duration, --rounds, --conversations and --handler must be positive, --slots 2 or more")
			}
			return b.measure(cmd.Context(), "neighbour", func(ctx context.Context, dir string, r *benchReport) error {
				return b.neighbour(ctx, dir, o, r)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.waiting, "waiting", 100_000, "events that wait in the one conversation")
	f.Float64Var(&o.rate, "rate", 500, "events per second of the others")
	f.DurationVar(&o.duration, "duration", 6*time.Second, "length of one load")
	f.IntVar(&o.rounds, "rounds", 5, "rounds of a load on each; the target is for the median of them")
	f.IntVar(&o.customers, "conversations", 1000, "other conversations")
	f.IntVar(&o.slots, "slots", 64, "handlers at once")
	f.DurationVar(&o.handler, "handler", 200*time.Millisecond, "how long an event of the one takes")
	return cmd
}

func (b *bench) neighbour(ctx context.Context, dir string, o neighbourOptions, r *benchReport) (err error) {
	alone, err := b.startHandout(ctx, dir, "alone", o.customers, o.slots, o.handler)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.stop()) }()
	beside, err := b.startHandout(ctx, dir, "beside", o.customers, o.slots, o.handler)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.stop()) }()
	res := &neighbourResult{Offered: o.rate, Conversations: o.customers, HandlerMS: inMillis(o.handler)}
	b.progress("%d events for one conversation", o.waiting)
	start := time.Now()
	if err := beside.fill(ctx, o.waiting); err != nil {
		return err
	}
	res.FillSeconds = time.Since(start).Seconds()
	if res.Waiting, err = beside.waiting(); err != nil {
		return err
	}
	for _, s := range []*handoutSide{alone, beside} {
		if _, err := s.load(ctx, o.rate, min(handoutWarmUp, o.duration)); err != nil {
			return err
		}
	}
	for i := range o.rounds {
		b.progress("round %d: %.0f events per second for %s", i+1, o.rate, o.duration)
		if err := res.round(ctx, alone, beside, o); err != nil {
			return err
		}
	}
	if res.WaitingEnd, err = beside.waiting(); err != nil {
		return err
	}
	r.Neighbour = res
	res.judge(r)
	return nil
}

// waiting is how many events have no verdict yet.
func (s *handoutSide) waiting() (int64, error) {
	state, err := s.gateway.state()
	return state.Pending, err
}

// round does one load on each side; every other round begins with the other side, so
// that what drifts hits both.
func (r *neighbourResult) round(ctx context.Context, alone, beside *handoutSide, o neighbourOptions) error {
	var out neighbourRound
	order := []struct {
		side *handoutSide
		to   *latency
	}{{alone, &out.Alone}, {beside, &out.Beside}}
	if len(r.Rounds)%2 == 1 {
		order[0], order[1] = order[1], order[0]
	}
	for _, l := range order {
		h, err := l.side.load(ctx, o.rate, o.duration)
		if err != nil {
			return err
		}
		*l.to = h.Handout
	}
	out.Ratio = out.Beside.P99 / out.Alone.P99
	r.Rounds = append(r.Rounds, out)
	return nil
}

func (r *neighbourResult) judge(to *benchReport) {
	var ratios []float64
	for _, round := range r.Rounds {
		ratios = append(ratios, round.Ratio)
	}
	r.Ratio = median(ratios)
	to.atMost("p99 from commit to handler, beside / alone", r.Ratio, targetNeighbour)
}

func (r *neighbourResult) human(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%.0f events per second over %d conversations; another one has %d waiting, at the end %d (%.0f ms each, filled in %.1f s)\n\n",
		r.Offered, r.Conversations, r.Waiting, r.WaitingEnd, r.HandlerMS, r.FillSeconds)
	t := newBenchTable(w, "commit to handler", "p50 ms", "p99 ms", "max ms", "beside: p50 ms", "p99 ms", "max ms", "p99 ratio")
	for i, l := range r.Rounds {
		t.row(fmt.Sprintf("round %d", i+1), ms(l.Alone.P50), ms(l.Alone.P99), ms(l.Alone.Max), ms(l.Beside.P50), ms(l.Beside.P99), ms(l.Beside.Max),
			fmt.Sprintf("%.2f", l.Ratio))
	}
	t.end()
}
