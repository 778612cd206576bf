package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// messagesCommand shows outgoing messages and takes them back.
func (c *cli) messagesCommand() *cobra.Command {
	messages := &cobra.Command{
		Use:   "messages",
		Short: "List outgoing messages, show one, cancel one that waits",
		Args:  subcommandNeeded,
		RunE:  showUsage,
	}
	messages.AddCommand(c.messagesListCommand(), c.messagesShowCommand(), c.messagesCancelCommand())
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

func (c *cli) messagesShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show a message with the calls made for it; no text",
		Example: "  causeway messages show ms_01JDRX5S3V8P9A6K2M4N7Q0T1W",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return fetched(cmd, c, nil, printMessage, "messages", args[0])
		},
	}
}

func (c *cli) messagesCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Take back a message that waits, and the parts behind it",
		Long: `Take back a message that waits, and the later parts of its task: by the id that
causeway send printed, the whole of it. What is being sent or may have left cannot
be taken back here; exit code 1 then, and nothing is changed.`,
		Example: "  causeway messages cancel ms_01JDRX5S3V8P9A6K2M4N7Q0T1W",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return posted(cmd, c, nil, nil, func(w io.Writer, m messageView) {
				_, _ = fmt.Fprintln(w, m.ID+" is cancelled")
			}, "messages", args[0], "cancel")
		},
	}
}

func printMessage(w io.Writer, m messageView) {
	asked := "submitted"
	if m.App != "" {
		asked = m.App + ", answering " + m.Event
	}
	fields(w, "message", m.ID, "task", fmt.Sprintf("%s, part %d of %d", m.Task, m.Part+1, m.Parts), "asked for by", asked, "account", m.Account,
		"conversation", m.Conv, "type", printable(m.Type, 20), "state", m.State, "reason", printable(m.Reason, 60), "due", instant(m.DueAt),
		"expires", instantOf(m.ExpiresAt), "next try", instantOf(m.NextAt), "platform's id", printable(m.ExternalID, 120),
		"delivery", delivery(m.Delivery, m.Failed))
	_, _ = fmt.Fprintln(w)
	rows := make([][]string, 0, len(m.Calls))
	for _, a := range m.Calls {
		rows = append(rows, []string{number(a.N), instant(a.StartedAt), orDash(a.Outcome), orDash(printable(a.Code, 24)), orDash(printable(a.Detail, 100))})
	}
	table(w, "no calls were made for it", []string{"CALL", "BEGUN", "OUTCOME", "CODE", "DETAIL"}, rows)
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
