package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// What ingest is held to.
const (
	targetIngestRate     = 0.9  // of the floor's rate, relay paused
	targetIngestP99      = 1.25 // of the floor's p99, relay paused
	targetIngestLiveP99  = 1.5  // of the floor's p99 at half of its rate, relay on
	ingestCustomers      = 10_000
	ingestHalf           = 0.5
	ingestHalfConns      = 64
	ingestDrainLimit     = 3 * time.Minute
	ingestWarmUp         = 400 * time.Millisecond
	ingestFirstGuess     = 40_000.0 // callbacks per second; the pool is cut to what is measured
	ingestPoolHeadroom   = 1.5
	ingestSaturatedTimes = 2 // a saturated sample is so many durations long
)

type ingestOptions struct {
	connections []int
	rounds      int
	duration    time.Duration
	events      int
}

func (b *bench) ingestCommand() *cobra.Command {
	var o ingestOptions
	cmd := &cobra.Command{
		Use:   "ingest",
		Short: "Callbacks per second and their latency, against a bare Gin handler that only syncs",
		Long: "Sends signed WhatsApp callbacks to a bare Gin handler that checks the HMAC and syncs the bytes to a plain\n" +
			"file (the floor), and to the gateway, turn and turn about, from the same client.",
		Example: "  causeway bench ingest\n  causeway bench ingest --connections 64 --rounds 5 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.rounds < 1 || o.duration <= 0 || o.events < 1 || len(o.connections) == 0 || slices.Min(o.connections) < 1 {
				return usageError("--rounds, --duration, --events and --connections must be positive")
			}
			return b.measure(cmd.Context(), "ingest", func(ctx context.Context, dir string, r *benchReport) error {
				return b.ingest(ctx, dir, o, r)
			})
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.connections, "connections", []int{1, 64, 256}, "connections at once, one part each")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of floor, gateway, gateway, floor")
	f.DurationVar(&o.duration, "duration", 1500*time.Millisecond, "length of one sample")
	f.IntVar(&o.events, "events", 200_000, "callbacks of one sample at most")
	return cmd
}

// measure does a bench in a folder of its own and prints its report.
func (b *bench) measure(ctx context.Context, name string, do func(ctx context.Context, dir string, r *benchReport) error) error {
	r, dir, end, err := b.begin(name)
	if err != nil {
		return err
	}
	defer end()
	if err := do(ctx, dir, r); err != nil {
		return failed(err)
	}
	return b.finish(r)
}

// ingestRun holds what the parts share.
type ingestRun struct {
	b      *bench
	o      ingestOptions
	maker  *callbackMaker
	buffer []byte
	guess  map[string]float64 // rate seen, by server and connections
}

// server is a process that is measured, and how many callbacks it took.
type ingestServer struct {
	*benchChild
	name string
	took int64
}

func (b *bench) ingest(ctx context.Context, dir string, o ingestOptions, r *benchReport) (err error) {
	run := &ingestRun{b: b, o: o, maker: newCallbackMaker(ingestCustomers), guess: map[string]float64{}}
	body, _ := run.maker.text(nil, 0)
	res := &ingestResult{BodyBytes: len(body)}
	floor, err := run.startFloor(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, floor.stop()) }()
	if err := run.paused(ctx, dir, floor, res); err != nil {
		return err
	}
	if err := run.live(ctx, dir, floor, res); err != nil {
		return err
	}
	r.Ingest = res
	res.judge(r)
	return nil
}

func (s *ingestRun) startFloor(ctx context.Context, dir string) (*ingestServer, error) {
	args := []string{"child-floor", filepath.Join(dir, "floor.log")}
	if p := s.b.profilePath("floor"); p != "" {
		args = append(args, "--profile", p)
	}
	child, err := s.b.startChild(ctx, args...)
	return &ingestServer{benchChild: child, name: "floor"}, err
}

func (s *ingestRun) startGateway(ctx context.Context, dir, name string, relayOff bool) (*ingestServer, error) {
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	path, err := benchConfig{dir: dir}.write()
	if err != nil {
		return nil, err
	}
	args := []string{"child-gateway", "-c", path}
	if relayOff {
		args = append(args, "--relay-off")
	}
	if p := s.b.profilePath(name); p != "" {
		args = append(args, "--profile", p)
	}
	child, err := s.b.startChild(ctx, args...)
	return &ingestServer{benchChild: child, name: name}, err
}

// sample runs one load: closed for one duration, or open at a rate.
func (s *ingestRun) sample(ctx context.Context, to *ingestServer, conns int, rate float64, d time.Duration) (ingestSample, error) {
	key := fmt.Sprint(to.name, conns)
	expect := rate
	if rate == 0 {
		if expect = s.guess[key]; expect == 0 {
			expect = ingestFirstGuess
		}
		expect *= ingestPoolHeadroom
	}
	n := max(min(int(expect*d.Seconds()), s.o.events), conns)
	l := benchLoad{addr: to.addr, conns: conns, rate: rate, limit: d}
	l.requests, _, s.buffer = s.maker.requests(n, to.addr, s.buffer)
	before, _ := readProcess(to.cmd.Process.Pid) // where it cannot be read, CPU is 0
	res, err := l.run(ctx)
	if err != nil {
		return ingestSample{}, err
	}
	after, _ := readProcess(to.cmd.Process.Pid)
	to.took += res.OK
	if rate == 0 {
		s.guess[key] = max(s.guess[key], res.Rate)
	}
	out := ingestSample{loadResult: res}
	if res.OK > 0 {
		out.cpu = float64(after.CPU-before.CPU) / float64(time.Microsecond) / float64(res.OK)
	}
	return out, nil
}

// compare measures floor and gateway, A B B A, so that what drifts hits both.
func (s *ingestRun) compare(ctx context.Context, floor, gw *ingestServer, conns int, rate float64, after func() error) (ingestPair, error) {
	p := ingestPair{Connections: conns, Offered: rate}
	for _, to := range []*ingestServer{floor, gw} { // not measured
		if _, err := s.sample(ctx, to, conns, rate, min(ingestWarmUp, s.o.duration)); err != nil {
			return p, err
		}
	}
	for range s.o.rounds {
		var round [4]ingestSample
		for i, to := range []*ingestServer{floor, gw, gw, floor} {
			if err := after(); err != nil {
				return p, err
			}
			var err error
			if round[i], err = s.sample(ctx, to, conns, rate, s.o.duration); err != nil {
				return p, err
			}
		}
		p.add(round)
	}
	p.conclude()
	return p, after()
}

// paused compares with the relay still, at each number of connections.
func (s *ingestRun) paused(ctx context.Context, dir string, floor *ingestServer, res *ingestResult) (err error) {
	gw, err := s.startGateway(ctx, dir, "paused", true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gw.stop()) }()
	for _, conns := range s.o.connections {
		s.b.progress("relay paused, %d connections", conns)
		p, err := s.compare(ctx, floor, gw, conns, 0, func() error { return nil })
		if err != nil {
			return err
		}
		res.Paused = append(res.Paused, p)
	}
	return nil
}

// live compares with the relay on at half of the floor's rate, then sends as much
// as possible and waits until the relay has caught up.
func (s *ingestRun) live(ctx context.Context, dir string, floor *ingestServer, res *ingestResult) (err error) {
	gw, err := s.startGateway(ctx, dir, "live", false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gw.stop()) }()
	caughtUp := func() error {
		_, err := gw.relayed(ctx, gw.took, ingestDrainLimit)
		return err
	}
	at := res.Paused[len(res.Paused)-1]
	for _, p := range res.Paused {
		if p.Connections == ingestHalfConns {
			at = p
		}
	}
	half := at.Floor.Rate * ingestHalf
	s.b.progress("relay on, %.0f callbacks per second, %d connections", half, at.Connections)
	if res.Half, err = s.compare(ctx, floor, gw, at.Connections, half, caughtUp); err != nil {
		return err
	}
	most := slices.Max(s.o.connections)
	s.b.progress("relay on, as much as possible, %d connections", most)
	before, err := gw.state()
	if err != nil {
		return err
	}
	all, err := s.sample(ctx, gw, most, 0, ingestSaturatedTimes*s.o.duration)
	if err != nil {
		return err
	}
	during, err := gw.state()
	if err != nil {
		return err
	}
	drained, err := gw.relayed(ctx, gw.took, ingestDrainLimit)
	if err != nil {
		return err
	}
	backlog := gw.took - during.Relayed
	res.Saturated = ingestSaturated{
		Connections: most, loadResult: all.loadResult, RelayedMeanwhile: float64(during.Relayed-before.Relayed) / all.took.Seconds(),
		Backlog: backlog, DrainSeconds: drained.Seconds(), DrainRate: float64(backlog) / max(drained.Seconds(), 1e-9),
	}
	for _, p := range res.Paused {
		if p.Connections == most {
			res.Saturated.OfFloor = all.Rate / p.Floor.Rate
		}
	}
	return nil
}
