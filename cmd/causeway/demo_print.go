package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// demoPrinter writes the walk through for people. Colour is used on a terminal
// only, and not when NO_COLOR is set (no-color.org).
type demoPrinter struct {
	w      io.Writer
	colour bool
}

func newDemoPrinter(w io.Writer, env func(string) string) demoPrinter {
	return demoPrinter{w: w, colour: isTerminal(w) && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// isTerminal says whether a person reads along, or types.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	green = "32"
	red   = "31;1"
	bold  = "1"
	faint = "2"
)

func (p demoPrinter) paint(code, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p demoPrinter) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, format+"\n", args...)
}

// opening says what runs and where.
func (p demoPrinter) opening(r *demoRig, keep bool) {
	p.line("%s", p.paint(bold, "Causeway demo"))
	p.line("A whole gateway on this machine: store, NATS, bot, fake WhatsApp, fake WeCom.")
	p.line("Real HTTP, real signatures; every line marked * was observed, not assumed.")
	what := "removed at the end"
	if keep {
		what = "removed when you stop it"
	}
	p.line("%s", p.paint(faint, "Folder "+r.dir+" ("+what+")"))
}

// begin prints the title of a scene before it is played.
func (p demoPrinter) begin(n int, title string) {
	p.line("\n%s", p.paint(bold, fmt.Sprintf("%d  %s", n, title)))
}

// scene prints what was done and seen.
func (p demoPrinter) scene(s sceneResult) {
	for _, d := range s.Did {
		p.line("   %s", d)
	}
	for _, seen := range s.Saw {
		p.line("   %s %s", p.paint(green, "*"), seen)
	}
	if !s.OK {
		p.line("   %s", p.paint(red, "! "+s.Error))
	}
}

// withoutZeros leaves the terms of an equation out that are nothing.
func withoutZeros(equation string) string {
	left, right, ok := strings.Cut(equation, " = ")
	if !ok {
		return equation
	}
	terms := slices.DeleteFunc(strings.Split(right, " + "), func(t string) bool { return strings.HasSuffix(t, " 0") })
	if len(terms) == 0 {
		terms = []string{"0"}
	}
	return left + " = " + strings.Join(terms, " + ")
}

// report prints the end: the equations and what was measured over all scenes.
func (p demoPrinter) report(d demoReport) {
	p.line("\n%s", p.paint(bold, "Nothing vanished"))
	p.line("   Every callback, item, event and message is in exactly one state:")
	for _, l := range d.Kept {
		p.line("   %s", withoutZeros(l))
	}
	if len(d.Broken) == 0 && strings.Join(d.Kept, "\n") == strings.Join(d.Recounted, "\n") {
		p.line("   %s Counted while running and counted again from the rows: the same.", p.paint(green, "*"))
	}
	p.line("\n%s", p.paint(bold, "Measured over everything"))
	rows := []struct {
		what, value string
		good        bool
	}{
		{"order", fmt.Sprintf("%s in %s to the bot", amount(len(d.Bot.Wrong), "violation", "violations"), amount(d.Bot.Deliveries, "delivery", "deliveries")), len(d.Bot.Wrong) == 0},
		{"at once", fmt.Sprintf("at most %d event of a conversation, up to %d conversations", d.Bot.Most, d.Bot.Widest), d.Bot.Most <= 1},
		{"sends", fmt.Sprintf("%s, %d overlapping for one customer", amount(d.Sends.Calls, "call", "calls"), d.Sends.Overlaps), d.Sends.Overlaps == 0},
		{"replies", fmt.Sprintf("%d given by the bot, %d taken by the platforms, %d taken twice", d.Bot.Replies, d.Sends.Accepted, d.Sends.Twice), d.Sends.Twice == 0 && d.Bot.Replies == d.Sends.Accepted},
	}
	for _, row := range rows {
		mark := p.paint(green, "*")
		if !row.good {
			mark = p.paint(red, "!")
		}
		p.line("   %s %-8s %s", mark, row.what, row.value)
	}
	p.line("")
	if d.OK {
		p.line("%s  %.1f s", p.paint(green, "Every promise held."), d.Seconds)
		return
	}
	p.line("%s", p.paint(red, "Not every promise held:"))
	for _, problem := range d.Problems {
		p.line("  %s %s", p.paint(red, "!"), problem)
	}
}
