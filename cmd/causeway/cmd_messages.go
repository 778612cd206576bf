package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/causewayhq/causeway/gateway"
)

// messagesCommand shows outgoing messages and changes those that have not left.
func (c *cli) messagesCommand() *cobra.Command {
	messages := &cobra.Command{
		Use:   "messages",
		Short: "List outgoing messages, show one, move, hold or cancel those that wait",
	}
	messages.AddCommand(c.messagesListCommand(), c.messagesShowCommand(), c.messagesCancelCommand(), c.messagesRescheduleCommand(),
		c.messagesSetCommand(), c.messagesResolveCommand())
	return messages
}

// messageFilter is what selects messages, for every command alike.
type messageFilter struct {
	state, account, app, conv, task, key, from, until string
}

func (f *messageFilter) flags(fs *pflag.FlagSet) {
	fs.StringVar(&f.state, "state", "", "only in this state")
	fs.StringVar(&f.account, "account", "", "only of this account")
	fs.StringVar(&f.app, "app", "", "only replies of this application")
	fs.StringVar(&f.conv, "conv", "", "only of this conversation")
	fs.StringVar(&f.task, "task", "", "only the parts of this task")
	fs.StringVar(&f.key, "key", "", "only submitted ones whose key begins with this")
	fs.StringVar(&f.from, "due-from", "", "due at or after, RFC 3339, a day, or +2h")
	fs.StringVar(&f.until, "due-until", "", "due before")
}

// query are the parameters of the API.
func (f *messageFilter) query() (url.Values, error) {
	q := query("state", f.state, "account", f.account, "app", f.app, "conv", f.conv, "task", f.task, "key", f.key)
	for name, typed := range map[string]string{"due-from": f.from, "due-until": f.until} {
		at, err := later(name, typed)
		if err != nil {
			return nil, err
		}
		if at != "" {
			q.Set(map[string]string{"due-from": "due_from", "due-until": "due_until"}[name], at)
		}
	}
	return q, nil
}

func (c *cli) messagesListCommand() *cobra.Command {
	var f messageFilter
	var limit int
	var after string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List messages; no text",
		Long: `List messages; no text is shown. Waiting and sending ones come by the time they are due,
others the newest first.

States: waiting, sending, accepted, rejected, unknown (it may have left, and is not
repeated unless on_unknown says so), expired, cancelled, held (waits for a person's
release, or with the reason takeover until a colleague has done writing by hand).
Behind the state stands how far it got at the platform: sent, delivered, read, played,
failed. TASK is the state of all its parts together: partial when some were taken and
others never will be.`,
		Example: "  causeway messages ls --state unknown\n  causeway messages ls --state waiting --account shop-a --due-until +2h\n" +
			"  causeway messages ls --key campaign-june --limit 200",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			if limit < 1 {
				return usageError("--limit must be 1 or more")
			}
			q.Set("limit", number(limit))
			if after != "" {
				q.Set("after", after)
			}
			a, err := c.adminClient()
			if err != nil {
				return err
			}
			for { // the gateway looks for a short time only
				raw, err := a.get(cmd.Context(), q, "messages")
				if err != nil {
					return err
				}
				var page messageList
				if json.Unmarshal(raw, &page) != nil || len(page.Messages) > 0 || page.Next == "" {
					return show(c, raw, printMessages)
				}
				q.Set("after", page.Next)
			}
		},
	}
	f.flags(cmd.Flags())
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	cmd.Flags().StringVar(&after, "after", "", "go on behind a page, by what it said at its end")
	return cmd
}

func (c *cli) messagesShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show a message with the calls made for it and what the platform told; no text",
		Example: "  causeway messages show ms_01JDRX5S3V8P9A6K2M4N7Q0T1W",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return fetched(cmd, c, nil, printMessage, "messages", args[0])
		},
	}
}

func printMessage(w io.Writer, m messageView) {
	asked := "submitted"
	if m.App != "" {
		asked = m.App + ", answering " + m.Event
	}
	window := ""
	if m.Window != nil {
		window = fmt.Sprintf("%s to %s %v %s", m.Window.From, m.Window.To, m.Window.Days, m.Window.TimeZone)
	}
	fields(w, "message", m.ID, "task", fmt.Sprintf("%s, part %d of %d, %s", m.Task, m.Part+1, m.Parts, orDash(m.TaskState)), "asked for by", asked,
		"author", m.Author, "account", m.Account,
		"conversation", m.Conv, "type", printable(m.Type, 20), "state", m.State, "reason", printable(m.Reason, 60), "result", m.Result,
		"priority", fmt.Sprint(m.Priority), "due", instant(m.DueAt), "leaves only", printable(window, 120),
		"expires", instantOf(m.ExpiresAt), "next try", instantOf(m.NextAt), "platform's id", printable(m.ExternalID, 120),
		"delivery", delivery(m.Delivery, m.Failed), "told to", m.Callback, "on failure", m.OnFailure)
	_, _ = fmt.Fprintln(w)
	rows := make([][]string, 0, len(m.Calls))
	for _, a := range m.Calls {
		rows = append(rows, []string{number(a.N), instant(a.StartedAt), orDash(a.Outcome), orDash(printable(a.Code, 24)), orDash(printable(a.Detail, 100))})
	}
	table(w, "no calls were made for it", []string{"CALL", "BEGUN", "OUTCOME", "CODE", "DETAIL"}, rows)
	printReceipts(w, &m.Receipts)
	if m.State == "unknown" {
		_, _ = fmt.Fprintf(w, "\ncauseway messages resolve %s --sent         you know that it arrived\ncauseway messages resolve %[1]s --send-again   you know that it did not\n", m.ID)
	}
}

// printReceipts says what the platform told of a message, of a group's by member.
func printReceipts(w io.Writer, r *gateway.Receipts) {
	rows := make([][]string, 0, len(r.Statuses))
	for _, s := range r.Statuses {
		rows = append(rows, []string{printable(string(s.State), 24), instant(s.At)})
	}
	if len(rows) > 0 {
		_, _ = fmt.Fprintln(w)
		table(w, "", []string{"STATUS", "AT"}, rows)
	}
	rows = rows[:0]
	for _, m := range r.Members {
		rows = append(rows, []string{m.Member.Kind + " " + printable(m.Member.Value, 22), delivery(m.Delivery, m.Failed), instant(m.At)})
	}
	if len(rows) > 0 {
		_, _ = fmt.Fprintln(w)
		table(w, "", []string{"MEMBER", "DELIVERY", "AT"}, rows)
	}
}

func printMessages(w io.Writer, list messageList) {
	rows := make([][]string, 0, len(list.Messages))
	for _, m := range list.Messages {
		state := m.State
		if m.Result != m.State && m.Result != "" {
			state += ", " + m.Result
		}
		rows = append(rows, []string{m.ID, m.Account, instant(m.DueAt), state, orDash(m.TaskState), orDash(printable(m.Reason, 20))})
	}
	table(w, "no messages", []string{"MESSAGE", "ACCOUNT", "DUE", "STATE", "TASK", "REASON"}, rows)
	if list.Next != "" {
		_, _ = fmt.Fprintf(w, "\nthere is more: --after %s\n", printable(list.Next, 128))
	}
}

// soon reads a duration as a person types it, days included; it may be negative.
func soon(flag, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	rest, back := strings.CutPrefix(typed, "-")
	d, ok := parseAge(rest)
	if !ok {
		return "", usageError("--%s: %q is not a duration; write 90m, 2h or 1d", flag, printable(typed, 40))
	}
	if back {
		d = -d
	}
	return d.String(), nil
}
