package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
)

// demoCommand shows the gateway's promises in half a minute.
func (c *cli) demoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the gateway work, with fake platforms and nothing to set up",
		Long: `Start a whole gateway in this process with a temporary store, an embedded NATS, a fake
WhatsApp, a fake WeCom and a bot, and walk through what it promises: order, duplicates,
echoes, lost answers, failing bots, replay. What it prints was observed. No configuration,
no account, no port to choose; nothing stays behind.

Exit code 0 when every promise held, 1 when one did not.`,
		Example: "  causeway demo\n  causeway demo --fast\n  causeway demo --keep     # then try it with a bot of your own",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.demo(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.keep, "keep", false, "leave it running afterwards and print how to use it")
	cmd.Flags().BoolVar(&o.fast, "fast", false, "no pauses for reading")
	return cmd
}

// demoOptions are the flags, and what a test hands in.
type demoOptions struct {
	keep, fast bool
	// parent is where the temporary folder is made; "" for the system's place.
	parent string
	// scenes are played instead of all when a test sets them.
	scenes []demoScene
}

// readingTime is the pause after a scene when a person reads along.
const readingTime = 1500 * time.Millisecond

// demo plays all scenes, judges, and cleans up, also when it is interrupted.
func (c *cli) demo(ctx context.Context, o demoOptions) (err error) {
	started := time.Now()
	r, err := startDemo(ctx, o.parent)
	if err != nil {
		if ctx.Err() != nil {
			return errDemoStopped()
		}
		return failed(fmt.Errorf("the demo could not start: %w", err))
	}
	tidy := true
	defer func() {
		end := r.close()
		if tidy {
			end = errors.Join(end, r.remove())
		}
		if end != nil {
			err = &exitError{exitFailed, errors.Join(err, fmt.Errorf("the demo did not end cleanly: %w", end))}
		}
	}()
	p := newDemoPrinter(c.out, os.Getenv)
	people := !c.asJSON
	pause := people && !o.fast && isTerminal(c.out)
	if people {
		p.opening(r, o.keep)
	}
	scenes := o.scenes
	if scenes == nil {
		scenes = demoScenes()
	}
	var results []sceneResult
	for i, sc := range scenes {
		if people {
			p.begin(i+1, sc.Title)
		}
		res := r.perform(ctx, i+1, sc)
		if ctx.Err() != nil {
			return errDemoStopped()
		}
		results = append(results, res)
		if people {
			p.scene(res)
		}
		if pause {
			wait(ctx, readingTime)
		}
	}
	report := r.judge(ctx, results)
	if ctx.Err() != nil {
		return errDemoStopped()
	}
	report.Seconds = time.Since(started).Seconds()
	if o.keep {
		if report.Keep, err = r.keep(programName()); err != nil {
			return failed(err)
		}
	}
	if err := c.print(report, func(w io.Writer) { p.report(report) }); err != nil {
		return failed(err)
	}
	if o.keep {
		if people {
			p.kept(report.Keep)
		}
		select {
		case <-ctx.Done():
		case <-r.gone:
			return failed(r.why)
		}
	}
	if !report.OK {
		tidy = false
		return failed(fmt.Errorf("%s did not hold; the log is %s", amount(len(report.Problems), "promise", "promises"), r.logPath()))
	}
	return nil
}

// programName is how a reader can call this program.
func programName() string {
	if _, err := exec.LookPath("causeway"); err == nil {
		return "causeway"
	}
	return os.Args[0]
}

func errDemoStopped() error { return failed(errors.New("stopped; nothing stays behind")) }
