package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The example in Python verifies, answers at once and later. Where python3 is
// missing the test is skipped, or fails where CAUSEWAY_REQUIRE asks for python.
func TestBridgePython(t *testing.T) {
	begin(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		const get = "python3 is not here, which runs the example of a bot behind a URL"
		if slices.Contains(strings.Split(os.Getenv("CAUSEWAY_REQUIRE"), ","), "python") {
			t.Fatal(get)
		}
		t.Skip(get)
	}
	t.Run("one by one", func(t *testing.T) {
		bridgedToPython(t, python, "concurrency: 4", "[You wrote: one You wrote: later You wrote: two]", "one", "later", "two")
	})
	t.Run("two together", func(t *testing.T) {
		bridgedToPython(t, python, "concurrency: 4, collect: {wait: 5m, longest: 1h, max: 2}", "[You wrote: one\nlater You wrote: two\nthree]",
			"one", "later", "two", "three")
	})
}

func bridgedToPython(t *testing.T, python, more, want string, says ...string) {
	t.Parallel()
	b := newHookBot(t) // its address and its application
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, python, filepath.Join("..", "..", "testdata", "workers", "python-http", "bot.py"), b.address) //nolint:gosec // the example in this repository
	cmd.Env = append(os.Environ(), "BOT_SECRET="+hookSecret, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	w := newCase(t, worldOptions{apps: b.app(more)})
	w.until(time.Minute, "the bot listens", func() bool {
		conn, err := net.Dial("tcp", b.address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	for _, text := range says {
		w.says("15550001", text)
		w.says("15550002", text)
	}
	w.settled(2 * time.Minute)
	for _, customer := range []string{"15550001", "15550002"} {
		if got := fmt.Sprint(texts(accepted(w.calls(customer)))); got != want {
			t.Errorf("%s was sent %s", customer, got)
		}
	}
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("dead letters %+v", dead)
	}
	w.sums()
}
