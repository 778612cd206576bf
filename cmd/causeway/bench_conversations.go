package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// What a known conversation may cost, in bytes of memory, and how long a start may
// take until the first callback is answered 200, in seconds.
const (
	targetKnownGateway = 300
	targetKnownBroker  = 800
	targetFirst200     = 5.0
	targetLook         = 1.0 // what an operator asks for, in seconds
)

type conversationsOptions struct {
	count, waiting int
	slots          int
	settle         time.Duration
}

func (b *bench) conversationsCommand() *cobra.Command {
	var o conversationsOptions
	cmd := &cobra.Command{
		Use:   "conversations",
		Short: "What many known conversations cost in memory, and at a start",
		Long: "Sends one message of each of very many customers through the front door of serve and has a worker answer it,\n" +
			"then lets some of them wait, starts again, and asks what operators ask. What is in use after a collection is\n" +
			"told apart by who allocated it: the embedded NATS server, or the rest. A million take some minutes and about\n" +
			"6 GB on disk.",
		Example: "  causeway bench conversations\n  causeway bench conversations --count 100000 --waiting 10000 --settle 0s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.count < 1 || o.waiting < 1 || o.waiting > o.count || o.slots < 1 || o.settle < 0 {
				return usageError("--count, --waiting and --slots must be positive, and no more wait than there are")
			}
			return b.measure(cmd.Context(), "conversations", func(ctx context.Context, dir string, r *benchReport) error {
				return b.conversations(ctx, dir, o, r)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.count, "count", 1_000_000, "conversations")
	f.IntVar(&o.waiting, "waiting", 100_000, "of them, that have an event waiting in the end")
	f.IntVar(&o.slots, "slots", 256, "handlers at once")
	f.DurationVar(&o.settle, "settle", 130*time.Second, "pause before memory is measured: for two minutes the broker remembers ids")
	return cmd
}

// conversationsRun is the work on one store.
type conversationsRun struct {
	b       *bench
	o       conversationsOptions
	config  string
	dir     string
	gateway *benchChild
	worker  *benchChild
	maker   *batchMaker
	took    int64
	res     *conversationsResult
}

// nowhere is an address at which nobody listens: nothing is sent, and doctor asks the
// platform all the same.
const nowhere = "127.0.0.1:9"

const (
	conversationsAhead    = 20_000 // events sent and not settled, at most
	conversationsPatience = 30 * time.Minute
)

func (b *bench) conversations(ctx context.Context, dir string, o conversationsOptions, r *benchReport) (err error) {
	config, err := benchConfig{dir: dir, workers: true, apiBase: "http://" + nowhere}.write()
	if err != nil {
		return err
	}
	c := &conversationsRun{b: b, o: o, config: config, dir: dir, maker: newBatchMaker(), res: &conversationsResult{Count: o.count, Waiting: o.waiting}}
	defer func() {
		for _, child := range []*benchChild{c.worker, c.gateway} {
			if child != nil {
				err = errors.Join(err, child.stop())
			}
		}
	}()
	for _, step := range []func(context.Context) error{c.empty, c.known, c.wait, c.again, c.look, c.drain} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.Conversations = c.res
	c.res.judge(r)
	return nil
}

// empty starts a gateway without any conversation.
func (c *conversationsRun) empty(ctx context.Context) (err error) {
	if c.res.FirstEmpty, err = c.start(ctx); err != nil {
		return err
	}
	if err := c.attach(ctx); err != nil {
		return err
	}
	c.res.Empty, err = c.memory()
	return err
}

// start starts the gateway and returns how long it took until it answered 200.
func (c *conversationsRun) start(ctx context.Context) (seconds float64, err error) {
	args := []string{"child-gateway", "-c", c.config, "--heap"}
	if p := c.b.profilePath("conversations"); p != "" {
		args = append(args, "--profile", p)
	}
	began := time.Now()
	if c.gateway, err = c.b.spawn(ctx, args...); err != nil {
		return 0, err
	}
	line := &loadLine{addr: c.gateway.addr, hist: newHistogram()}
	defer line.close()
	for line.ok == 0 {
		request, err := c.maker.of(c.gateway.addr, []whatsapptest.Customer{c.customer(0)})
		if err != nil {
			return 0, err
		}
		if line.call(ctx, request, time.Now()); line.ok == 0 && (time.Since(began) > childReadyWait || !wait(ctx, time.Millisecond)) {
			return 0, errors.Join(errors.New("the gateway answered no callback"), ctx.Err())
		}
	}
	seconds = time.Since(began).Seconds()
	c.took++
	_, err = c.gateway.until(ctx, "the streams", childReadyWait, func(s childState) bool { return s.NATS != "" })
	return seconds, err
}

func (c *conversationsRun) customer(i int) whatsapptest.Customer {
	return whatsapptest.Customer{Phone: benchCustomer(i), Name: "Bench Customer"}
}

// attach starts a worker and waits until nothing waits any more.
func (c *conversationsRun) attach(ctx context.Context) error {
	s, err := c.gateway.state()
	if err != nil {
		return err
	}
	if c.worker, err = c.b.spawn(ctx, workerChildOptions{url: s.NATS, slots: c.o.slots}.args()...); err != nil {
		return err
	}
	if _, err := c.gateway.relayed(ctx, c.took, conversationsPatience); err != nil {
		return err
	}
	_, err = c.gateway.until(ctx, "all settled", conversationsPatience, func(s childState) bool { return s.Pending == 0 })
	return err
}

// known sends a message of every customer and has it answered.
func (c *conversationsRun) known(ctx context.Context) error {
	c.b.progress("%d conversations", c.o.count)
	began := time.Now()
	before, err := c.gateway.state()
	if err != nil {
		return err
	}
	took, err := c.maker.send(ctx, c.gateway.addr, c.o.count, c.customer, func(sent int) error {
		least := before.Settled + int64(sent-conversationsAhead)
		_, err := c.gateway.until(ctx, "settled", conversationsPatience, func(s childState) bool { return s.Settled >= least })
		if err == nil && sent%100_000 == 0 {
			c.b.progress("%d after %.0f s", sent, time.Since(began).Seconds())
			err = c.forget()
		}
		return err
	})
	if c.took += took; err != nil {
		return err
	}
	_, err = c.gateway.until(ctx, "all settled", conversationsPatience, func(s childState) bool {
		return s.Settled == before.Settled+int64(c.o.count)
	})
	if err != nil {
		return err
	}
	c.res.MakeSeconds = time.Since(began).Seconds()
	c.b.progress("%s for the broker to forget ids", c.o.settle)
	wait(ctx, c.o.settle)
	c.res.Known, err = c.memory()
	return err
}

// forget passes over what the worker noted, which is not of interest here.
func (c *conversationsRun) forget() error {
	var at map[string]int64
	return c.worker.ask("begun", &at)
}

// wait lets a message wait in some of them: there is no worker.
func (c *conversationsRun) wait(ctx context.Context) error {
	c.b.progress("%d of them wait", c.o.waiting)
	if err := c.worker.stop(); err != nil {
		return err
	}
	c.worker = nil
	took, err := c.maker.send(ctx, c.gateway.addr, c.o.waiting, c.customer, func(int) error { return ctx.Err() })
	if c.took += took; err != nil {
		return err
	}
	if _, err := c.gateway.relayed(ctx, c.took, conversationsPatience); err != nil {
		return err
	}
	wait(ctx, c.o.settle)
	c.res.Held, err = c.memory()
	return err
}

// again stops the gateway and starts another one over the same folder.
func (c *conversationsRun) again(ctx context.Context) (err error) {
	c.b.progress("start again")
	began := time.Now()
	if err := c.gateway.stop(); err != nil {
		return err
	}
	c.res.StopSeconds = time.Since(began).Seconds()
	if c.res.First, err = c.start(ctx); err != nil {
		return err
	}
	if c.res.Again, err = c.memory(); err != nil {
		return err
	}
	for _, f := range []struct {
		pattern string
		to      *int64
	}{{"archive.db*", &c.res.Archive}, {"ledger.db*", &c.res.Ledger}} {
		if *f.to, err = sizeOf(filepath.Join(c.dir, "store"), f.pattern); err != nil {
			return err
		}
	}
	return nil
}

// drain has what waits handled, and looks what is left in memory.
func (c *conversationsRun) drain(ctx context.Context) error {
	c.b.progress("handle what waits")
	began := time.Now()
	if err := c.attach(ctx); err != nil {
		return err
	}
	c.res.DrainSeconds = time.Since(began).Seconds()
	wait(ctx, c.o.settle)
	var err error
	c.res.Drained, err = c.memory()
	return err
}

func (c *conversationsRun) memory() (m conversationsMemory, err error) {
	if err := c.gateway.ask("memory", &m.childMemory); err != nil {
		return m, err
	}
	p, err := readProcess(c.gateway.cmd.Process.Pid)
	m.RSS = p.RSS
	return m, err
}

// token reads the admin token that the gateway made for itself.
func (c *conversationsRun) token() (string, error) {
	b, err := os.ReadFile(filepath.Join(c.dir, "store", adminTokenFile)) //nolint:gosec // in the bench's own folder
	if err != nil {
		return "", fmt.Errorf("the admin token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
