package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// sendCommand submits messages that no event asked for.
func (c *cli) sendCommand() *cobra.Command {
	var to, at, expires, content, window string
	var priority int
	var f admin.SubmitForm
	cmd := &cobra.Command{
		Use:   "send --account A --to KIND:NAME [TEXT...]",
		Short: "Write to a customer, a member or a group",
		Long: `Write to a customer, a member or a group: each TEXT is a message, and they leave one
after another. They are stored when the command ends; causeway messages show ID says
what became of them, and observers of cw.result are told.

--to names whom: phone, bsuid or group for WhatsApp; userid or group (a chat that the
app made) for a WeCom app; external_userid for customer service; conversation, userid
or group for a vendor's gateway; nothing for the robot of a group. Other kinds of message are given by --content: a file with a reply in the
form of answers, or a list of them; - reads standard input.

The same --key makes a repeat harmless: the messages leave once. Without one, one is
made, and named when the outcome of the command is not known.`,
		Example: "  causeway send --account shop-a --to \"phone:+49 151 0000000\" \"Your parcel is ready.\"\n" +
			"  causeway send --account corp-a --to group:CHAT17 --at 2026-12-01T08:00:00+08:00 \"Good morning\"\n" +
			"  causeway send --account shop-a --to phone:491510000000 --key order-17 --content template.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if f.To, err = asRecipient(to); err != nil {
				return err
			}
			if f.Parts, err = c.replies(content, args); err != nil {
				return err
			}
			if f.ScheduledAt, err = later("at", at); err != nil {
				return err
			}
			if f.ExpiresAt, err = later("expires", expires); err != nil {
				return err
			}
			if f.SendWindow, err = asWindow(window); err != nil {
				return err
			}
			if cmd.Flags().Changed("priority") {
				f.Priority = &priority
			}
			if f.IdempotencyKey == "" {
				f.IdempotencyKey = "cli_" + ulid.Make().String()
			}
			err = posted(cmd, c, nil, &f, func(w io.Writer, s gateway.Submitted) {
				_, _ = fmt.Fprintf(w, "%s %s, conversation %s\n", s.ID, s.State, s.Conv)
			}, "messages")
			if code := codeOf(err); code == exitUnreachable || cmd.Context().Err() != nil { // it may be done all the same
				err = &exitError{code, fmt.Errorf("%w; repeated with --key %s it is sent once", err, printable(f.IdempotencyKey, gateway.MaxKeyBytes))}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&f.Account, "account", "", "configured name of our side")
	cmd.Flags().StringVar(&to, "to", "", "whom to write to, KIND:NAME")
	cmd.Flags().StringVar(&f.Conversation, "conv", "", "the id of a conversation, in place of --to")
	cmd.Flags().StringVar(&content, "content", "", "file with one reply or a list of replies as JSON, in place of TEXT")
	cmd.Flags().StringVar(&f.IdempotencyKey, "key", "", "the request's own name: repeated with it, it is done once")
	cmd.Flags().StringVar(&at, "at", "", "send not before this time, RFC 3339 or +2h")
	cmd.Flags().StringVar(&expires, "expires", "", "send not after this time, RFC 3339 or +2h")
	cmd.Flags().StringVar(&window, "window", "", `only at these times: FROM-TO ZONE, with days before it or not, "mon,tue 09:00-18:00 Europe/Berlin"`)
	cmd.Flags().IntVar(&priority, "priority", gateway.DefaultPriority, "0 to 9: which conversation of the account goes first; replies have 0")
	cmd.Flags().StringVar(&f.Author, "author", "", "bot or human")
	cmd.Flags().BoolVar(&f.EvenInTakeover, "even-in-takeover", false, "send it while a colleague has the conversation, too")
	cmd.Flags().StringVar(&f.ReplyTo, "reply-to", "", "the platform's id of the message that the first part quotes")
	cmd.Flags().StringVar(&f.OnFailure, "on-failure", "", "where a requeue begins: resume or restart")
	cmd.Flags().StringVar(&f.Callback, "callback", "", "the name of the one of results that is told of it, in place of all")
	_ = cmd.MarkFlagRequired("account")
	return cmd
}

// asRecipient reads KIND:NAME as a person types it; nil for nothing.
func asRecipient(typed string) (*admin.SubmitTo, error) {
	if typed == "" {
		return nil, nil //nolint:nilnil // nobody is named
	}
	kind, name, ok := strings.Cut(typed, ":")
	switch {
	case !ok:
		return nil, usageError("--to must be KIND:NAME, such as phone:491510000000 or userid:ZhangSan")
	case kind == "phone":
		_, identity, err := asIdentity("", kind, name)
		return &admin.SubmitTo{Kind: kind, Value: identity}, err
	}
	return &admin.SubmitTo{Kind: kind, Value: strings.TrimSpace(name)}, nil
}

// asWindow reads "mon,tue 09:00-18:00 Europe/Berlin"; nil for nothing. The gateway says
// what is wrong with its fields.
func asWindow(typed string) (*gateway.SendWindow, error) {
	if typed == "" {
		return nil, nil //nolint:nilnil // none is asked for
	}
	words := strings.Fields(typed)
	w := &gateway.SendWindow{}
	if len(words) == 3 {
		w.Days, words = strings.Split(words[0], ","), words[1:]
	}
	ok := len(words) == 2
	if ok {
		w.From, w.To, ok = strings.Cut(words[0], "-")
		w.TimeZone = words[1]
	}
	if !ok {
		return nil, usageError(`--window must be such as "09:00-18:00 Europe/Berlin" or "mon,tue 09:00-18:00 Europe/Berlin"`)
	}
	return w, nil
}

// replies are the parts: texts, or what a file holds.
func (c *cli) replies(path string, texts []string) ([]json.RawMessage, error) {
	var parts []json.RawMessage
	for _, t := range texts {
		b, err := json.Marshal(gateway.Reply{Type: gateway.ReplyText, Text: t})
		if err != nil {
			return nil, failed(err)
		}
		parts = append(parts, b)
	}
	switch {
	case (path == "") == (len(texts) == 0):
		return nil, usageError("give either texts or --content FILE")
	case path == "":
		return parts, nil
	}
	in := c.in
	if path != "-" {
		f, err := os.Open(path) //nolint:gosec // the operator's choice
		if err != nil {
			return nil, usageError("--content: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, 1<<20))
	if err != nil {
		return nil, failed(fmt.Errorf("--content cannot be read: %w", err))
	}
	if b = bytes.TrimSpace(b); !json.Valid(b) {
		return nil, usageError("--content is not JSON: it must be one reply or a list of replies")
	}
	if b[0] != '[' {
		return []json.RawMessage{b}, nil
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return nil, usageError("--content must be one reply or a list of replies")
	}
	return parts, nil
}

// later reads a time as a person types it, or "+2h" from now on; "" for none.
func later(flag, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	now := time.Now()
	if in, ok := strings.CutPrefix(typed, "+"); ok {
		if d, ok := parseAge(in); ok {
			return now.Add(d).UTC().Format(time.RFC3339), nil
		}
	}
	t, err := parseTime(flag, typed, now)
	return t.Format(time.RFC3339Nano), err
}
