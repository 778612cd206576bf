package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store/sqlite"
)

// targetSendShare is what sending is held to: of the lesser of the account's pace and
// what so many conversations can send, one message at a time.
const targetSendShare = 0.95

type sendOptions struct {
	delay    time.Duration
	duration time.Duration
	only     string
	setUp    time.Duration // from the first row to when all is due; more for many
}

func (o *sendOptions) wants(c sendCase) bool { return strings.HasPrefix(c.String(), o.only) }

// sendCase is one measurement.
type sendCase struct {
	convs    int
	pace     int // messages a second of the account; 0 for no bound
	statuses bool
}

// sendCases are what is measured.
func sendCases() []sendCase {
	return []sendCase{{20, 0, false}, {200, 1000, false}, {200, 3000, false}, {1000, 3000, false}, {200, 700, true}}
}

func (c sendCase) String() string {
	name := fmt.Sprintf("%d conversations", c.convs)
	if c.pace > 0 {
		name += fmt.Sprintf(", pace %d/s", c.pace)
	}
	if c.statuses {
		name += ", statuses"
	}
	return name
}

// possible is how many messages a second can leave at best.
func (c sendCase) possible(delay time.Duration) float64 {
	most := float64(c.convs) / delay.Seconds()
	if c.pace > 0 {
		most = min(most, float64(c.pace))
	}
	return most
}

// sendResult is what became of one case.
type sendResult struct {
	Case          string  `json:"case"`
	Conversations int     `json:"conversations"`
	Messages      int     `json:"messages"`
	Pace          int     `json:"pace,omitempty"`
	DelayMS       float64 `json:"delay_ms"`
	Statuses      bool    `json:"statuses"`
	// Seconds are from the first call to the last answer, as the platform saw them.
	// Possible is the lesser of pace and conversations / delay, Ideal how long it takes
	// at best, without what the pace lends at the beginning, and Share Ideal / Seconds.
	Seconds  float64 `json:"seconds"`
	Ideal    float64 `json:"ideal_seconds"`
	Rate     float64 `json:"per_second"`
	Possible float64 `json:"possible_per_second"`
	Share    float64 `json:"share"`
	// CPU of the gateway per message, in milliseconds (Linux).
	CPU     float64 `json:"cpu_ms"`
	Log     sendLog `json:"sandbox"`
	Missing int     `json:"missing"`
}

func (b *bench) sendCommand() *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Messages per second to a platform that takes its time, in order, none twice",
		Long: "Fills a ledger with messages that are due at one moment, and runs serve and a fake WhatsApp as processes of\n" +
			"their own. Measured from the first call to the last answer, against the lesser of the account's pace and\n" +
			"what so many conversations can send when each has one message on its way at a time.",
		Example: "  causeway bench send\n  causeway bench send --duration 30s --case '1000 conversations'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.delay <= 0 || o.duration < o.delay || o.setUp < 0 {
				return usageError("--delay must be positive, --duration not shorter, and --set-up not negative")
			}
			if !slices.ContainsFunc(sendCases(), o.wants) {
				return usageError("no case begins with %q", o.only)
			}
			return b.measure(cmd.Context(), "send", func(ctx context.Context, dir string, r *benchReport) error {
				return b.send(ctx, dir, o, sendCases(), r)
			})
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.delay, "delay", 50*time.Millisecond, "how long the platform takes to answer")
	f.DurationVar(&o.duration, "duration", 8*time.Second, "about how long each case sends")
	f.DurationVar(&o.setUp, "set-up", 8*time.Second, "how long the messages wait until all are due; longer for many")
	f.StringVar(&o.only, "case", "", "only the cases whose name begins with this")
	return cmd
}

func (b *bench) send(ctx context.Context, dir string, o sendOptions, cases []sendCase, r *benchReport) error {
	for i, c := range cases {
		if !o.wants(c) {
			continue
		}
		b.progress("%s", c)
		run := &sendRun{b: b, o: o, c: c, dir: filepath.Join(dir, fmt.Sprint("send-", i)), profile: b.profilePath(fmt.Sprint("send-", i))}
		res, err := run.all(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		r.Send = append(r.Send, *res)
		res.judge(r)
	}
	return nil
}

func (r *sendResult) judge(to *benchReport) {
	to.atLeast(r.Case+": share of what is possible", r.Share, targetSendShare)
	to.atMost(r.Case+": order violations", float64(r.Log.Violations+r.Log.Strange), 0)
	to.atMost(r.Case+": in flight per conversation", float64(r.Log.InFlight), 1)
	to.atMost(r.Case+": sent twice", float64(r.Log.Doubles), 0)
	to.atMost(r.Case+": not sent", float64(r.Missing), 0)
	if r.Statuses {
		to.atMost(r.Case+": statuses refused", float64(r.Log.Refused), 0)
	}
}

// sendRun is one case.
type sendRun struct {
	b       *bench
	o       sendOptions
	c       sendCase
	dir     string
	profile string

	each             int // messages of a conversation
	sandbox, gateway *benchChild
}

// Times of a run.
const (
	sendPatience = 30 * time.Second
	sendLook     = 20 * time.Millisecond
)

func (s *sendRun) all(ctx context.Context) (res *sendResult, err error) {
	possible := s.c.possible(s.o.delay)
	s.each = max(int(possible*s.o.duration.Seconds())/s.c.convs, 2)
	n := s.each * s.c.convs
	if s.sandbox, err = s.b.startChild(ctx, "child-sandbox", "--delay", s.o.delay.String(), "--each", fmt.Sprint(s.each)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.sandbox.stop()) }()
	if err := s.preload(ctx, time.Now().Add(s.lead(n))); err != nil {
		return nil, err
	}
	res = &sendResult{Case: s.c.String(), Conversations: s.c.convs, Messages: n, Pace: s.c.pace, DelayMS: inMillis(s.o.delay),
		Statuses: s.c.statuses, Possible: possible}
	if err := s.measure(ctx, res, n); err != nil {
		return nil, err
	}
	l := &res.Log
	res.Missing = n - l.Taken + l.Doubles
	res.Seconds = time.Duration(l.Last - l.First).Seconds()
	res.Rate = float64(l.Taken) / res.Seconds
	res.Ideal = float64(s.each) * s.o.delay.Seconds()
	if pace := float64(s.c.pace); pace > 0 { // of which a tenth of a second leaves at once
		res.Ideal = max(res.Ideal, (float64(n)-pace/10)/pace)
	}
	res.Share = res.Ideal / res.Seconds
	return res, s.agrees(ctx, n)
}

// lead is how long it may take until all is set up.
func (s *sendRun) lead(n int) time.Duration { return s.o.setUp + time.Duration(n)*time.Millisecond/4 }

// preload fills the ledger: every message is a task of its own, all due at one moment.
func (s *sendRun) preload(ctx context.Context, due time.Time) (err error) {
	store, err := sqlite.Open(ctx, filepath.Join(s.dir, "store"), sqlite.Options{Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	g, gctx := errgroup.WithContext(ctx)
	for conv := range s.c.convs {
		g.Go(func() error {
			for i := range s.each {
				_, err := store.Ledger.Submit(gctx, &gateway.Submission{Platform: "whatsapp", Account: benchAccount, By: "bench", DueAt: due,
					Chat:    gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: benchCustomer(conv)}}},
					Replies: []gateway.Reply{{Type: gateway.ReplyText, Text: fmt.Sprintf("turn %0*d", serialDigits, conv*s.each+i)}}}, time.Now())
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// measure runs the gateway until everything was sent. Every customer writes first, as
// whoever gets a free text has.
func (s *sendRun) measure(ctx context.Context, res *sendResult, n int) (err error) {
	path, err := benchConfig{dir: s.dir, apiBase: "http://" + s.sandbox.addr, pace: s.c.pace}.write()
	if err != nil {
		return err
	}
	args := []string{"child-gateway", "-c", path}
	if s.profile != "" {
		args = append(args, "--profile", s.profile)
	}
	if s.gateway, err = s.b.startChild(ctx, args...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.gateway.stop()) }()
	told := ""
	if s.c.statuses {
		told = s.gateway.addr
	}
	if err := s.sandbox.statusesTo(told); err != nil {
		return err
	}
	requests, _, _ := newCallbackMaker(s.c.convs).requests(s.c.convs, s.gateway.addr, nil)
	wrote, err := benchLoad{addr: s.gateway.addr, conns: 16, requests: requests, limit: sendPatience}.run(ctx)
	if err != nil {
		return err
	}
	if wrote.OK != int64(s.c.convs) {
		return fmt.Errorf("%d of %d customers were heard", wrote.OK, s.c.convs)
	}
	if _, err := s.gateway.relayed(ctx, wrote.OK, sendPatience); err != nil {
		return err
	}
	before, _ := readProcess(s.gateway.cmd.Process.Pid) // where it cannot be read, CPU is 0
	if err := s.watch(ctx, &res.Log, n); err != nil {
		return err
	}
	after, _ := readProcess(s.gateway.cmd.Process.Pid)
	res.CPU = inMillis(after.CPU-before.CPU) / float64(n)
	if s.c.statuses {
		_, err = s.gateway.relayed(ctx, wrote.OK+res.Log.Told, sendPatience)
	}
	return err
}

// watch waits until the platform has all messages and told of all, or nothing happens
// any more.
func (s *sendRun) watch(ctx context.Context, l *sendLog, n int) (err error) {
	moved, statuses := time.Now().Add(s.lead(n)), int64(0)
	if s.c.statuses {
		statuses = 3 * int64(n)
	}
	for done := int64(-1); ; {
		if *l, err = s.sandbox.log(); err != nil {
			return err
		}
		now := int64(l.Taken) + l.Told + l.Refused
		switch {
		case l.Taken >= n && l.Told+l.Refused >= statuses:
			return nil
		case now != done && now > 0:
			done, moved = now, time.Now()
		case time.Since(moved) > sendPatience:
			return nil // what is missing is in the report
		}
		if !wait(ctx, sendLook) {
			return ctx.Err()
		}
	}
}

// agrees asks the ledger, after the gateway has ended.
func (s *sendRun) agrees(ctx context.Context, n int) (err error) {
	store, err := sqlite.Open(ctx, filepath.Join(s.dir, "store"), sqlite.Options{Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	sums, err := store.Ledger.Recount(ctx)
	if err != nil {
		return err
	}
	if m := sums.Messages; m.Accepted != int64(n) {
		return fmt.Errorf("the ledger has %d of %d messages accepted: %+v", m.Accepted, n, m)
	}
	return nil
}

func humanSend(w io.Writer, list []sendResult) {
	t := newBenchTable(w, "case", "messages", "seconds", "messages/s", "possible", "share", "CPU ms", "turn p50 ms", "p90 ms", "p99 ms", "in flight", "at once")
	for _, r := range list {
		t.row(r.Case, fmt.Sprint(r.Messages), fmt.Sprintf("%.2f", r.Seconds), fmt.Sprintf("%.0f", r.Rate), fmt.Sprintf("%.0f", r.Possible),
			fmt.Sprintf("%.1f %%", 100*r.Share), fmt.Sprintf("%.2f", r.CPU), ms(r.Log.Turn.P50), ms(r.Log.Turn.P90), ms(r.Log.Turn.P99),
			fmt.Sprint(r.Log.InFlight), fmt.Sprint(r.Log.Running))
	}
	t.end()
}
