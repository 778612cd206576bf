package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// deadCommand works through the dead letters.
func (c *cli) deadCommand() *cobra.Command {
	dead := &cobra.Command{
		Use:   "dead",
		Short: "List dead letters, set them moving again, or drop them",
		Args:  subcommandNeeded,
		RunE:  showUsage,
	}
	dead.AddCommand(c.deadListCommand(), c.deadShowCommand(), c.deadRequeueCommand(), c.deadDropCommand())
	return dead
}

// deadFilter are the flags that select dead letters.
type deadFilter struct {
	app, kind, state, reason string
	limit                    int
}

func (f *deadFilter) flags(cmd *cobra.Command, limit int, limitHelp string) {
	cmd.Flags().StringVar(&f.app, "app", "", "only of this application")
	cmd.Flags().StringVar(&f.kind, "kind", "", "only event, message, item or payload")
	cmd.Flags().StringVar(&f.reason, "reason", "", "only with this reason")
	cmd.Flags().IntVar(&f.limit, "limit", limit, limitHelp)
}

func (f *deadFilter) query() url.Values {
	return query("app", f.app, "kind", f.kind, "state", f.state, "reason", f.reason, "limit", number(f.limit))
}

func (c *cli) deadListCommand() *cobra.Command {
	var f deadFilter
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List dead letters, newest first",
		Example: "  causeway dead ls --app support\n  causeway dead ls --kind message --state dropped",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fetched(cmd, c, f.query(), printDead, "dead")
		},
	}
	f.flags(cmd, 50, "at most this many")
	cmd.Flags().StringVar(&f.state, "state", "", "open, requeued or dropped (default open)")
	return cmd
}

func printDead(w io.Writer, list deadList) {
	rows := make([][]string, 0, len(list.Dead))
	for _, d := range list.Dead {
		rows = append(rows, []string{
			d.ID, instant(d.At), d.Kind, orDash(d.App), strconv.Itoa(d.Tries), d.State, printable(d.Reason, 24),
		})
	}
	table(w, "no dead letters", []string{"ID", "AT", "KIND", "APP", "TRIES", "STATE", "REASON"}, rows)
}

func (c *cli) deadShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show one dead letter",
		Example: "  causeway dead show dl_01K2F0000000000000000000AA",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return fetched(cmd, c, nil, printDeadLetter, "dead", args[0])
		},
	}
}

func printDeadLetter(w io.Writer, d gateway.DeadLetter) {
	item := ""
	if d.Kind == "item" {
		item = strconv.Itoa(d.Item)
	}
	fields(w,
		"dead letter", d.ID, "kind", d.Kind, "state", d.State, "by", printable(d.By, 60), "at", instant(d.At),
		"reason", printable(d.Reason, 200), "detail", printable(d.Detail, 500), "tries", number(d.Tries),
		"application", d.App, "platform", d.Platform, "account", d.Account, "conversation", d.Conv,
		"event", d.Event, "message", d.Message, "payload", d.Payload, "item", item)
	if d.State == "open" {
		_, _ = fmt.Fprintf(w, "\ncauseway dead requeue %s   sets it moving again\ncauseway dead drop %[1]s      closes it for good\n", d.ID)
	}
}

func (c *cli) deadRequeueCommand() *cobra.Command {
	var f deadFilter
	var all bool
	cmd := &cobra.Command{
		Use:   "requeue ID... | --all",
		Short: "Set open dead letters moving again",
		Long: `Set open dead letters moving again: an event is offered again in its old place
with no tries spent, a message waits to be sent again, an item or a payload is
read again with today's configuration.

With several ids, those that cannot be requeued are named at the end and the exit
code is 1; the others are requeued.`,
		Example: "  causeway dead requeue dl_01K2F0000000000000000000AA\n  causeway dead requeue --all --reason no_account",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usageError("give ids or --all, not both")
			case all:
				return c.requeueAll(cmd, &f)
			case len(args) == 0:
				return usageError("give the ids of dead letters, or --all with a filter")
			case f.app+f.kind+f.reason != "" || cmd.Flags().Changed("limit"):
				return usageError("--app, --kind, --reason and --limit go with --all")
			}
			return c.requeue(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every open one that the filters select")
	f.flags(cmd, 1000, "with --all: at most this many, newest first")
	return cmd
}

func (c *cli) requeueAll(cmd *cobra.Command, f *deadFilter) error {
	return posted(cmd, c, f.query(), nil, func(w io.Writer, r admin.RequeuedAll) {
		_, _ = fmt.Fprintf(w, "requeued %s\n", amount(r.Requeued, "dead letter", "dead letters"))
		if r.Skipped > 0 {
			_, _ = fmt.Fprintf(w, "%s changed by somebody else meanwhile\n", amount(r.Skipped, "was", "were"))
		}
		if r.Requeued+r.Skipped >= f.limit {
			_, _ = fmt.Fprintln(w, "that is the limit; run it again for the rest")
		}
	}, "dead", "requeue")
}

// requeue asks for one after the other and goes on after a refusal, except when
// no gateway answers. JSON is one object per id.
func (c *cli) requeue(cmd *cobra.Command, ids []string) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	var refused []error
	for _, id := range ids {
		raw, err := a.post(cmd.Context(), nil, nil, "dead", id, "requeue")
		if errors.Is(err, errUnreachable) || cmd.Context().Err() != nil {
			return err
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		if err := show(c, raw, func(w io.Writer, _ json.RawMessage) { _, _ = fmt.Fprintf(w, "%s: requeued\n", printable(id, 60)) }); err != nil {
			return err
		}
	}
	return worstOf(refused)
}

// worstOf joins refusals: the exit code of a single one, else failed.
func worstOf(refused []error) error {
	if len(refused) == 1 {
		return refused[0]
	}
	if err := errors.Join(refused...); err != nil {
		return &exitError{exitFailed, err}
	}
	return nil
}

func (c *cli) deadDropCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "drop ID",
		Short:   "Close an open dead letter for good (role admin)",
		Example: "  causeway dead drop dl_01K2F0000000000000000000AA",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return posted(cmd, c, nil, nil, func(w io.Writer, _ json.RawMessage) {
				_, _ = fmt.Fprintf(w, "%s: dropped\n", printable(args[0], 60))
			}, "dead", args[0], "drop")
		},
	}
}
