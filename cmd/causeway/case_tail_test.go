package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
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
