package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// brakeText is what `pause` and `resume` say about a scope.
type brakeText struct {
	scope           gateway.BrakeScope
	use, of         string
	example         string
	paused, resumed string
}

func brakeTexts() []brakeText {
	return []brakeText{
		{gateway.BrakeApp, "app NAME", "an application: no event is handed to it. Replies in the outbox leave.", "support",
			"paused; events wait in their order", "resumed"},
		{gateway.BrakeAccount, "account NAME", "an account: no event of it is handed out and no message of it leaves.", "shop-a",
			"paused; its events and messages wait in their order", "resumed"},
		{gateway.BrakeConversation, "conversation CONV", "a conversation: no event of it is handed out and no message of it leaves.",
			"abcdefghijklmnopqrstuvwxyz", "paused; its events and messages wait in their order", "resumed"},
		{gateway.BrakeReplies, "replies APP|all", "what an application says, or everything (all): events are handed out, and no message leaves.", "all",
			"nothing leaves; messages wait for a day at most", "messages leave again"},
	}
}

// pauseCommand stops something at once; it survives restarts.
func (c *cli) pauseCommand() *cobra.Command {
	pause := &cobra.Command{
		Use:   "pause",
		Short: "Stop an application, an account, a conversation, or replies; everything is still received",
		Long: `Stop something at once, until "causeway resume": it survives restarts and stands in
the audit. Everything is still received, and waits in its order. What a worker has
is finished, and a call to a platform that is under way ends.`,
	}
	for _, t := range brakeTexts() {
		pause.AddCommand(c.brakeCommand("pause", t))
	}
	pause.AddCommand(&cobra.Command{
		Use: "ls", Short: "List what is stopped, since when, and by whom", Example: "  causeway pause ls", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return fetched(cmd, c, nil, printBrakes, "brakes") },
	})
	return pause
}

// resumeCommand undoes pause.
func (c *cli) resumeCommand() *cobra.Command {
	resume := &cobra.Command{
		Use:   "resume",
		Short: "Let go what was paused, in its order",
	}
	for _, t := range brakeTexts() {
		resume.AddCommand(c.brakeCommand("resume", t))
	}
	return resume
}

func (c *cli) brakeCommand(verb string, t brakeText) *cobra.Command {
	short, said := "Stop "+t.of, t.paused
	if verb == "resume" {
		short, said = "Let go "+t.of, t.resumed
	}
	return &cobra.Command{
		Use:     t.use,
		Short:   short,
		Example: "  causeway " + verb + " " + string(t.scope) + " " + t.example,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return posted(cmd, c, nil, nil, func(w io.Writer, _ struct{}) {
				name := printable(args[0], 60)
				_, _ = fmt.Fprintf(w, "%s: %s\n", name, said)
				if verb == "pause" {
					_, _ = fmt.Fprintf(w, "`causeway resume %s %s` lets it go on\n", t.scope, name)
				}
			}, "brakes", string(t.scope), args[0], verb)
		},
	}
}

type brakeList struct {
	Brakes []gateway.Brake `json:"brakes"`
}

func printBrakes(w io.Writer, l brakeList) {
	rows := make([][]string, 0, len(l.Brakes))
	for _, b := range l.Brakes {
		rows = append(rows, []string{string(b.Scope), printable(b.Name, 40), instant(b.At), printable(orDash(b.By), 20), orDash(printable(b.Reason, 20))})
	}
	table(w, "nothing is stopped", []string{"SCOPE", "NAME", "SINCE", "BY", "REASON"}, rows)
}
