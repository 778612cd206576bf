package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// convCommand finds and shows conversations.
func (c *cli) convCommand() *cobra.Command {
	conv := &cobra.Command{
		Use:   "conv",
		Short: "Find a conversation by an identity, show one, take one back from a colleague",
	}
	conv.AddCommand(c.convIDCommand(), c.convListCommand(), c.convShowCommand(), c.convUnansweredCommand(), c.convReleaseCommand())
	return conv
}

func (c *cli) convIDCommand() *cobra.Command {
	var platform, account, kind string
	cmd := &cobra.Command{
		Use:   "id --platform P --account A IDENTITY",
		Short: "Print the id of the conversation with a customer",
		Long: `Print the id of the conversation with a customer or group, or of the key under which
the state of a WeCom customer, chat, tag or member is told.

Logs, subjects and lists carry this id and never the identity. The kind is guessed
from the platform when it is not given: a phone number for WhatsApp, a user id for
WeCom; KIND:NAME names it, as for send. A plus sign, blanks, hyphens and brackets of a
phone number do not matter.`,
		Example: "  causeway conv id --platform whatsapp --account shop-a \"+49 151 0000000\"\n" +
			"  causeway conv show $(causeway conv id --platform wecom --account corp-a ZhangSan)",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, identity, err := asIdentity(platform, kind, args[0])
			if err != nil {
				return err
			}
			err = fetched(cmd, c, query("platform", platform, "account", account, "kind", k, "identity", identity),
				func(w io.Writer, f found) { _, _ = fmt.Fprintln(w, f.Conv) }, "conversations:find")
			if codeOf(err) == exitNotFound { // the identity is not repeated: it is a person
				return &exitError{exitNotFound, fmt.Errorf("%s has no conversation with this %s", printable(account, 40), k)}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&platform, "platform", "", "whatsapp, wecom or unified")
	cmd.Flags().StringVar(&account, "account", "", "configured name of our side")
	cmd.Flags().StringVar(&kind, "kind", "", "phone, bsuid, userid, external_userid, conversation or group; of state: member, customer, chat, tag, approval, living, kf or session (default by platform)")
	_ = cmd.MarkFlagRequired("platform")
	_ = cmd.MarkFlagRequired("account")
	return cmd
}

// asIdentity brings what a person typed into the form the ledger compares.
func asIdentity(platform, kind, typed string) (gotKind, identity string, err error) {
	identity = strings.TrimSpace(typed)
	if before, after, found := strings.Cut(identity, ":"); kind == "" && found && slices.Contains([]string{"phone", "bsuid", "userid", "external_userid", "group"}, before) {
		kind, identity = before, after // as send --to has it
	}
	if kind == "" {
		switch platform {
		case "whatsapp":
			kind = "phone"
		case "wecom":
			kind = "userid"
		case "unified":
			kind = "conversation"
		default:
			return "", "", usageError("--kind is needed for platform %q: phone, bsuid, userid, conversation or group", printable(platform, 40))
		}
	}
	switch kind {
	case "phone":
		identity = strings.TrimPrefix(strings.Map(func(r rune) rune {
			if strings.ContainsRune(" -().\u00a0", r) {
				return -1
			}
			return r
		}, identity), "+")
		if identity == "" || strings.ContainsFunc(identity, func(r rune) bool { return r < '0' || r > '9' }) {
			return "", "", usageError("that is not a phone number; write digits with the country code, or say what it is, such as bsuid:NAME or group:NAME")
		}
	case "bsuid", "userid", "external_userid", "conversation", "group", "member", "customer", "chat", "tag", "approval", "living", "kf", "session", "audit":
		if identity == "" {
			return "", "", usageError("the identity is empty")
		}
	default:
		return "", "", usageError("--kind must be phone, bsuid, userid, external_userid, conversation or group, or of state member, customer, chat, tag, approval, living, kf or session, not %q", printable(kind, 40))
	}
	return kind, identity, nil
}

func (c *cli) convShowCommand() *cobra.Command {
	var limit int
	var timeline, inOrders, text bool
	var app string
	cmd := &cobra.Command{
		Use:   "show CONV",
		Short: "Show a conversation: identities, events, what was sent",
		Long: `Show a conversation: who it is, its last events with their state per application,
and the messages sent with what the platform said about them, what stops it, and what is
with a worker now. Texts are shown with --text only, which needs the role operator and
is written to the audit; the raw callbacks are in the archive.

--timeline prints the same by time: events, failed tries with their errors, verdicts,
holds, attempts to send, statuses, and at the end what is out or waits. --orders puts four orders of the events side by side: as the platform
dated them, as they came (which is seq, and the one that counts), as they were handled,
and as the answers were sent; ! marks a place that differs from the order they came.`,
		Example: "  causeway conv show abcdefghijklmnopqrstuvwxyz --limit 20\n  causeway conv show abcdefghijklmnopqrstuvwxyz --orders --app support",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeline && inOrders || app != "" && !inOrders {
				return usageError("give --timeline or --orders; --app goes with --orders")
			}
			q := query("limit", number(limit))
			if text {
				q.Set("text", "1")
			}
			return fetched(cmd, c, q, func(w io.Writer, v gateway.Conversation) {
				switch {
				case timeline:
					printTimeline(w, &v)
				case inOrders:
					printOrders(w, &v, app)
				default:
					printConversation(w, v)
				}
			}, "conversations", args[0])
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "at most this many events and messages")
	cmd.Flags().BoolVar(&timeline, "timeline", false, "by time")
	cmd.Flags().BoolVar(&text, "text", false, "with the texts of events and messages (role operator, audited)")
	cmd.Flags().BoolVar(&inOrders, "orders", false, "four orders side by side")
	cmd.Flags().StringVar(&app, "app", "", "with --orders: whose verdicts count (default the last)")
	return cmd
}

func printConversation(w io.Writer, v gateway.Conversation) {
	who := make([]string, 0, len(v.Identities))
	for _, i := range v.Identities {
		name := i.Kind + " " + printable(i.Spelling(), 80)
		if i.Retired {
			name += " (retired)"
		}
		who = append(who, name)
	}
	fields(w, "conversation", v.Conv, "platform", v.Platform, "account", v.Account, "chat", string(v.Chat),
		"known as", strings.Join(who, ", "), "last seq", count(v.LastSeq), "last human", orDash(instantOf(v.LastHumanAt)))
	printState(w, v.State)
	printTaken(w, v.State)
	printMerges(w, &v)
	for i := range v.Holds {
		fields(w, "stopped", holdWords(&v.Holds[i])+" since "+instant(v.Holds[i].At))
	}
	for i := range v.Offers {
		fields(w, "out", offerWords(&v.Offers[i]))
	}

	_, _ = fmt.Fprintln(w)
	rows := make([][]string, 0, len(v.Events))
	for _, e := range v.Events {
		rows = append(rows, []string{
			dashZero(e.Seq), instant(e.ReceivedAt), eventKind(e), printable(e.Type, 16), e.Event, eventStates(e),
		})
	}
	table(w, "no events", []string{"SEQ", "RECEIVED", "KIND", "TYPE", "EVENT", "STATE"}, rows)

	_, _ = fmt.Fprintln(w)
	rows = rows[:0]
	for _, m := range v.Messages {
		rows = append(rows, []string{
			m.Message, instant(m.DueAt), strconv.Itoa(m.Part + 1), string(m.State), strconv.Itoa(m.Attempts), delivery(m.Delivery, m.Failed),
			orDash(printable(m.Reason, 24)),
		})
		for _, g := range m.Members {
			rows = append(rows, []string{"  " + g.Member.Kind + " " + printable(g.Member.Value, 22), instant(g.At), "", "", "", delivery(g.Delivery, g.Failed), ""})
		}
	}
	table(w, "no messages", []string{"MESSAGE", "DUE", "PART", "STATE", "TRIES", "DELIVERY", "REASON"}, rows)
}

// printState says who looks after the customer, chat or session, by the events that
// came.
func printState(w io.Writer, s *gateway.State) {
	if s == nil {
		return
	}
	if s.Owner != "" || s.Session == "" {
		others := make([]string, 0, len(s.Members))
		for _, m := range s.Members[min(1, len(s.Members)):] {
			others = append(others, printable(m.UserID, 64))
		}
		fields(w, "owner", orDash(printable(s.Owner, 64)), "also", orDash(strings.Join(others, ", ")))
	}
	if s.Session != "" {
		fields(w, "session", string(s.Session), "servicer", orDash(printable(s.Servicer, 64)))
	}
	fields(w, "state of", orDash(instantOf(s.At)))
}

// printMerges says what the conversation is part of, what became part of it, and
// what it waits for.
func printMerges(w io.Writer, v *gateway.Conversation) {
	if v.MergedInto != "" {
		fields(w, "part of", v.MergedInto+": new events are there")
	}
	for _, m := range v.Merged {
		state := "nothing left there"
		if m.Draining {
			state = "goes first: it has something pending or unsent"
		}
		fields(w, "merged", m.Conv+" at "+instant(m.At)+", "+state)
	}
}

// eventKind is the kind, with where it came from when that was not live.
func eventKind(e gateway.ConversationEvent) string {
	if e.Origin == gateway.OriginLive || e.Origin == "" {
		return string(e.Kind)
	}
	return fmt.Sprintf("%s (%s)", e.Kind, e.Origin)
}

// eventStates is "app=state" for each application, or what an echo was judged.
func eventStates(e gateway.ConversationEvent) string {
	parts := make([]string, 0, len(e.States))
	for _, app := range slices.Sorted(maps.Keys(e.States)) {
		parts = append(parts, app+"="+string(e.States[app]))
	}
	if e.Echo != "" {
		parts = append(parts, string(e.Echo))
	}
	if e.Observed != "" {
		parts = append(parts, "observed="+string(e.Observed))
	}
	if e.Superseded != "" {
		parts = append(parts, "superseded="+e.Superseded)
	}
	return orDash(strings.Join(parts, " "))
}

// delivery says how far a message came, and a failure beside it.
func delivery(d gateway.StatusState, f *gateway.Problem) string {
	s := string(d)
	if f != nil {
		s = strings.TrimSpace(s + " failed")
		if f.Code != 0 {
			s += fmt.Sprintf("(%d)", f.Code)
		}
	}
	return orDash(s)
}
