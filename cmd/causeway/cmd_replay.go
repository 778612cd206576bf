package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/admin"
)

// replayCommand hands archived payloads out again.
func (c *cli) replayCommand() *cobra.Command {
	var f replayFlags
	replay := &cobra.Command{
		Use:   "replay (--payload ID | --conv CONV | --since T --until T | --sealed)",
		Short: "Hand archived callbacks out again, decoded with today's code and keys",
		Long: `Hand archived callbacks out again, decoded with today's code and keys.

Workers see the events marked "origin": "replay" and only while nothing live of the
conversation waits. What they answer is held until ` + "`causeway replay release RUN`" + `,
unless --send-replies is given. The same --run asked for twice is one run, so a command
whose answer was lost can be given again: it reads what was asked for first, up to what
had arrived then. A run that a restart cuts short goes on by itself.

--sealed is different: callbacks that no key opened are read again after the key is
mended, and become events of their own, not a replay.

Times: "2026-07-01T08:00:00Z", "2026-07-01" (midnight UTC), "-30m", "2h ago", "now".`,
		Example: "  causeway replay --payload pl_01K2F0000000000000000000AA\n" +
			"  causeway replay --since -2h --until now --endpoint meta --run run_after-fix\n" +
			"  causeway replay release run_after-fix",
		Args: subcommandNeeded,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := f.request(time.Now())
			if err != nil {
				return err
			}
			return posted(cmd, c, nil, r, func(w io.Writer, s admin.ReplayStarted) { printReplay(w, r, s) }, "replays")
		},
	}
	replay.Flags().StringVar(&f.payload, "payload", "", "one payload")
	replay.Flags().StringVar(&f.conv, "conv", "", "every payload of a conversation, its events only")
	replay.Flags().StringVar(&f.since, "since", "", "received at or after; with --until")
	replay.Flags().StringVar(&f.until, "until", "", "received before; with --since")
	replay.Flags().BoolVar(&f.sealed, "sealed", false, "read again what no key opened")
	replay.Flags().StringVar(&f.endpoint, "endpoint", "", "with --since or --sealed: only of this endpoint")
	replay.Flags().StringVar(&f.run, "run", "", `name of the run, "run_…" (default: the gateway chooses)`)
	replay.Flags().BoolVar(&f.sendReplies, "send-replies", false, "send what workers answer at once, to the customers")
	replay.AddCommand(c.replayReleaseCommand())
	return replay
}

// replayFlags say what to replay, as typed.
type replayFlags struct {
	payload, conv, since, until, endpoint, run string
	sealed, sendReplies                        bool
}

// request checks the flags and makes the request of them; the gateway checks it
// again.
func (f *replayFlags) request(now time.Time) (admin.ReplayRequest, error) {
	r := admin.ReplayRequest{
		Run: f.run, Payload: f.payload, Conv: f.conv, Endpoint: f.endpoint, Sealed: f.sealed, SendReplies: f.sendReplies,
	}
	ranged := f.since != "" || f.until != ""
	chosen := 0
	for _, is := range []bool{f.payload != "", f.conv != "", ranged, f.sealed} {
		if is {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return r, usageError("give exactly one of --payload, --conv, --since with --until, or --sealed")
	case ranged && (f.since == "" || f.until == ""):
		return r, usageError("--since and --until go together")
	case f.endpoint != "" && !ranged && !f.sealed:
		return r, usageError("--endpoint goes with --since and --until, or with --sealed")
	case f.sealed && f.sendReplies:
		return r, usageError("--send-replies is not for --sealed: what opens is no replay, and its answers are sent")
	case f.run != "" && !strings.HasPrefix(f.run, "run_"):
		return r, usageError(`--run must begin with "run_"`)
	}
	if ranged {
		since, err := parseTime("since", f.since, now)
		if err != nil {
			return r, err
		}
		until, err := parseTime("until", f.until, now)
		if err != nil {
			return r, err
		}
		if !since.Before(until) {
			return r, usageError("--since must be before --until")
		}
		r.Since, r.Until = &since, &until
	}
	return r, nil
}

func printReplay(w io.Writer, r admin.ReplayRequest, s admin.ReplayStarted) {
	run := printable(s.Run, 80)
	switch {
	case r.Sealed && s.Payloads == 0:
		_, _ = fmt.Fprintln(w, "nothing is sealed")
	case r.Sealed && s.Payloads > 0:
		_, _ = fmt.Fprintf(w, "%s to be read again with today's keys\n", amount(s.Payloads, "payload is", "payloads are"))
	case r.Sealed:
		_, _ = fmt.Fprintln(w, "sealed payloads are being read again with today's keys")
	case !s.Started:
		_, _ = fmt.Fprintf(w, "%s was started before; nothing new was started\n", run)
	case s.Payloads < 0:
		_, _ = fmt.Fprintf(w, "%s started\n", run)
	default:
		_, _ = fmt.Fprintf(w, "%s started: %s\n", run, amount(s.Payloads, "payload", "payloads"))
	}
	if !r.Sealed && !r.SendReplies {
		_, _ = fmt.Fprintf(w, "replies are held:\ncauseway messages ls --state held   lists them\ncauseway replay release %s   sends them\n", run)
	}
}

func (c *cli) replayReleaseCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "release RUN",
		Short:   "Send the held replies of a replay to the customers (role admin)",
		Example: "  causeway replay release run_after-fix",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return posted(cmd, c, nil, nil, func(w io.Writer, r released) {
				_, _ = fmt.Fprintf(w, "%s: replies released in %s\n", printable(args[0], 80),
					amount(r.Conversations, "conversation", "conversations"))
			}, "replays", args[0], "release")
		},
	}
}
