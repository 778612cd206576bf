package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// devLine is one line of the chat; --json prints it as it is, one a line.
type devLine struct {
	What string `json:"what"` // says, reply, tick, note
	Who  string `json:"who,omitempty"`
	Text string `json:"text"`
}

// devEnd is the end of the chat by Ctrl-C: the shell's prompt begins a line.
const devEnd = "end"

// transcript takes the lines of the chat; who writes next is for the prompt.
type transcript func(l devLine, next string)

func (c *cli) transcript(p demoPrinter) transcript {
	if c.asJSON {
		enc := json.NewEncoder(c.out)
		enc.SetEscapeHTML(false)
		return func(l devLine, _ string) {
			if l.What != "" && l.What != devEnd {
				_ = enc.Encode(l) // a reader that left is seen when the chat ends
			}
		}
	}
	return devScreen{p: p, typing: isTerminal(c.out) && isTerminal(c.in)}.line
}

// devScreen writes the chat for people. Where somebody types at a terminal there is
// a prompt, what was typed stands there already, and what comes meanwhile goes above.
type devScreen struct {
	p      demoPrinter
	typing bool
}

func (s devScreen) line(l devLine, next string) {
	text := printable(l.Text, 0)
	switch l.What {
	case devEnd:
		if s.typing {
			s.p.line("")
		}
		return
	case "says":
		text = l.Who + ": " + text
		if s.typing {
			text = ""
		}
	case "reply":
		text = "  " + s.p.paint(bold, "bot") + " to " + l.Who + ": " + s.p.paint(green, text)
	case "tick":
		text = "    " + s.p.paint(faint, text+" · "+l.Who)
	case "note":
		text = "  " + s.p.paint(faint, "* "+text)
	}
	if s.typing {
		_, _ = fmt.Fprint(s.p.w, "\r\x1b[K")
	}
	if text != "" {
		s.p.line("%s", text)
	}
	if s.typing {
		_, _ = fmt.Fprint(s.p.w, s.p.paint(bold, next+"> "))
	}
}

// readLines reads what is typed until in or ctx ends; the goroutine that waits for
// a terminal ends with the process.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		sc := bufio.NewScanner(in)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			select {
			case lines <- strings.TrimSpace(sc.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
