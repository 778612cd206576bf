package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/gateway"
)

// What scheduled messages are held to.
const (
	targetLateness = time.Second           // 99th percentile of arrival behind the time due
	targetQueueAct = 50 * time.Millisecond // 99th percentile of each act of the queue
)

const (
	scheduleCallers  = 24               // connections that ask for messages
	schedulePatience = 60 * time.Second // for the last messages
	scheduleOften    = 50 * time.Millisecond
)

type scheduleOptions struct {
	count   int
	over    time.Duration // the times due spread over it
	lead    time.Duration // from the start to the first one; 0 for as long as it takes here
	samples int           // of each act of the queue, while all wait
}

func (b *bench) scheduleCommand() *cobra.Command {
	var o scheduleOptions
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Messages for later: how late they leave; listing, cancelling and moving them while they wait",
		Long: "Asks serve, a process of its own, for messages to as many customers, due at times in random order. While\n" +
			"they wait the process is killed and started again. Then lists, cancels and moves some, at first while all\n" +
			"wait and then while they leave, and measures how far behind its time each one reaches a fake platform.\n" +
			"The account has no pace. A message that comes early, twice, or after it was cancelled is counted.",
		Example: "  causeway bench schedule\n  causeway bench schedule --count 20000 --over 30s --lead 20s --check",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.count < 100 || o.over < time.Second || o.lead < 0 || o.samples < 1 {
				return usageError("--count must be at least 100, --over at least 1s, --lead not negative, --samples positive")
			}
			return b.measure(cmd.Context(), "schedule", func(ctx context.Context, dir string, r *benchReport) error {
				return b.schedule(ctx, dir, o, r)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.count, "count", 100_000, "messages")
	f.DurationVar(&o.over, "over", 100*time.Second, "time over which they are due")
	f.DurationVar(&o.lead, "lead", 0, "time before the first is due, for asking, killing and the acts while all wait; 0 measures what is needed")
	f.IntVar(&o.samples, "samples", 200, "samples of each act while all wait; while they leave acts go round until the end")
	return cmd
}

// scheduleRun is the work on a running gateway.
type scheduleRun struct {
	b      *bench
	o      scheduleOptions
	config string
	sink   *scheduleSink
	child  *benchChild
	api    *scheduleAPI
	random *rand.Rand

	start time.Time
	due   []time.Time // by message; moved when it is
	ids   []string
	gone  []bool // cancelled
	vague []bool // moved or not: some that were moved with it had left
	late  int    // acts that came too late for a message

	unknown int // were being sent when the gateway was killed
}

func (b *bench) schedule(ctx context.Context, dir string, o scheduleOptions, r *benchReport) (err error) {
	sink, err := newScheduleSink(o.count)
	if err != nil {
		return err
	}
	path, err := benchConfig{dir: dir, apiBase: sink.base()}.write()
	if err != nil {
		return errors.Join(err, sink.listener.Close())
	}
	run := &scheduleRun{
		b: b, o: o, config: path, sink: sink, due: make([]time.Time, o.count), ids: make([]string, o.count), gone: make([]bool, o.count), vague: make([]bool, o.count),
		random: rand.New(rand.NewPCG(workloadSeed, uint64(o.count))), //nolint:gosec // the same order every time is wanted
	}
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(sctx)
	g.Go(func() error { return sink.run(gctx) })
	res := &scheduleResult{Count: o.count, OverSeconds: o.over.Seconds()}
	err = run.all(gctx, filepath.Join(dir, "store"), res)
	if run.child != nil {
		err = errors.Join(err, run.child.stop())
	}
	cancel()
	if err = errors.Join(err, g.Wait()); err != nil {
		return err
	}
	run.conclude(res)
	r.Schedule = res
	res.judge(r)
	return nil
}

func (s *scheduleRun) all(ctx context.Context, storeDir string, res *scheduleResult) error {
	if err := s.begin(ctx, storeDir); err != nil {
		return err
	}
	if s.o.lead == 0 {
		if err := s.lead(ctx); err != nil {
			return err
		}
	}
	s.start = time.Now()
	every := s.o.over / time.Duration(s.o.count)
	for i, place := range s.random.Perm(s.o.count) {
		s.due[i] = s.start.Add(s.o.lead + time.Duration(place)*every)
	}
	s.b.progress("%d messages are asked for, due over %s", s.o.count, s.o.over)
	if err := s.ask(ctx, 0, s.o.count); err != nil {
		return err
	}
	res.AskSeconds = time.Since(s.start).Seconds()
	s.b.progress("asked for in %.1f s; the gateway is killed and started again", res.AskSeconds)
	at := time.Now()
	if err := s.child.kill(); err != nil {
		return err
	}
	if err := s.begin(ctx, storeDir); err != nil {
		return err
	}
	res.RestartSeconds = time.Since(at).Seconds()
	s.b.progress("ready again after %.1f s; acts while all wait", res.RestartSeconds)
	acts := s.acts()
	for i := range s.o.samples {
		for _, a := range acts {
			if err := a.sample(ctx, i); err != nil {
				return err
			}
		}
	}
	res.Waiting = actResults(acts)
	left := time.Until(s.start.Add(s.o.lead))
	for _, due := range s.due {
		if due.Before(time.Now()) {
			res.Hasty++
		}
	}
	s.b.progress("the first is due in %s", left.Round(time.Second))
	if !wait(ctx, left) {
		return ctx.Err()
	}
	acts = s.acts()
	for i := 0; time.Since(s.start) < s.o.lead+s.o.over*17/20; i++ { // those due last wait still
		if err := acts[i%len(acts)].sample(ctx, i); err != nil {
			return err
		}
		if !wait(ctx, scheduleOften) {
			return ctx.Err()
		}
	}
	res.Leaving = actResults(acts)
	return s.arrive(ctx)
}

// begin starts the gateway, and reads how to ask it.
func (s *scheduleRun) begin(ctx context.Context, storeDir string) (err error) {
	args := []string{"child-gateway", "-c", s.config}
	if p := s.b.profilePath("schedule"); p != "" {
		args = append(args, "--profile", p)
	}
	if s.child, err = s.b.startChild(ctx, args...); err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(storeDir, "admin.token")) //nolint:gosec // in the bench's own folder
	if err != nil {
		return err
	}
	s.api = newScheduleAPI(s.child.admin, strings.TrimSpace(string(token)))
	return nil
}

// lead measures how long asking takes, by messages for tomorrow, which stay waiting and
// count for nothing else. Kill and acts have twenty seconds, and a third is spare.
func (s *scheduleRun) lead(ctx context.Context) error {
	n := s.o.count / 50
	s.due, s.ids = append(s.due, make([]time.Time, n)...), append(s.ids, make([]string, n)...)
	at := time.Now()
	for i := range n {
		s.due[s.o.count+i] = at.AddDate(0, 0, 1)
	}
	if err := s.ask(ctx, s.o.count, s.o.count+n); err != nil {
		return err
	}
	s.o.lead = 20*time.Second + time.Since(at)*time.Duration(s.o.count/n)*4/3
	s.due, s.ids = s.due[:s.o.count], s.ids[:s.o.count]
	return nil
}

// ask asks for some of the messages, by their keys.
func (s *scheduleRun) ask(ctx context.Context, from, until int) error {
	g, gctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	next.Store(int64(from))
	for range scheduleCallers {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= until || gctx.Err() != nil {
					return gctx.Err()
				}
				var out struct {
					Messages []string `json:"messages"`
				}
				err := s.api.call(gctx, http.MethodPost, "/messages", map[string]any{
					"account": benchAccount, "to": map[string]string{"kind": "phone", "value": benchCustomer(i)},
					"content":         map[string]string{"text": fmt.Sprintf("turn %0*d: your table is booked", serialDigits, i)},
					"idempotency_key": scheduleKey(i), "scheduled_at": s.due[i].UTC().Format(time.RFC3339Nano),
				}, &out)
				if err != nil {
					return err
				}
				if len(out.Messages) != 1 {
					return fmt.Errorf("message %d has %d ids", i, len(out.Messages))
				}
				s.ids[i] = out.Messages[0]
			}
		})
	}
	return g.Wait()
}

func scheduleKey(i int) string { return fmt.Sprintf("bench-%0*d", serialDigits, i) }

// arrive waits until all that were not cancelled have arrived, or for so long.
func (s *scheduleRun) arrive(ctx context.Context) error {
	want := s.o.count
	for _, gone := range s.gone {
		if gone {
			want--
		}
	}
	select {
	case <-s.sink.reached(want):
	case <-time.After(schedulePatience):
	case <-ctx.Done():
		return ctx.Err()
	}
	// What was being sent when the gateway was killed is unknown, and not sent again.
	for i, at := range s.sink.arrivals() {
		if !at.IsZero() || s.gone[i] {
			continue
		}
		var m struct {
			State string `json:"state"`
		}
		if err := s.api.call(ctx, http.MethodGet, "/messages/"+s.ids[i], nil, &m); err != nil {
			return err
		}
		if m.State == string(gateway.MessageUnknown) {
			s.unknown++
		}
	}
	return nil
}
