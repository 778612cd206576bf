package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// table prints rows below a heading in columns; no rows print the sentence
// empty. Cells are made printable by the caller with printable or are ours.
func table(w io.Writer, empty string, heading []string, rows [][]string) {
	if len(rows) == 0 {
		_, _ = fmt.Fprintln(w, empty)
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, strings.Join(heading, "\t"))
	for _, row := range rows {
		_, _ = fmt.Fprintln(tw, strings.TrimRight(strings.Join(row, "\t"), "\t "))
	}
	_ = tw.Flush()
}

// fields prints "name  value" lines and leaves out those without a value.
func fields(w io.Writer, pairs ...string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			_, _ = fmt.Fprintf(tw, "%s\t%s\n", pairs[i], pairs[i+1])
		}
	}
	_ = tw.Flush()
}

// printable makes text that came from outside safe for a terminal and a table
// cell: what is not printable is shown as its code, and after limit characters it
// is cut. limit 0 does not cut.
func printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if limit > 0 && n == limit {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && size == 1:
			_, _ = fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			_, _ = fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
		n++
	}
	return b.String()
}

// instant prints a time in UTC to the second; "" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// minuteOf prints a time in UTC to the minute, for narrow columns; "" for none.
func minuteOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04Z")
}

func instantOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return instant(*t)
}

// orDash stands in for an empty cell, so that columns can be told apart.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// amount prints a number with its noun in the right form.
func amount[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// short prints a number in at most five characters.
func short(n int64) string {
	switch {
	case n < 100_000:
		return count(n)
	case n < 10_000_000:
		return count(n/1000) + "k"
	}
	return count(n/1_000_000) + "M"
}

// age is how long ago at was, in its largest unit; "-" for none.
func age(now time.Time, at *time.Time) string {
	if at == nil {
		return "-"
	}
	d := max(now.Sub(*at), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
