package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// lineWriter keeps what a command prints and can be read meanwhile.
type lineWriter struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lineWriter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Somebody watches a whole turn, without its text and with it, and is let go at once
// when the gateway ends.
func TestTailOfATurn(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	var plain, loud lineWriter
	codes := make(chan int, 2)
	watch := func(out *lineWriter, args ...string) {
		go func() {
			codes <- run(context.WithoutCancel(t.Context()), stdio{in: strings.NewReader(""), out: out, err: out}, append([]string{"-c", w.cfg, "--json", "tail"}, args...))
		}()
	}
	for _, c := range [][3]string{{"--account", "shop-b", "shop-a"}, {"--app", "ecko", "echo"}} { // nothing would ever come
		if out, code := w.cli("tail", c[0], c[1]); code != exitUsage || !strings.Contains(out, "which has "+c[2]) {
			t.Errorf("%s %s: %d %s", c[0], c[1], code, out)
		}
	}
	watch(&plain, "--account", "shop-a")
	watch(&loud, "--text", "--app", "echo")
	// Nothing says that a watcher has begun to listen: talk until both have heard.
	w.until(time.Minute, "both watchers see a whole turn", func() bool {
		w.says("16660300077", "a word to repeat")
		w.settled(30 * time.Second)
		return heard(t, plain.String()) && heard(t, loud.String())
	})
	if strings.Contains(plain.String(), "a word to repeat") || strings.Contains(plain.String(), "16660300077") {
		t.Error("a text or a number is shown without asking")
	}
	if !strings.Contains(loud.String(), "a word to repeat") {
		t.Error("asked for, the text is not shown")
	}
	w.stop()
	for range 2 {
		select {
		case code := <-codes:
			if code != exitUnreachable {
				t.Errorf("a watcher ended with %d", code)
			}
		case <-time.After(leastLimit):
			t.Fatal("a watcher outlives the gateway")
		}
	}
}

// heard says whether lines hold a turn: relayed, settled by the same event, and its
// reply attempted, of one conversation.
func heard(t *testing.T, text string) bool {
	t.Helper()
	seen := map[gateway.TailWhat]string{}
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break // being written
		}
		var l gateway.TailLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.What == gateway.TailRelayed && l.Kind != gateway.KindMessage {
			continue
		}
		seen[l.What] = l.Conv
	}
	conv := seen[gateway.TailRelayed]
	return conv != "" && seen[gateway.TailSettled] == conv && seen[gateway.TailAttempted] == conv
}

// What becomes of messages beside their attempts is told as well: statuses of the
// platform, the end of a message's time, the dead letter of one that was refused, and
// whose an echo is. None of it has a text.
func TestTailOfMessages(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{account: "takeover: 0s, "})
	w.start("")
	w.up()
	var out lineWriter
	code := make(chan int, 1)
	go func() {
		code <- run(context.WithoutCancel(t.Context()), stdio{in: strings.NewReader(""), out: &out, err: &out}, []string{"-c", w.cfg, "--json", "tail"})
	}()
	saw := func(what string, is func(l *gateway.TailLine) bool) {
		t.Helper()
		w.until(time.Minute, what, func() bool {
			return slices.ContainsFunc(tailLines(t, out.String()), func(l gateway.TailLine) bool { return is(&l) })
		})
	}
	const who = "16660300079"
	w.until(time.Minute, "the watcher listens", func() bool {
		w.says(who, "a word")
		w.settled(30 * time.Second)
		return heard(t, out.String())
	})
	conv := w.customerConv(who).Conv
	saw("a status", func(l *gateway.TailLine) bool {
		return l.What == gateway.TailMessage && l.State == "delivered" && l.By == "status" && l.Conv == conv && l.Message != ""
	})
	w.wa.Echo("wamid.COLLEAGUE-9", who, "by hand")
	saw("a colleague's message", func(l *gateway.TailLine) bool {
		return l.What == gateway.TailJudged && l.State == "human" && l.Conv == conv
	})
	w.fault(sandbox.Fault{Name: "refused", Code: 131026})
	w.says(who, "another word")
	saw("a refused message", func(l *gateway.TailLine) bool {
		return l.What == gateway.TailDead && l.State == "message" && l.Dead != "" && l.Message != "" && l.Conv == conv
	})
	w.wa.Faults().Remove("refused")
	w.does("pause", "account", "shop-a")
	status, sent, body := w.submit(`{"account":"shop-a","conversation":"` + conv + `","content":{"text":"soon over"},"expires_at":"` +
		time.Now().Add(2*time.Second).UTC().Format(time.RFC3339Nano) + `"}`)
	if status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	saw("a message whose time is over", func(l *gateway.TailLine) bool {
		return l.What == gateway.TailMessage && l.Message == sent.ID && l.State == "expired" && l.By == "timeout"
	})
	for _, l := range tailLines(t, out.String()) {
		if l.Text != "" {
			t.Errorf("a text that nobody asked for: %+v", l)
		}
	}
	w.stop()
	<-code
}

// tailLines are the lines that are whole.
func tailLines(t *testing.T, text string) (out []gateway.TailLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "\n") {
			continue
		}
		var l gateway.TailLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, l)
	}
	return out
}
