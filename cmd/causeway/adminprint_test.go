package main

import (
	"strings"
	"testing"
	"unicode"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 0, "plain"},
		{"企业微信", 0, "企业微信"},
		{"a\tb\nc\rd", 0, "a b c d"},
		{"red \x1b[31m bell \a", 0, `red \u001b[31m bell \u0007`},
		{"bad \xff byte", 0, `bad \xff byte`},
		{"right to left \u202e", 0, `right to left \u202e`},
		{"abcdef", 3, "abc…"},
		{"abc", 3, "abc"},
		{"", 3, ""},
	} {
		if got := printable(c.in, c.limit); got != c.want {
			t.Errorf("printable(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\x1b]0;title\a\xff\u2028", 0)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		for _, r := range printable(s, limit%100) {
			if !unicode.IsPrint(r) {
				t.Errorf("printable(%q) lets %q through", s, r)
			}
		}
	})
}

func TestWrapKeepsWithinTheScreen(t *testing.T) {
	var b strings.Builder
	wrap(&b, "error    ", strings.Repeat("seven77 ", 40))
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(lines) < 3 {
		t.Fatalf("not wrapped: %q", b.String())
	}
	for i, line := range lines {
		if len(line) > screenWidth || (i > 0 && !strings.HasPrefix(line, "         s")) {
			t.Errorf("line %d is %q", i, line)
		}
	}
}
