package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// botProcess is a bot in a process of its own, to be killed and frozen. It writes
// "begin CONV SEQ MICROSECONDS" and "end …" for each call of its handler.
type botProcess struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it ended

	mu     sync.Mutex
	rest   []byte // the beginning of a line
	calls  []handled
	others bytes.Buffer // what is no such line
	died   time.Time    // when it was killed; zero while it lives
	frozen []span
}

// handled is one call of a handler.
type handled struct {
	Conv       string
	Seq        int64
	Begin, End time.Time // End is zero while it runs, or when the process died in it
	Frozen     bool      // the process stood still meanwhile
}

func (h *handled) event() string { return fmt.Sprint(h.Conv, " ", h.Seq) }

type span struct{ from, to time.Time }

// Write takes what the bot says.
func (b *botProcess) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = append(b.rest, p...)
	for {
		line, rest, whole := bytes.Cut(b.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		b.line(string(line))
		b.rest = rest
	}
}

func (b *botProcess) line(line string) {
	var what string
	var h handled
	var micros int64
	if _, err := fmt.Sscan(line, &what, &h.Conv, &h.Seq, &micros); err != nil {
		b.others.WriteString(line + "\n")
		return
	}
	at := time.UnixMicro(micros)
	if what == "begin" {
		h.Begin = at
		b.calls = append(b.calls, h)
		return
	}
	for i := range slices.Backward(b.calls) {
		if c := &b.calls[i]; c.Conv == h.Conv && c.Seq == h.Seq && c.End.IsZero() {
			c.End = at
			return
		}
	}
}

// told are the calls so far; those that a death cut short end with it.
func (b *botProcess) told() []handled {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.calls)
	for i := range out {
		h := &out[i]
		if h.End.IsZero() && !b.died.IsZero() {
			h.End = b.died
		}
		h.Frozen = slices.ContainsFunc(b.frozen, func(s span) bool {
			return h.Begin.Before(s.to) && (h.End.IsZero() || h.End.After(s.from))
		})
	}
	return out
}

func (b *botProcess) count(pick func(*handled) bool) (n int) {
	for _, h := range b.told() {
		if pick(&h) {
			n++
		}
	}
	return n
}

// ready says whether it has found its application; those that are not in Go tell.
func (b *botProcess) ready() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.others.String(), "ready\n")
}

// ended counts the calls that came to their end.
func (b *botProcess) ended() int {
	return b.count(func(h *handled) bool { return !h.End.IsZero() })
}

// began says whether it has begun an event.
func (b *botProcess) began(event string) bool {
	return b.count(func(h *handled) bool { return h.event() == event }) > 0
}

// open lists the events that it has begun and not ended.
func (b *botProcess) open() (events []string) {
	for _, h := range b.told() {
		if h.End.IsZero() {
			events = append(events, h.event())
		}
	}
	return events
}

// cut lists the events that it had begun and not answered for sure when it died: the
// answer to what ended in its last second may not have left.
func (b *botProcess) cut() (events []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.calls {
		if h := &b.calls[i]; h.End.IsZero() || !b.died.IsZero() && h.End.After(b.died.Add(-time.Second)) {
			events = append(events, h.event())
		}
	}
	return events
}

// kill ends it with SIGKILL, leave as an operator would; both wait for its end.
func (b *botProcess) kill()  { b.end(syscall.SIGKILL) }
func (b *botProcess) leave() { b.end(syscall.SIGTERM) }

func (b *botProcess) end(sig syscall.Signal) {
	b.mu.Lock()
	if b.died.IsZero() && sig == syscall.SIGKILL {
		b.died = time.Now()
	}
	b.mu.Unlock()
	_ = b.cmd.Process.Signal(sig)
	<-b.done
}

// freeze stops the process where it stands, thaw lets it go on.
func (b *botProcess) freeze() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frozen = append(b.frozen, span{from: time.Now(), to: time.Now().Add(time.Hour)})
	_ = b.cmd.Process.Signal(syscall.SIGSTOP)
}

func (b *botProcess) thaw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frozen[len(b.frozen)-1].to = time.Now()
	_ = b.cmd.Process.Signal(syscall.SIGCONT)
}

// botProcess starts a bot on the Go SDK, whose handlers take so long.
func (w *world) botProcess(takes time.Duration) *botProcess {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1", fmt.Sprintf("%s=%s|%d", workerEnv, w.nats, takes.Milliseconds()))
	return w.started(cmd)
}

// jsProcess starts the bot in JavaScript.
func (w *world) jsProcess(takes time.Duration) *botProcess {
	w.t.Helper()
	return w.nodeProcess([]string{"worker.js"}, "NATS_URL=nats://"+w.nats, "NATS_USER=bot", "NATS_PASSWORD=bot-password", "APP=echo",
		fmt.Sprintf("TAKES_MS=%d", takes.Milliseconds()))
}

// nodeProcess starts Node.js where the NATS client for it is.
func (w *world) nodeProcess(args []string, env ...string) *botProcess {
	w.t.Helper()
	folder := filepath.Join("..", "..", "testdata", "workers", "js")
	cmd := exec.Command(needNode(w.t, filepath.Join(folder, "node_modules", "@nats-io", "jetstream")), args...) //nolint:gosec // a program of these tests
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	return w.started(cmd)
}

// pyProcess starts the bot in Python.
func (w *world) pyProcess(takes time.Duration) *botProcess {
	w.t.Helper()
	return w.pythonProcess(filepath.Join("..", "..", "testdata", "workers", "python", "worker.py"),
		"NATS_URL=nats://"+w.nats, "NATS_USER=bot", "NATS_PASSWORD=bot-password", "APP=echo", fmt.Sprintf("TAKES_MS=%d", takes.Milliseconds()))
}

// pythonProcess starts a program in Python with NATS's client for it, which no registry
// that CI reaches has: without it the test is skipped, or fails where
// CAUSEWAY_REQUIRE asks for nats-py.
func (w *world) pythonProcess(path string, env ...string) *botProcess {
	w.t.Helper()
	const get = "nats-py is not here: pip install nats-py"
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import nats").Run() //nolint:gosec // what is on the path
	}
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("CAUSEWAY_REQUIRE"), ","), "nats-py") {
			w.t.Fatal(get)
		}
		w.t.Skip(get)
	}
	cmd := exec.Command(python, path) //nolint:gosec // a program of these tests
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	return w.started(cmd)
}

func (w *world) started(cmd *exec.Cmd) *botProcess {
	w.t.Helper()
	b := &botProcess{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = b, b
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(b.done)
	}()
	w.t.Cleanup(func() {
		b.kill()
		b.mu.Lock()
		defer b.mu.Unlock()
		if w.t.Failed() && b.others.Len() > 0 {
			w.t.Logf("a bot said:\n%s", tail(b.others.Bytes(), 2<<10))
		}
	})
	return b
}

// needNode finds Node.js and the library that a test wants. Where one is missing the
// test is skipped, or fails where CAUSEWAY_REQUIRE (a list with commas) asks for node.
func needNode(t *testing.T, library string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(library)
	}
	if err != nil {
		const get = "the NATS client for JavaScript is not here: install Node.js, then npm ci --prefix testdata/workers/js"
		if slices.Contains(strings.Split(os.Getenv("CAUSEWAY_REQUIRE"), ","), "node") {
			t.Fatal(get)
		}
		t.Skip(get)
	}
	return node
}
