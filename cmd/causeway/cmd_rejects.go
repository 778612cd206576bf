package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/admin"
)

// rejectsCommand works through callbacks that could not be verified.
func (c *cli) rejectsCommand() *cobra.Command {
	rejects := &cobra.Command{
		Use:   "rejects",
		Short: "List callbacks that did not verify, and take them back after mending a key",
	}
	rejects.AddCommand(c.rejectsListCommand(), c.rejectsShowCommand(), c.rejectsReadmitCommand())
	return rejects
}

func (c *cli) rejectsListCommand() *cobra.Command {
	var before int64
	var limit int
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List rejects, newest first",
		Example: "  causeway rejects ls --limit 20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fetched(cmd, c, query("before", positive(before), "limit", number(limit)), printRejects, "rejects")
		},
	}
	cmd.Flags().Int64Var(&before, "before", 0, "only ids below this, to read on")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return cmd
}

func printRejects(w io.Writer, list rejectList) {
	rows := make([][]string, 0, len(list.Rejects))
	for _, r := range list.Rejects {
		rows = append(rows, []string{
			count(r.ID), instant(r.At), printable(r.Platform, 12), printable(r.Endpoint, 40), printable(r.Reason, 30),
		})
	}
	table(w, "no rejects", []string{"ID", "AT", "PLATFORM", "ENDPOINT", "REASON"}, rows)
	if list.Next > 0 {
		_, _ = fmt.Fprintf(w, "\nthere is more: --before %d\n", list.Next)
	}
}

func (c *cli) rejectsShowCommand() *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one reject: how it came and why it was refused",
		Long: `Show one reject: how it came and why it was refused.

--body writes the raw body to standard output, byte for byte as it came, and nothing
else. It needs the role operator and is written to the audit. Nobody has proven who
sent it.`,
		Example: "  causeway rejects show 17\n  causeway rejects show 17 --body > body.bin",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if body {
				return c.rawBody(cmd, "rejects", args[0])
			}
			return fetched(cmd, c, nil, printReject, "rejects", args[0])
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "write the raw bytes to standard output")
	return cmd
}

func printReject(w io.Writer, r rejectView) {
	fields(w, append([]string{"reject", count(r.ID), "refused", printable(r.Reason, 200), "received", instant(r.At), "platform", printable(r.Platform, 40),
		"endpoint", printable(r.Endpoint, 60), "request", printable(r.RequestLine, 300), "body", size(r.Bytes)}, headerFields(r.Header)...)...)
	_, _ = fmt.Fprintf(w, "\ncauseway rejects readmit %d   takes it back when the secret is mended\n", r.ID)
}

func (c *cli) rejectsReadmitCommand() *cobra.Command {
	var all bool
	var endpoint string
	cmd := &cobra.Command{
		Use:   "readmit ID | --all",
		Short: "Verify rejects again with today's credentials and archive them",
		Long: `Verify rejects again with today's credentials. What verifies now is archived and
goes its way like a callback that just came; the rest stays where it is. Nothing is
ever taken back without a right signature.`,
		Example: "  causeway rejects readmit 17\n  causeway rejects readmit --all --endpoint meta",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all == (len(args) == 1):
				return usageError("give the id of one reject, or --all")
			case all:
				return posted(cmd, c, query("endpoint", endpoint), nil, printReadmitted, "rejects", "readmit")
			case endpoint != "":
				return usageError("--endpoint goes with --all")
			}
			return posted(cmd, c, nil, nil, func(w io.Writer, r readmitted) {
				_, _ = fmt.Fprintf(w, "readmitted as %s\n", r.Payload)
			}, "rejects", args[0], "readmit")
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every reject")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "with --all: only of this endpoint")
	return cmd
}

func printReadmitted(w io.Writer, r admin.Readmitted) {
	_, _ = fmt.Fprintf(w, "readmitted %s\n", amount(r.Readmitted, "callback", "callbacks"))
	if r.Refused > 0 {
		_, _ = fmt.Fprintf(w, "still refused, and left where they are: %s\n", amount(r.Refused, "callback", "callbacks"))
	}
}
