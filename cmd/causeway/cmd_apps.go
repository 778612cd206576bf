package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway/worker/bridge"
	"github.com/causewayhq/causeway/handlers/admin"
)

// appsCommand lists the applications as they stand.
func (c *cli) appsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "apps",
		Short: "List the applications: what waits, who works, what is paused",
		Long: `List the applications: what waits, who works, what is paused.

READY are events that a worker may have now, BUSY those a worker has in hand, WAIT the
others that wait for their verdict: behind one of their conversation, for their next
try, or for what is stopped. OLDEST is the age of the oldest of all these, RATE how many
were settled per second over the last minute. TRIES are tries spent in all, DEAD open
dead letters of events, LATE answers to events that were settled by then, OVER those of
them that came after the watchdog, BOTS pulls that wait for work. BUILDS are what the
workers of the last ten minutes call themselves.`,
		Example: "  causeway apps\n  causeway apps --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fetched(cmd, c, nil, printApps, "apps")
		},
	}
}

func printApps(w io.Writer, list appList) {
	rows := make([][]string, 0, len(list.Apps))
	wants := make([][]string, 0, len(list.Apps))
	for _, a := range list.Apps {
		rows = append(rows, []string{
			printable(a.Name, 16), appState(a), short(a.Ready), short(a.Unacked), short(a.Waiting), age(list.At, a.Oldest), strconv.FormatFloat(a.Rate, 'f', 1, 64),
			short(a.Tries), short(a.Dead), short(a.Late), short(a.Overrun), appWorkers(a),
		})
		wants = append(wants, []string{a.Name, appFilter(a), orDash(printable(strings.Join(a.Builds, ", "), 30))})
	}
	table(w, "no applications are configured",
		[]string{"APP", "STATE", "READY", "BUSY", "WAIT", "OLDEST", "RATE", "TRIES", "DEAD", "LATE", "OVER", "BOTS"}, rows)
	if len(wants) > 0 {
		_, _ = fmt.Fprintln(w)
		table(w, "", []string{"APP", "WANTS", "BUILDS"}, wants)
	}
	for _, a := range list.Apps {
		if a.Paused {
			_, _ = fmt.Fprintf(w, "\n%s is paused since %s by %s; `causeway resume app %s` lets it go on.\n",
				a.Name, instantOf(a.PausedAt), printable(orDash(a.PausedBy), 40), a.Name)
		}
		if a.Tripped && a.TrippedAt != nil && a.ProbeAt != nil {
			_, _ = fmt.Fprintf(w, "\n%s is tripped since %s: every try failed.\nThe next one is at %s; one that succeeds lets all go on.\n",
				a.Name, instant(*a.TrippedAt), instant(*a.ProbeAt))
		}
		if b := a.Bridge; b != nil && b.Circuit != bridge.CircuitClosed {
			_, _ = fmt.Fprintf(w, "\nNothing is sent to %s since %s: %s\nEvents wait and spend no tries; one at a time is tried.\n",
				printable(b.Host, 60), instant(b.Since), printable(b.Why, 100))
		}
		if a.Collecting > 0 {
			_, _ = fmt.Fprintf(w, "\n%s waits in %s for what else is written, as collect says.\n",
				a.Name, amount(a.Collecting, "conversation", "conversations"))
		}
		if a.Blocked > 0 {
			_, _ = fmt.Fprintf(w, "\n%s has %s that hold their conversation, as on_exhausted: block says.\n", a.Name, amount(int(a.Blocked), "event", "events"))
		}
	}
}

func appState(a admin.ApplicationState) string {
	switch {
	case a.Paused:
		return "paused"
	case a.Tripped:
		return "tripped"
	case a.Bridge != nil && a.Bridge.Circuit != bridge.CircuitClosed:
		return "circuit open"
	case a.Workers == 0 && a.Unacked == 0 && a.Builtin == "" && a.Pending > 0:
		return "no worker"
	}
	return "running"
}

// appWorkers is how many workers wait for work; of an application behind a URL there
// is one, which is ours.
func appWorkers(a admin.ApplicationState) string {
	if a.Bridge != nil {
		return "bridge"
	}
	return strconv.Itoa(a.Workers)
}

// appFilter says in a few words what an application wants.
func appFilter(a admin.ApplicationState) string {
	what := strings.Join(a.Kinds, ",")
	if len(a.Accounts) > 0 {
		what += " of " + strings.Join(a.Accounts, ",")
	}
	if !a.Replies {
		what += " (observer)"
	}
	return printable(what, 40)
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

// subcommandNeeded refuses a word that names no command below cmd.
func subcommandNeeded(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%q is not a command of `%s`; see `%s --help`", printable(args[0], 60), cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

// showUsage is what a command does that only holds others.
func showUsage(cmd *cobra.Command, _ []string) error {
	_ = cmd.Help()
	return usageError("`%s` needs one of the commands above", cmd.CommandPath())
}
