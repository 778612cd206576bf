package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

type unansweredList struct {
	Unanswered []gateway.Unanswered `json:"unanswered"`
	Next       int64                `json:"next"`
}

// convUnansweredCommand lists what was recovered too late to be answered.
func (c *cli) convUnansweredCommand() *cobra.Command {
	var app string
	var limit, before int
	cmd := &cobra.Command{
		Use:   "unanswered",
		Short: "List messages that were recovered too late to be answered",
		Long: `List messages that were recovered (a key was mended, an account added) when they were
older than the application's answer_within, or not the last word of their
conversation any more. They are recorded and were not handed out; to hand one out all
the same: causeway replay --payload PAYLOAD`,
		Example: "  causeway conv unanswered --app support",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fetched(cmd, c, query("app", app, "limit", number(limit), "before", number(before)), printUnanswered, "unanswered")
		},
	}
	cmd.Flags().StringVar(&app, "app", "", "only of this application")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	cmd.Flags().IntVar(&before, "before", 0, "go on behind a list that was cut")
	return cmd
}

func printUnanswered(w io.Writer, l unansweredList) {
	rows := make([][]string, 0, len(l.Unanswered))
	for _, u := range l.Unanswered {
		at := u.OccurredAt
		if at.IsZero() {
			at = u.ReceivedAt
		}
		rows = append(rows, []string{instant(at), printable(u.App, 16), u.Conv, u.Payload})
	}
	table(w, "nothing was recovered too late", []string{"WRITTEN", "APP", "CONVERSATION", "PAYLOAD"}, rows)
	if l.Next > 0 {
		_, _ = fmt.Fprintf(w, "\nmore: --before %d\n", l.Next)
	}
}

// Unanswered lists what was recovered too late to be answered.
func (x adminAPI) Unanswered(ctx context.Context, app string, before int64, limit int) ([]gateway.Unanswered, error) {
	return x.a.ledger.Unanswered(ctx, app, before, limit)
}
