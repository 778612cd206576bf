package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// workerChildOptions are what a worker that is measured is started with.
type workerChildOptions struct {
	url, slow string
	slots     int
	handler   time.Duration
}

func (b *bench) workerChildCommand() *cobra.Command {
	var o workerChildOptions
	cmd := &cobra.Command{
		Use: "child-worker", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failed(b.c.workerChild(cmd.Context(), o))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "")
	f.IntVar(&o.slots, "slots", 0, "")
	f.StringVar(&o.slow, "slow", "", "")
	f.DurationVar(&o.handler, "handler", 0, "")
	return cmd
}

// args are the command line of the child.
func (o workerChildOptions) args() []string {
	data, _ := json.Marshal(o.slots) // a number
	return []string{"child-worker", "--url", o.url, "--slots", string(data), "--slow", o.slow, "--handler", o.handler.String()}
}

// workerChild is a bot on the SDK that answers nothing, notes when each handler began,
// and is slow with the customer of the name o.slow.
func (c *cli) workerChild(ctx context.Context, o workerChildOptions) error {
	w, err := worker.New(worker.Options{
		URL: o.url, User: benchApp, Password: rigPassword, App: benchApp, Concurrency: o.slots, Grace: time.Second, Build: "bench",
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begun := &eventTimes{}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return w.Run(gctx, func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			begun.note(ev.Event, time.Now())
			if o.slow != "" && ev.From != nil && ev.From.Name == o.slow {
				wait(ctx, o.handler)
			}
			return nil, nil
		})
	})
	if err := json.NewEncoder(c.out).Encode(childHello{}); err != nil {
		return err
	}
	answers := childAnswers{"begun": func(context.Context) (any, error) { return begun.take(), nil }}
	return errors.Join(c.answerParent(ctx, answers, cancel), g.Wait())
}
