package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// everyCommand calls visit with the words of every command that help shows.
func everyCommand(visit func(words []string, cmd *cobra.Command)) {
	var walk func(words []string, cmd *cobra.Command)
	walk = func(words []string, cmd *cobra.Command) {
		visit(words, cmd)
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
				walk(append(slices.Clone(words), sub.Name()), sub)
			}
		}
	}
	walk(nil, (&cli{stdio: stdio{out: io.Discard, err: io.Discard}}).root())
}

// Help fits a terminal of 80 columns, but for what is there to be copied. No word is
// lost on the way, and where nothing tells a width it stays as it was written.
func TestHelpFitsTheScreen(t *testing.T) {
	everyCommand(func(words []string, _ *cobra.Command) {
		help := func(wide int) string {
			var b strings.Builder
			out := io.Writer(&b)
			if wide > 0 {
				out = screen{&b, wide}
			}
			if code := run(t.Context(), stdio{in: strings.NewReader(""), out: out, err: io.Discard}, append(slices.Clone(words), "--help")); code != exitOK {
				t.Fatalf("%q --help: %d", words, code)
			}
			return b.String()
		}
		asWritten, narrow := help(0), help(80)
		if got := help(500); got != asWritten {
			t.Errorf("%q: not as it was written:\n%s", words, cmp.Diff(asWritten, got))
		}
		if d := cmp.Diff(strings.Fields(asWritten), strings.Fields(narrow)); d != "" {
			t.Errorf("%q: words were changed (-written +on 80 columns):\n%s", words, d)
		}
		examples := false
		for line := range strings.SplitSeq(narrow, "\n") {
			if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
				examples = line == "Examples:"
			}
			if len([]rune(line)) > 80 && !examples && !isCommand(line) {
				t.Errorf("%q: %s", words, line)
			}
		}
	})
}

func TestFit(t *testing.T) {
	page := `This line is prose and longer than the screen is, and
ends here: as prose does.

  word       what it means and some more of it
             that went on
  PUT  it    three columns, the last one wide
  causeway simulate whatsapp --text a --long-enough

Usage:
  causeway thing [ID...] --one | --two [flags]

Examples:
  causeway thing --with a --very long command line indeed

Flags:
      --rather-long-flag string   what it is good for`
	want := `This line is prose and longer than the
screen is, and ends here: as prose does.

  word       what it means and some more
             of it that went on
  PUT  it    three columns, the last one
             wide
  causeway simulate whatsapp --text a --long-enough

Usage:
  causeway thing [ID...] --one | --two
    [flags]

Examples:
  causeway thing --with a --very long command line indeed

Flags:
      --rather-long-flag string
          what it is good for`
	if d := cmp.Diff(want, fit(page, 40)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := fit(page, 60); got != page {
		t.Errorf("changed although it fits:\n%s", cmp.Diff(page, got))
	}
}

// Commands that only hold others say so and refuse what is none of them.
func TestEveryHoldingCommandRefuses(t *testing.T) {
	everyCommand(func(words []string, cmd *cobra.Command) {
		if len(words) == 0 || !cmd.HasSubCommands() {
			return
		}
		line := append(slices.Clone(words), "nonsense")
		if got := runCommand(t, line...); got.code != exitUsage || !strings.Contains(got.err, "nonsense") {
			t.Errorf("%q: %d %q", line, got.code, got.err)
		}
	})
}
