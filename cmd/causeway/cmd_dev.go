package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/config"
)

// devCommand is a gateway on fake platforms for a bot of the reader's own.
func (c *cli) devCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Try your own bot: a gateway with fake platforms, and you are the customer",
		Long: `Start a whole gateway in this process with an embedded NATS, a fake WhatsApp and a fake
WeCom, for a bot of your own. It prints URLs, credentials, a worker to paste and simulate
lines. Then you write to your bot: each line is a customer's message and comes to the
gateway as a signed callback; the bot's replies and their ticks appear below.

  /as NAME        be another customer; each has a conversation of their own
  /dup            the platform delivers the last callback again
  /photo FILE     send a picture
  /colleague TEXT a colleague answers by hand, in our name (WhatsApp)
  /help, /quit

With --bot URL the bot is an HTTP endpoint: each event is posted there, signed, and the
response is the answer; see "A bot behind a URL" in the README.

Lines may come from a file or a pipe; at its end the replies are waited for, if a bot is
attached. Without any line (standard input closed) it runs until it is stopped.

Nothing stays behind, unless --dir names a folder: then conversations, credentials and
addresses are the same next time.`,
		Example: "  causeway dev\n  causeway dev --bot http://127.0.0.1:3000/hook\n  causeway dev --platform wecom --dir dev\n  printf 'hello\\n/dup\\n' | causeway dev",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.dev(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.platform, "platform", "whatsapp", "where the customers write: whatsapp or wecom")
	cmd.Flags().StringVar(&o.bot, "bot", "", "URL of the bot (default: workers attach by NATS)")
	cmd.Flags().StringVar(&o.dir, "dir", "", "keep everything in this folder")
	return cmd
}

// devOptions are the flags.
type devOptions struct{ platform, dir, bot string }

// dev runs until the chat or ctx ends.
func (c *cli) dev(ctx context.Context, o devOptions) (err error) {
	if o.platform != "whatsapp" && o.platform != "wecom" {
		return usageError("--platform must be whatsapp or wecom")
	}
	r, err := startDev(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return errDemoStopped()
		}
		var e *exitError
		if errors.As(err, &e) {
			return err
		}
		if wrong := (*config.Errors)(nil); errors.As(err, &wrong) { // the rest of it is ours
			return usageError("--bot: %s", wrong.List[0].Problem)
		}
		return failed(fmt.Errorf("it could not start: %w", err))
	}
	defer func() {
		if end := errors.Join(r.close(), r.remove()); end != nil {
			err = errors.Join(err, failed(fmt.Errorf("it did not end cleanly: %w", end)))
		}
	}()
	k, err := r.reach(devApp)
	if err != nil {
		return failed(err)
	}
	k.Commands, k.Bot, k.BotSecret = devCommands(programName(), k), r.botURL, r.botSecret
	p := newDemoPrinter(c.out, os.Getenv)
	if err := c.print(k, func(io.Writer) { p.dev(r, k) }); err != nil {
		return failed(err)
	}
	return failed(newDevRoom(r, o.platform, c.transcript(p)).run(ctx, readLines(ctx, c.in)))
}

func devCommands(program string, k *demoKeep) []demoLine {
	return []demoLine{
		{"export CAUSEWAY_CONFIG=" + k.Config, ""},
		{program + " simulate whatsapp button --choice order:cancel", "what cannot be typed; --list names all kinds"},
		{program + " simulate wecom --text hello", ""},
		{program + " sandbox fault add --at " + k.WhatsApp + " --stage after --drop reset --next 1", "the next answer gets lost"},
		{program + " apps", "is the bot attached, what waits"},
		{program + " dead ls", "what the bot gave up"},
		{program + " archive export --since -1h", "the events, to test the bot on"},
	}
}

// dev prints what runs and how to attach a bot.
func (p demoPrinter) dev(r *demoRig, k *demoKeep) {
	p.line("%s", p.paint(bold, "Causeway dev"))
	p.line("A whole gateway on this machine, with fake platforms, for your own bot.")
	what := "Ctrl-C or /quit stops it and removes everything."
	if r.kept {
		what = "Ctrl-C or /quit stops it; " + r.dir + " stays."
	}
	p.line("%s\n", p.paint(faint, what))
	p.rows(k)
	if k.Bot != "" {
		p.line("\n%s", p.paint(bold, "Your bot gets every event by POST"))
		p.line("   %-14s %s", "to", k.Bot)
		p.line("   %-14s %s", "signed with", k.BotSecret)
	} else {
		p.line("\n%s", p.paint(bold, fmt.Sprintf("Your bot: a worker of application %q, for example", devApp)))
		p.line("%s", p.paint(faint, "# pip install nats-py; python3 "+k.PythonFile))
		p.line("%s", k.Python)
		p.line("   The same in Go: %s", k.GoFile)
	}
	p.line("\n%s", p.paint(bold, "Besides, in a second terminal"))
	p.lines(k.Commands)
	p.line("\n%s", p.paint(bold, "Now write to your bot, as a customer. /help lists what else you can do."))
}
