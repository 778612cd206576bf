package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

// archiveCommand looks at what arrived.
func (c *cli) archiveCommand() *cobra.Command {
	archive := &cobra.Command{
		Use:   "archive",
		Short: "Look at what arrived: every callback that was answered 200",
	}
	archive.AddCommand(c.archiveListCommand(), c.archiveShowCommand(), c.archiveExportCommand())
	return archive
}

func (c *cli) archiveListCommand() *cobra.Command {
	var endpoint, since, until, before string
	var limit int
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List archived payloads, newest first",
		Long: `List archived payloads, newest first.

Times: "2026-07-01T08:00:00Z", "2026-07-01" (midnight UTC), "-30m", "2h ago", "now".
To read on, give the last ID of the list to --before.`,
		Example: "  causeway archive ls --since -30m\n  causeway archive ls --endpoint meta --since 2026-07-01 --until 2026-07-02",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := query("endpoint", endpoint, "before", before, "limit", number(limit))
			if err := addTimes(q, since, until, time.Now()); err != nil {
				return err
			}
			a, err := c.adminClient()
			if err != nil {
				return err
			}
			for { // the gateway looks at some payloads only
				raw, err := a.get(cmd.Context(), q, "payloads")
				if err != nil {
					return err
				}
				var page payloadList
				if json.Unmarshal(raw, &page) != nil || len(page.Payloads) > 0 || page.Next == 0 {
					return show(c, raw, printPayloads)
				}
				q.Set("before", strconv.FormatInt(page.Next, 10))
			}
		},
	}
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only of this endpoint")
	cmd.Flags().StringVar(&since, "since", "", "received at or after")
	cmd.Flags().StringVar(&until, "until", "", "received before")
	cmd.Flags().StringVar(&before, "before", "", "only older than this ID, to read on")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return cmd
}

// addTimes puts since and until into a query, in UTC.
func addTimes(q url.Values, since, until string, now time.Time) error {
	for flag, typed := range map[string]string{"since": since, "until": until} {
		if typed == "" {
			continue
		}
		t, err := parseTime(flag, typed, now)
		if err != nil {
			return err
		}
		q.Set(flag, t.Format(time.RFC3339Nano))
	}
	return nil
}

func printPayloads(w io.Writer, list payloadList) {
	rows := make([][]string, 0, len(list.Payloads))
	for _, p := range list.Payloads {
		rows = append(rows, []string{p.ID, instant(p.ReceivedAt), printable(p.Platform, 12), printable(p.Endpoint, 40), string(p.State)})
	}
	table(w, "no payloads", []string{"ID", "RECEIVED", "PLATFORM", "ENDPOINT", "STATE"}, rows)
	if list.Next > 0 {
		_, _ = fmt.Fprintf(w, "\nthere is more: --before %d\n", list.Next)
	}
}

func (c *cli) archiveShowCommand() *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one payload: how it came, and what became of it",
		Long: `Show one payload: how it came, its state, and what became of each item in it.

--body writes the raw body to standard output, byte for byte as it came, and nothing
else. It needs the role operator and is written to the audit. A body holds what the
customer wrote; WeCom's is encrypted.`,
		Example: "  causeway archive show pl_01K2F0000000000000000000AA\n" +
			"  causeway archive show pl_01K2F0000000000000000000AA --body > body.json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if body {
				return c.rawBody(cmd, "payloads", args[0])
			}
			return fetched(cmd, c, nil, printPayload, "payloads", args[0])
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "write the raw bytes to standard output")
	return cmd
}

// rawBody writes the body of a payload or reject, nothing added. With --json it
// prints the API's answer instead, where the body is base64.
func (c *cli) rawBody(cmd *cobra.Command, path ...string) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	raw, err := a.get(cmd.Context(), query("body", "1"), path...)
	if err != nil {
		return err
	}
	if c.asJSON {
		return failed(c.print(raw, nil))
	}
	var v struct {
		Body []byte `json:"body"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return errShape()
	}
	if _, err := c.out.Write(v.Body); err != nil {
		return failed(fmt.Errorf("write the body: %w", err))
	}
	return nil
}

func printPayload(w io.Writer, p payloadDetail) {
	opened := p.OpenedBy
	if opened == p.KeyFP {
		opened = ""
	}
	fields(w, append([]string{"payload", p.ID, "place", count(p.Pos), "received", instant(p.ReceivedAt), "platform", printable(p.Platform, 40),
		"endpoint", printable(p.Endpoint, 60), "request", printable(p.RequestLine, 300), "body", size(p.Bytes),
		"verified by", p.KeyFP, "opened by", opened,
		"state", string(p.State), "reason", printable(p.Reason, 200), "detail", printable(p.Detail, 500)}, headerFields(p.Header)...)...)
	_, _ = fmt.Fprintln(w)
	rows := make([][]string, 0, len(p.Items))
	for _, it := range p.Items {
		rows = append(rows, []string{
			strconv.Itoa(it.Index), string(it.State), string(it.Kind), orDash(it.Event), orDash(it.Conv), dashZero(it.Seq), printable(it.Reason, 40),
		})
	}
	table(w, "no items", []string{"ITEM", "STATE", "KIND", "EVENT", "CONVERSATION", "SEQ", "REASON"}, rows)
}

// size prints a number of bytes for people and exactly; "" for an empty body.
func size(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n < 1024:
		return amount(n, "byte", "bytes")
	}
	return fmt.Sprintf("%s (%d bytes)", humanize.IBytes(uint64(n)), n)
}

// headerFields are the headers kept of a callback, as pairs for fields.
func headerFields(h http.Header) []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		pairs = append(pairs, "header", printable(name, 60)+": "+printable(strings.Join(h[name], ", "), 200))
	}
	return pairs
}
