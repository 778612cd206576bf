package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// messagesCommand lists outgoing messages by state.
func (c *cli) messagesCommand() *cobra.Command {
	messages := &cobra.Command{
		Use:   "messages",
		Short: "List outgoing messages by state",
		Args:  subcommandNeeded,
		RunE:  showUsage,
	}
	messages.AddCommand(c.messagesListCommand())
	return messages
}

func (c *cli) messagesListCommand() *cobra.Command {
	var state string
	var limit int
	cmd := &cobra.Command{
		Use:   "ls [--state STATE]",
		Short: "List messages in a state, newest first; no text",
		Long: `List messages in a state, newest first; no text is shown.

States: waiting, sending, accepted, rejected, unknown (it may have left, and is
never repeated by us), expired, cancelled, held (waits for replay release).`,
		Example: "  causeway messages ls --state unknown\n  causeway messages ls --state held --limit 200",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fetched(cmd, c, query("state", state, "limit", number(limit)), func(w io.Writer, l messageList) {
				printMessages(w, l, state)
			}, "messages")
		},
	}
	cmd.Flags().StringVar(&state, "state", string(gateway.MessageUnknown), "the state")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return cmd
}

func printMessages(w io.Writer, list messageList, state string) {
	rows := make([][]string, 0, len(list.Messages))
	for _, m := range list.Messages {
		rows = append(rows, []string{
			m.ID, m.Conv, m.Account, instant(m.DueAt), orDash(printable(m.Reason, 20)),
		})
	}
	table(w, "no messages in state "+printable(state, 20), []string{"MESSAGE", "CONVERSATION", "ACCOUNT", "DUE", "REASON"}, rows)
}
