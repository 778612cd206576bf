package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/gateway"
)

// gatewayChildOptions are how a gateway that is measured differs from serve.
type gatewayChildOptions struct {
	relayOff bool
	commits  bool // note when the relay's commits were done
	heap     bool // sample the heap finely, so that it can be told whose it is
	cpu      string
}

func (b *bench) gatewayChildCommand() *cobra.Command {
	var o gatewayChildOptions
	cmd := &cobra.Command{
		Use: "child-gateway", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failed(b.c.gatewayChild(cmd.Context(), o))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.relayOff, "relay-off", false, "")
	f.BoolVar(&o.commits, "commits", false, "")
	f.BoolVar(&o.heap, "heap", false, "")
	f.StringVar(&o.cpu, "profile", "", "")
	return cmd
}

// gatewayChild is serve with a hello.
func (c *cli) gatewayChild(ctx context.Context, o gatewayChildOptions) (err error) {
	if o.heap {
		sampleHeap()
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	stop, err := profile(o.cpu)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	opts := appOptions{Config: cfg, Log: newLogger(cfg.Log, zapcore.AddSync(c.err)), RelayOff: o.relayOff}
	commits := &eventTimes{}
	if o.commits {
		opts.Relayed = func(r gateway.RelayResult) {
			now := time.Now()
			for i := range r.Pending {
				commits.note(r.Pending[i].Event, now)
			}
		}
	}
	a, err := newApp(ctx, opts)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.Run(gctx) })
	if err := json.NewEncoder(c.out).Encode(childHello{Addr: a.public.Addr().String(), Admin: a.admin.Addr().String()}); err != nil {
		return err
	}
	answers := childAnswers{
		"state":   func(ctx context.Context) (any, error) { return a.childState(ctx) },
		"commits": func(context.Context) (any, error) { return commits.take(), nil },
		"memory":  a.childMemory,
	}
	return errors.Join(c.answerParent(ctx, answers, cancel), g.Wait())
}

// childState tells the parent how far the gateway is.
func (a *app) childState(ctx context.Context) (s childState, err error) {
	at, err := a.ledger.Position(ctx)
	if err != nil {
		return s, err
	}
	sums, err := a.ledger.Sums(ctx)
	if err != nil {
		return s, err
	}
	n := sums.Apps[benchApp]
	s = childState{Relayed: at.Pos, Pending: n.Pending, Settled: n.Settled}
	if a.broker.State().Word == "ok" {
		s.NATS = a.broker.clientURL()
		if state, err := a.broker.GateState(ctx, benchApp); err == nil {
			s.Workers = state.Pulls
		}
	}
	return s, nil
}

// clientURL is where workers reach the embedded server; "" when there is none.
func (b *broker) clientURL() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return ""
	}
	return b.server.ClientURL()
}

// eventTimes keeps when something happened to events: Unix nanoseconds of the
// machine's clock, which all processes of a bench share, by event id. Safe for
// concurrent use.
type eventTimes struct {
	mu sync.Mutex
	at map[string]int64
}

func (t *eventTimes) note(event string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[string]int64{}
	}
	t.at[event] = at.UnixNano()
}

// take returns what was noted since it was last called.
func (t *eventTimes) take() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.at
	t.at = nil
	return at
}
