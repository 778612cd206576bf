package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// messagesChanged is the answer to an admin.ChangeForm.
type messagesChanged struct {
	DryRun  bool          `json:"dry_run"`
	Matched int           `json:"matched"`
	Changed int           `json:"changed"`
	Skipped int           `json:"skipped"`
	Before  int           `json:"before"`
	Sample  []messageView `json:"sample"`
}

// changing is a command that does one thing to messages: those named, or those that the
// filters select.
type changing struct {
	filter messageFilter
	change admin.ChangeForm
}

const changingHelp = `

Give ids, or filters: at least one of them. --dry-run says how many messages would be
changed and shows some. Many are changed in slices, each written down in the audit; when the
command is stopped, the rest is as it was and the same command goes on. What is being
sent, or has left, is skipped. A task moves as a whole, as far as it has not left.`

const onceHelp = `

What --by and --spread do depends on when it is done. One that is cut short says how to go
on: with --once NAME, the name of this change, what it has moved is not moved again.`

func (x *changing) flags(cmd *cobra.Command) {
	x.filter.flags(cmd.Flags())
	cmd.Flags().BoolVar(&x.change.DryRun, "dry-run", false, "say how many, show some, change nothing")
	cmd.Flags().IntVar(&x.change.Limit, "limit", 0, "at most this many, counted anew by each command; 0 means all")
}

// run asks for the change; done is the word for it.
func (x *changing) run(cmd *cobra.Command, c *cli, done string, ids []string) error {
	q, err := x.filter.query()
	if err != nil {
		return err
	}
	for name := range q {
		if x.change.Filter == nil {
			x.change.Filter = map[string]string{}
		}
		x.change.Filter[name] = q.Get(name)
	}
	if x.change.Messages = ids; (len(ids) > 0) == (len(q) > 0) {
		return usageError("give the ids of messages, or filters such as --account or --key, and not both")
	}
	if x.change.By+x.change.Over != "" && x.change.IdempotencyKey == "" && !x.change.DryRun {
		x.change.IdempotencyKey = "cli_" + ulid.Make().String()
	}
	nothing := false
	err = posted(cmd, c, nil, &x.change, func(w io.Writer, r messagesChanged) {
		nothing = !r.DryRun && r.Changed+r.Before == 0
		printChanged(w, r, done)
	}, "messages:change")
	if err == nil && nothing && len(ids) > 0 {
		return failed(errors.New("nothing was changed"))
	}
	code, broke := codeOf(err), new(serverError)
	if x.change.IdempotencyKey != "" && (code == exitUnreachable || cmd.Context().Err() != nil || errors.As(err, broke)) {
		err = &exitError{code, fmt.Errorf("%w; some may be moved, and this goes on: %s", err, x.again(cmd))}
	}
	return err
}

// again is the command that goes on with one that was cut short. It names times that were
// typed as from now on, since it is the same change only to the same times.
func (x *changing) again(cmd *cobra.Command) string {
	words := append([]string{cmd.CommandPath()}, x.change.Messages...)
	for _, name := range slices.Sorted(maps.Keys(x.change.Filter)) {
		words = append(words, "--"+strings.ReplaceAll(name, "_", "-"), x.change.Filter[name])
	}
	if x.change.Limit > 0 {
		words = append(words, "--limit", number(x.change.Limit))
	}
	for _, f := range [][2]string{{"--by", x.change.By}, {"--spread", x.change.Over}, {"--at", x.change.At}, {"--once", x.change.IdempotencyKey}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	for i, w := range words[1:] {
		if strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("+,-./:=@_", r) && !unicode.IsDigit(r) && !unicode.IsLetter(r)
		}) {
			words[i+1] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" // for a shell
		}
	}
	return printable(strings.Join(words, " "), 0)
}

// once lets a person name a change that counts from now, or from where the messages stand.
func (x *changing) once(cmd *cobra.Command) {
	cmd.Flags().StringVar(&x.change.IdempotencyKey, "once", "", "the change's own name: repeated with it, it moves nothing twice")
}

func printChanged(w io.Writer, r messagesChanged, done string) {
	if r.DryRun {
		_, _ = fmt.Fprintf(w, "%s would be %s\n\n", amount(r.Matched, "message", "messages"), done)
		printMessages(w, messageList{Messages: r.Sample})
		if n := r.Matched - len(r.Sample); n > 0 {
			_, _ = fmt.Fprintf(w, "and %s\n", amount(n, "more", "more"))
		}
		return
	}
	_, _ = fmt.Fprintf(w, "%s %s", amount(r.Changed, "message", "messages"), done)
	if r.Before > 0 {
		_, _ = fmt.Fprintf(w, ", and %s before", amount(r.Before, "message", "messages"))
	}
	_, _ = fmt.Fprintln(w)
	if r.Skipped > 0 {
		_, _ = fmt.Fprintf(w, "%s skipped: not known, left or ended already, or due after the end then\n", amount(r.Skipped, "message", "messages"))
	}
}

func (c *cli) messagesCancelCommand() *cobra.Command {
	x := &changing{change: admin.ChangeForm{Do: store.DeedCancel}}
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Take back messages that wait or are held, and the parts behind them",
		Long: `Take back messages that wait or are held, and the later parts of their tasks: by the id
that causeway send printed, the whole of it. What is being sent or may have left cannot
be taken back here; exit code 1 then, and nothing is changed.` + changingHelp,
		Example: "  causeway messages cancel ms_01JDRX5S3V8P9A6K2M4N7Q0T1W\n  causeway messages cancel --key campaign-june --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && x.filter == (messageFilter{}) && !x.change.DryRun { // which names what is wrong with it
				return posted(cmd, c, nil, nil, func(w io.Writer, m messageView) {
					if m.State == string(gateway.MessageUnknown) {
						_, _ = fmt.Fprintln(w, m.ID+" is not sent again; whether it arrived before is unknown")
						return
					}
					_, _ = fmt.Fprintln(w, m.ID+" is cancelled")
				}, "messages", args[0], "cancel")
			}
			return x.run(cmd, c, "cancelled", args)
		},
	}
	x.flags(cmd)
	return cmd
}

func (c *cli) messagesRescheduleCommand() *cobra.Command {
	x := &changing{change: admin.ChangeForm{Do: store.DeedReschedule}}
	var at, by string
	cmd := &cobra.Command{
		Use:   "reschedule [ID...] --at TIME | --by DURATION",
		Short: "Move messages that wait to another time",
		Long: `Move messages that wait to another time: --at for all, or --by for how much later (or,
negative, earlier) each is due. A send window and an end still hold. causeway messages set
--spread spreads them over a time.` + changingHelp + onceHelp,
		Example: "  causeway messages reschedule ms_01JDRX5S3V8P9A6K2M4N7Q0T1W --at 2026-12-01T08:00:00+08:00\n" +
			"  causeway messages reschedule --key campaign-june --by 1d",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if (at == "") == (by == "") {
				return usageError("give --at or --by")
			}
			if x.change.At, err = later("at", at); err != nil {
				return err
			}
			if x.change.By, err = soon("by", by); err != nil {
				return err
			}
			if x.change.By == "" && x.change.IdempotencyKey != "" {
				return usageError("--once goes with --by; to the same time a message can be moved again")
			}
			return x.run(cmd, c, "moved", args)
		},
	}
	x.flags(cmd)
	x.once(cmd)
	cmd.Flags().StringVar(&at, "at", "", "due then, RFC 3339 or +2h")
	cmd.Flags().StringVar(&by, "by", "", "due so much later, such as 90m, 1d or -30m")
	return cmd
}

func (c *cli) messagesSetCommand() *cobra.Command {
	x := &changing{}
	var priority int
	var over, at string
	var hold, release bool
	cmd := &cobra.Command{
		Use:   "set [ID...] --priority N | --spread DURATION | --hold | --release",
		Short: "Set priority, spread over a time, hold or release messages that have not left",
		Long: `Set one thing about messages that have not left.

--priority orders the conversations of an account that are ready at one moment: 0 goes
first, replies have 0 and submitted messages 5. It never reorders a conversation.
--spread moves tasks evenly over a time, from --at or now on, in their order.
--hold keeps messages until --release, with the parts behind them; --release lets held
ones go, whoever held them, but those of a replay (causeway replay release).` + changingHelp + onceHelp,
		Example: "  causeway messages set --key campaign-june --spread 2h --dry-run\n  causeway messages set --account shop-a --state waiting --hold\n" +
			"  causeway messages set --account shop-a --state held --release",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ways, done := 0, ""
			for _, way := range []struct {
				given bool
				do    store.MessageDeed
				done  string
			}{{cmd.Flags().Changed("priority"), store.DeedPriority, "changed"}, {over != "", store.DeedReschedule, "spread"},
				{hold, store.DeedHold, "held"}, {release, store.DeedRelease, "released"}} {
				if way.given {
					ways++
					x.change.Do, done = way.do, way.done
				}
			}
			if ways != 1 || over == "" && at+x.change.IdempotencyKey != "" {
				return usageError("give one of --priority, --spread (with or without --at and --once), --hold and --release")
			}
			if x.change.Do == store.DeedPriority {
				x.change.Priority = &priority
			}
			if x.change.Over, err = soon("spread", over); err != nil {
				return err
			}
			if x.change.At, err = later("at", at); err != nil {
				return err
			}
			return x.run(cmd, c, done, args)
		},
	}
	x.flags(cmd)
	x.once(cmd)
	cmd.Flags().IntVar(&priority, "priority", 0, "0 to 9, 0 goes first")
	cmd.Flags().StringVar(&over, "spread", "", "spread over so much time, such as 2h")
	cmd.Flags().StringVar(&at, "at", "", "with --spread: begin then, RFC 3339 or +2h")
	cmd.Flags().BoolVar(&hold, "hold", false, "hold them")
	cmd.Flags().BoolVar(&release, "release", false, "release held ones")
	return cmd
}

func (c *cli) messagesResolveCommand() *cobra.Command {
	var sent, again, rest bool
	cmd := &cobra.Command{
		Use:   "resolve ID --sent | --send-again",
		Short: "Settle an unknown message by what you found out",
		Long: `Settle a message of which nobody knows whether it left. Look at the platform, or ask the
customer, then say --sent, or --send-again, which makes one more call: nothing else
ever repeats such a message, and if you are wrong the customer gets it twice.

--rest sends the parts behind it too that were cancelled for its sake. Your word is in the
audit.`,
		Example: "  causeway messages resolve ms_01JDRX5S3V8P9A6K2M4N7Q0T1W --sent\n  causeway messages resolve ms_01JDRX5S3V8P9A6K2M4N7Q0T1W --send-again --rest",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if sent == again {
				return usageError("give --sent or --send-again")
			}
			as, done := "sent", "is settled as sent"
			if again {
				as, done = "send-again", "is sent again"
			}
			return posted(cmd, c, nil, map[string]any{"as": as, "rest": rest}, func(w io.Writer, m messageView) {
				_, _ = fmt.Fprintln(w, m.ID, done)
			}, "messages", args[0], "resolve")
		},
	}
	cmd.Flags().BoolVar(&sent, "sent", false, "it was sent")
	cmd.Flags().BoolVar(&again, "send-again", false, "it was not; send it again")
	cmd.Flags().BoolVar(&rest, "rest", false, "send the parts behind it too")
	return cmd
}
