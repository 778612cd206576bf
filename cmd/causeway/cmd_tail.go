package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// tailCommand follows what happens.
func (c *cli) tailCommand() *cobra.Command {
	var app, account, conv, kind string
	var text bool
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Follow what happens, one line for each thing, until stopped",
		Long: `Follow what happens, one line for each thing: an event has its place in its
conversation (relayed), has its verdict or is tried again (settled), was answered after
its verdict (late), a message was tried to be sent (attempted) or is in another state
otherwise (message: a status of the platform, the end of its time, a hold, a person's
word), an echo is ours or a colleague's (judged), something was given up (dead). It
begins now; nothing from before is told, nor what happens while a connection
is lost. A reader that is too slow misses lines and is told how many; it holds up
nobody.

No text is shown without --text, which needs the role operator and is written to the
audit. A filter leaves out lines that do not tell what is filtered by: --kind leaves
sending out. With --json each line is one JSON object.`,
		Example: "  causeway tail --app support\n  causeway tail --account shop-a --json | jq .what",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := query("app", app, "account", account, "conv", conv, "kind", kind)
			if text {
				q.Set("text", "1")
			}
			return c.tail(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVar(&app, "app", "", "only of this application")
	cmd.Flags().StringVar(&account, "account", "", "only of this account")
	cmd.Flags().StringVar(&conv, "conv", "", "only of this conversation")
	cmd.Flags().StringVar(&kind, "kind", "", "only events of this kind: message, change, status, echo, state or notice")
	cmd.Flags().BoolVar(&text, "text", false, "with the text of events and messages (role operator, audited)")
	return cmd
}

// tail prints lines until the command is stopped, which is its ordinary end, or the
// gateway ends.
func (c *cli) tail(ctx context.Context, q url.Values) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	body, err := a.follow(ctx, q, "tail")
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		raw, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		if c.asJSON {
			_, err = fmt.Fprintln(c.out, raw)
		} else {
			var l gateway.TailLine
			if json.Unmarshal([]byte(raw), &l) != nil {
				return errShape()
			}
			_, err = fmt.Fprintln(c.out, tailLine(&l))
		}
		if err != nil {
			return failed(err)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return &exitError{exitUnreachable, errors.New("the gateway has ended, or the connection to it")}
}

// tailLine is a line for people.
func tailLine(l *gateway.TailLine) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s %-9s", l.At.UTC().Format("15:04:05"), printable(string(l.What), 9))
	add := func(format string, set bool, args ...any) {
		if set {
			_, _ = fmt.Fprintf(&b, " "+format, args...)
		}
	}
	add("%d lines: this reader was too slow", l.Missed > 0, l.Missed)
	add("%s", l.Conv != "", printable(l.Conv, 26))
	add("seq %d", l.Seq > 0, l.Seq)
	add("%s", l.Kind != "", printable(string(l.Kind), 12))
	add("%s", (l.What == gateway.TailAttempted || l.What == gateway.TailMessage || l.What == gateway.TailDead) && l.Message != "", printable(l.Message, 40))
	add("%s", len(l.Apps) > 0, printable(strings.Join(l.Apps, ","), 40))
	add("%s", l.State != "" && l.What != gateway.TailDead, printable(l.State, 20))
	add("(%s)", l.Reason != "" && l.Reason != l.State, printable(l.Reason, 40))
	add("try %d", l.Tries > 1 && l.What != gateway.TailDead, l.Tries)
	add("%d ms", l.TookMS > 0, l.TookMS)
	add("%s", l.Dead != "", printable(l.Dead, 40))
	add("by %s", l.Build != "", printable(l.Build, 20))
	add("by %s", l.By != "" && l.What != gateway.TailDead, printable(l.By, 20))
	add("of %s", l.Account != "" && l.What == gateway.TailRelayed, printable(l.Account, 40))
	add("%q", l.Text != "", printable(l.Text, 200))
	return b.String()
}

// follow opens a stream of the admin API; the caller closes it.
func (a *adminClient) follow(ctx context.Context, query url.Values, path ...string) (io.ReadCloser, error) {
	target, err := a.route(query, path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, usageError("the admin URL cannot be called: %s is not a URL", a.base.Redacted())
	}
	req.Header.Set("Accept", "text/event-stream, application/problem+json")
	req.Header.Set("User-Agent", "causeway-cli")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	patient := *a.http
	patient.Timeout = 0 // it lasts as long as it lasts
	res, err := patient.Do(req)
	if err != nil {
		return nil, a.unreachable(ctx, err)
	}
	if res.StatusCode/100 == 2 {
		return res.Body, nil
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, a.unreachable(ctx, err)
	}
	return nil, a.refused(res, answer, path)
}
