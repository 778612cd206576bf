package main

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// deadCommand works through the dead letters.
func (c *cli) deadCommand() *cobra.Command {
	dead := &cobra.Command{
		Use:   "dead",
		Short: "List and count dead letters, set them moving again, or drop them",
	}
	dead.AddCommand(c.deadListCommand(), c.deadStatsCommand(), c.deadShowCommand(), c.deadRequeueCommand(), c.deadDropCommand())
	return dead
}

// deadFilter are the flags that select dead letters.
type deadFilter struct {
	app, account, platform, conv, kind, state, reason, since, until, before string
	limit                                                                   int
}

// flags adds them; reason is the name of the one for the letter's reason.
func (f *deadFilter) flags(cmd *cobra.Command, reason string) {
	cmd.Flags().StringVar(&f.app, "app", "", "only of this application")
	cmd.Flags().StringVar(&f.account, "account", "", "only of this account")
	cmd.Flags().StringVar(&f.platform, "platform", "", "only of this platform")
	cmd.Flags().StringVar(&f.conv, "conv", "", "only of this conversation")
	cmd.Flags().StringVar(&f.kind, "kind", "", "only event, message, item or payload")
	cmd.Flags().StringVar(&f.reason, reason, "", "only with this reason, such as tries or no_account")
	cmd.Flags().StringVar(&f.since, "since", "", "buried at or after")
	cmd.Flags().StringVar(&f.until, "until", "", "buried before")
}

func (f *deadFilter) query() (url.Values, error) {
	q := query("app", f.app, "account", f.account, "platform", f.platform, "conv", f.conv, "kind", f.kind, "state", f.state,
		"reason", f.reason, "before", f.before, "limit", number(f.limit))
	return q, addTimes(q, f.since, f.until, time.Now())
}

func (c *cli) deadListCommand() *cobra.Command {
	var f deadFilter
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List dead letters, newest first",
		Example: "  causeway dead ls --app support --since -2h\n  causeway dead ls --kind message --state dropped",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			return fetched(cmd, c, q, printDead, "dead")
		},
	}
	f.flags(cmd, "reason")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "at most this many")
	cmd.Flags().StringVar(&f.before, "before", "", "only older than this ID, to read on")
	cmd.Flags().StringVar(&f.state, "state", "", "open, requeued or dropped (default open)")
	return cmd
}

func (c *cli) deadStatsCommand() *cobra.Command {
	var f deadFilter
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count dead letters by reason, account, application and hour",
		Example: "  causeway dead stats\n  causeway dead stats --app support --since -24h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			return fetched(cmd, c, q, printDeadStats, "dead", "stats")
		},
	}
	f.flags(cmd, "reason")
	cmd.Flags().StringVar(&f.state, "state", "", "open, requeued or dropped (default open)")
	return cmd
}

func printDeadStats(w io.Writer, s gateway.DeadStats) {
	_, _ = fmt.Fprintln(w, amount(s.Total, "dead letter", "dead letters"))
	if s.Total == 0 {
		return
	}
	for _, group := range []struct {
		heading string
		counts  []gateway.DeadCount
	}{{"REASON", s.Reasons}, {"KIND", s.Kinds}, {"APP", s.Apps}, {"ACCOUNT", s.Accounts}} {
		rows := make([][]string, 0, len(group.counts))
		for _, n := range group.counts {
			rows = append(rows, []string{orDash(printable(n.Name, 40)), count(n.Count)})
		}
		_, _ = fmt.Fprintln(w)
		table(w, "", []string{group.heading, "LETTERS"}, rows)
	}
	rows := make([][]string, 0, len(s.Hours)+1)
	for _, h := range s.Hours {
		rows = append(rows, []string{minuteOf(&h.At), count(h.Count)})
	}
	if s.Earlier > 0 {
		rows = append(rows, []string{"earlier", count(s.Earlier)})
	}
	_, _ = fmt.Fprintln(w)
	table(w, "", []string{"HOUR", "LETTERS"}, rows)
}

func printDead(w io.Writer, list deadList) {
	rows := make([][]string, 0, len(list.Dead))
	for _, d := range list.Dead {
		rows = append(rows, []string{
			d.ID, instant(d.At), d.Kind, orDash(d.App), strconv.Itoa(d.Tries), d.State, printable(d.Reason, 24),
		})
	}
	table(w, "no dead letters", []string{"ID", "AT", "KIND", "APP", "TRIES", "STATE", "REASON"}, rows)
	if list.Next != "" {
		_, _ = fmt.Fprintf(w, "\nthere is more: --before %s\n", list.Next)
	}
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
		"dead letter", d.ID, "kind", d.Kind, "state", d.State, "by", printable(d.By, 60), "because", printable(d.Note, 200), "at", instant(d.At),
		"reason", printable(d.Reason, 200), "detail", printable(d.Detail, 500), "tries", number(d.Tries),
		"application", d.App, "platform", d.Platform, "account", d.Account, "conversation", d.Conv,
		"event", d.Event, "message", d.Message, "payload", d.Payload, "item", item)
	if d.State == "open" {
		_, _ = fmt.Fprintf(w, "\ncauseway dead requeue %s   sets it moving again\ncauseway dead drop %[1]s --reason WHY   closes it for good\n", d.ID)
	}
}
