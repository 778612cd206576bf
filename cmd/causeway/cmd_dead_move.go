package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

func (c *cli) deadRequeueCommand() *cobra.Command {
	var f deadFilter
	var all, dry bool
	cmd := &cobra.Command{
		Use:   "requeue ID... | --all",
		Short: "Set open dead letters moving again",
		Long: `Set open dead letters moving again, with no tries spent and today's configuration.

` + wrapped(gateway.RequeueOrder) + `

--all moves every open one that the filters select, oldest first, in small steps; the
audit has one entry with their number. --dry-run says how many that would be, and of
which conversations. With several ids, those that cannot be requeued are named at the
end and the exit code is 1; the others are requeued.`,
		Example: "  causeway dead requeue dl_01K2F0000000000000000000AA\n  causeway dead requeue --all --app support --since -2h --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOrAll(cmd, args, all, dry, &f); err != nil {
				return err
			}
			if all {
				return c.deadDeed(cmd, &f, dry, nil, "requeue")
			}
			return c.eachDead(cmd, args, nil, "requeue", "requeued")
		},
	}
	manyFlags(cmd, &f, &all, &dry, "reason")
	return cmd
}

// manyFlags are those of a deed on one or many.
func manyFlags(cmd *cobra.Command, f *deadFilter, all, dry *bool, reason string) {
	cmd.Flags().BoolVar(all, "all", false, "every open one that the filters select")
	cmd.Flags().BoolVar(dry, "dry-run", false, "with --all: say what it would be and do nothing")
	f.flags(cmd, reason)
	cmd.Flags().IntVar(&f.limit, "limit", 0, "with --all: at most this many, oldest first (default all)")
}

// oneOrAll refuses what is neither a list of ids nor --all.
func oneOrAll(cmd *cobra.Command, args []string, all, dry bool, f *deadFilter) error {
	filtered := f.app+f.account+f.platform+f.conv+f.kind+f.reason+f.since+f.until != "" || dry || cmd.Flags().Changed("limit")
	switch {
	case all && len(args) > 0:
		return usageError("give ids or --all, not both")
	case !all && len(args) == 0:
		return usageError("give the ids of dead letters, or --all with a filter")
	case !all && filtered:
		return usageError("filters, --limit and --dry-run go with --all")
	}
	return nil
}

// deadDeed does something to all that a filter selects, or says what that would be.
func (c *cli) deadDeed(cmd *cobra.Command, f *deadFilter, dry bool, body any, verb string) error {
	q, err := f.query()
	if err != nil {
		return err
	}
	if dry {
		q.Set("dry_run", "1")
	}
	return posted(cmd, c, q, body, func(w io.Writer, d deadDeed) {
		if d.DryRun {
			printPlan(w, &d, f.limit, verb)
			return
		}
		if verb == "requeue" {
			_, _ = fmt.Fprintf(w, "requeued %s\n", amount(d.Requeued, "dead letter", "dead letters"))
		} else {
			_, _ = fmt.Fprintf(w, "dropped %s\n", amount(d.Dropped, "dead letter", "dead letters"))
		}
		if d.Skipped > 0 {
			_, _ = fmt.Fprintf(w, "%s in another state by then\n", amount(d.Skipped, "was", "were"))
		}
	}, "dead", verb)
}

// printPlan says what a deed on many would be.
func printPlan(w io.Writer, d *deadDeed, limit int, verb string) {
	_, _ = fmt.Fprintf(w, "would %s %s of %s; nothing was done\n", verb, amount(d.Letters, "dead letter", "dead letters"),
		amount(d.Conversations, "conversation", "conversations"))
	if limit > 0 && int64(limit) < d.Letters {
		_, _ = fmt.Fprintf(w, "with --limit, the oldest %d of them\n", limit)
	}
	for _, k := range d.Kinds {
		_, _ = fmt.Fprintf(w, "  %-8s %d\n", printable(k.Name, 8), k.Count)
	}
	if len(d.Convs) > 0 {
		_, _ = fmt.Fprintln(w)
		rows := make([][]string, 0, len(d.Convs))
		for _, v := range d.Convs {
			rows = append(rows, []string{v.Conv, count(v.Letters), count(v.Waiting)})
		}
		table(w, "", []string{"CONVERSATION", "LETTERS", "WAITING NOW"}, rows)
		if more := d.Conversations - int64(len(d.Convs)); more > 0 {
			_, _ = fmt.Fprintf(w, "and %d more\n", more)
		}
	}
	if d.Order != "" {
		_, _ = fmt.Fprintf(w, "\n%s\n", wrapped(d.Order))
	}
}

// eachDead asks for one after the other and goes on after a refusal, except when
// no gateway answers. JSON is one object per id.
func (c *cli) eachDead(cmd *cobra.Command, ids []string, body any, verb, done string) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	var refused []error
	for _, id := range ids {
		raw, err := a.post(cmd.Context(), nil, body, "dead", id, verb)
		if errors.Is(err, errUnreachable) || cmd.Context().Err() != nil {
			return err
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		if err := show(c, raw, func(w io.Writer, _ json.RawMessage) { _, _ = fmt.Fprintf(w, "%s: %s\n", printable(id, 60), done) }); err != nil {
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
	var f deadFilter
	var all, dry bool
	var why string
	cmd := &cobra.Command{
		Use:   "drop ID... | --all",
		Short: "Close open dead letters for good (role admin)",
		Long: `Close open dead letters for good, with the reason why: it stands in the letter and in
the audit. --all drops every open one that the filters select, in small steps; the audit
has one entry with their number. --dry-run says how many that would be.`,
		Example: "  causeway dead drop dl_01K2F0000000000000000000AA --reason \"a test of ours\"\n" +
			"  causeway dead drop --all --dead-reason stale --until 2026-07-01 --reason \"nobody waits any more\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOrAll(cmd, args, all, dry, &f); err != nil {
				return err
			}
			if why == "" && !dry {
				return usageError("say why with --reason")
			}
			var body any
			if why != "" {
				body = map[string]string{"reason": why}
			}
			if all {
				return c.deadDeed(cmd, &f, dry, body, "drop")
			}
			return c.eachDead(cmd, args, body, "drop", "dropped")
		},
	}
	cmd.Flags().StringVar(&why, "reason", "", "why it is dropped (needed)")
	manyFlags(cmd, &f, &all, &dry, "dead-reason")
	return cmd
}
