package main

import (
	"time"

	"github.com/spf13/cobra"
)

// archiveExportCommand writes events, for the tests of bots.
func (c *cli) archiveExportCommand() *cobra.Command {
	var payload, conv, since, until, endpoint string
	cmd := &cobra.Command{
		Use:   "export (--conv CONV | --payload ID | --since T [--until T])",
		Short: "Write events as they are published, one JSON a line",
		Long: `Write the events of archived callbacks to standard output as workers get them, one
JSON a line, in the order they arrived; decoded with today's code and keys, like a
replay. Nothing is handed out and nothing changes. A bot is tested on them without a
broker, by workertest.Events and workertest.Run of the Go SDK.

They hold what customers wrote: it needs the role operator and is written to the audit.

Left out are callbacks that cannot be decoded (sealed, dead), what became no event, and
the notices about files, which the gateway makes by itself.

Times: "2026-07-01T08:00:00Z", "2026-07-01" (midnight UTC), "-30m", "2h ago", "now".`,
		Example: "  causeway archive export --conv CONV > events.jsonl\n" +
			"  causeway archive export --since -2h --endpoint meta > events.jsonl",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := 0
			for _, s := range []string{payload, conv, since} {
				if s != "" {
					chosen++
				}
			}
			switch {
			case chosen != 1:
				return usageError("give exactly one of --conv, --payload and --since")
			case since == "" && (until != "" || endpoint != ""):
				return usageError("--until and --endpoint go with --since")
			case since != "" && until == "":
				until = "now"
			}
			q := query("payload", payload, "conv", conv, "endpoint", endpoint)
			if err := addTimes(q, since, until, time.Now()); err != nil {
				return err
			}
			a, err := c.adminClient()
			if err != nil {
				return err
			}
			return a.download(cmd.Context(), c.out, q, "events")
		},
	}
	cmd.Flags().StringVar(&payload, "payload", "", "the events of one payload")
	cmd.Flags().StringVar(&conv, "conv", "", "the events of a conversation")
	cmd.Flags().StringVar(&since, "since", "", "those received at or after")
	cmd.Flags().StringVar(&until, "until", "", "with --since: received before (default: now)")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "with --since: only of this endpoint")
	return cmd
}
