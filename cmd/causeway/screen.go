package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// screenWidth is the width that human output is made for where nothing tells it: into a
// file or a pipe.
const screenWidth = 100

// screen is a writer that knows how many characters a line of it has.
type screen struct {
	io.Writer
	width int
}

// screenOf is w with the width of its terminal, and never wider than what is easily
// read. known says whether it is one.
func screenOf(w io.Writer) (s screen, known bool) {
	if s, ok := w.(screen); ok {
		return s, true
	}
	s = screen{w, screenWidth}
	f, ok := w.(*os.File)
	if !ok {
		return s, false
	}
	width, _, err := term.GetSize(int(f.Fd())) //nolint:gosec // a file descriptor
	if err != nil || width <= 0 {
		return s, false
	}
	s.width = min(max(width, 40), screenWidth)
	return s, true
}

// wrap prints text after a prefix, broken at blanks and indented to it.
func wrap(w io.Writer, prefix, text string) {
	s, _ := screenOf(w)
	_, _ = io.WriteString(w, strings.Join(filled(s.width, prefix, strings.Repeat(" ", len(prefix)), text), "\n")+"\n")
}

// wrapped is text broken at blanks to the usual width.
func wrapped(text string) string { return strings.Join(filled(screenWidth, "", "", text), "\n") }

// filled are lines of at most width characters that hold the words of text, the first
// after prefix and the others after indent. Only a word that is too long is longer.
func filled(width int, prefix, indent, text string) (lines []string) {
	line, used, fresh := prefix, len([]rune(prefix)), true
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		if !fresh && used+1+n > width {
			lines = append(lines, line)
			line, used, fresh = indent, len([]rune(indent)), true
		}
		if !fresh {
			line += " "
			used++
		}
		line += word
		used += n
		fresh = false
	}
	return append(lines, strings.TrimRight(line, " "))
}

// fitHelp makes the help of every command fit the terminal that it is read in. It is
// left as it was written where it goes into a file, and where it is narrow enough.
func fitHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := root.OutOrStdout()
		s, known := screenOf(out)
		if !known {
			help(cmd, args)
			return
		}
		var b strings.Builder
		root.SetOut(&b)
		help(cmd, args)
		root.SetOut(out)
		_, _ = io.WriteString(out, fit(b.String(), s.width))
	})
}

// fit breaks what is wider than width in a page of help: prose is filled anew, what
// stands in columns is broken within its last column, and examples stay as they are,
// since they are to be copied.
func fit(page string, width int) string {
	var out, part []string
	examples := false
	flush := func() {
		out = append(out, fitPart(part, width)...)
		part = nil
	}
	for line := range strings.SplitSeq(page, "\n") {
		heading := slices.Contains([]string{"Usage:", "Examples:", "Available Commands:", "Flags:", "Global Flags:"}, line)
		if heading {
			examples = line == "Examples:"
		}
		switch {
		case examples || heading || line == "" || isCommand(line):
			flush()
			out = append(out, line)
		case len(part) > 0 && !continues(part, line):
			flush()
			part = append(part, line)
		default:
			part = append(part, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// isCommand says whether a line is something to type.
func isCommand(line string) bool {
	text := strings.TrimLeft(line, " ")
	word, _, _ := strings.Cut(text, " ")
	indent := len(line) - len(text)
	return indent > 0 && indent <= 4 && (word == "causeway" || word == "curl" || word == "printf") && !strings.Contains(line, "[flags]")
}

// hang is where the last column of a line begins, behind two blanks or more, and where
// its first word stands; both are the same where there is one column.
func hang(line string) (column, first int) {
	first = len(line) - len(strings.TrimLeft(line, " "))
	column = first
	for i := first; i+2 < len(line); i++ {
		if line[i] == ' ' && line[i+1] == ' ' && line[i+2] != ' ' {
			column = i + 2
		}
	}
	return column, first
}

// continues says whether line goes on with a part: prose with prose, an indented line
// with the column that it stands below.
func continues(part []string, line string) bool {
	column, first := hang(part[0])
	at, indent := hang(line)
	if column == first && first == 0 {
		return indent == 0 && at == 0 // prose
	}
	return column > first && indent == column && at == indent
}

// fitPart fills one paragraph or one row of a table.
func fitPart(part []string, width int) []string {
	wide := false
	for _, line := range part {
		wide = wide || len([]rune(line)) > width
	}
	if !wide {
		return part
	}
	column, first := hang(part[0])
	prefix, indent := part[0][:column], strings.Repeat(" ", column)
	if column == first && first > 0 { // no columns: the form of a command
		prefix, indent = part[0][:first], strings.Repeat(" ", first+2)
	}
	text := part[0][len(prefix):]
	for _, line := range part[1:] {
		text += " " + line
	}
	longest := 0
	for word := range strings.FieldsSeq(text) {
		longest = max(longest, len([]rune(word)))
	}
	if column > first && (column > width/2 || column+longest > width) { // no room beside it: below
		indent = strings.Repeat(" ", first+4)
		return append([]string{strings.TrimRight(prefix, " ")}, filled(width, indent, indent, text)...)
	}
	return filled(width, prefix, indent, text)
}
