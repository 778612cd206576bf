package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/handlers/floor"
)

// What is measured is a process of its own, the same binary with a hidden command.
// Parent and child talk over the child's standard input and output: the child says
// hello when it listens, answers lines such as "state" with one line of JSON each, and
// ends when its input ends, so that it never outlives its parent.

// childHello is the child's first line.
type childHello struct {
	Addr  string `json:"addr"`            // host:port of the webhooks; "" for a worker
	Admin string `json:"admin,omitempty"` // host:port of the admin listener
}

// childState is the answer of a server to "state".
type childState struct {
	Relayed int64 `json:"relayed"` // archive position that the relay has passed
	Pending int64 `json:"pending"` // events that wait for their verdict, of the bench's application
	Settled int64 `json:"settled"`
	// NATS is where workers connect; "" until the streams are there. Workers are the
	// pulls that wait for work.
	NATS    string `json:"nats"`
	Workers int    `json:"workers"`
}

const (
	childReadyWait = 60 * time.Second
	childStopWait  = 60 * time.Second
)

// benchChild is the parent's side.
type benchChild struct {
	addr, admin string
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
}

// startChild starts a server by its hidden command and waits until it takes callbacks.
func (b *bench) startChild(ctx context.Context, args ...string) (*benchChild, error) {
	child, err := b.spawn(ctx, args...)
	if err != nil {
		return nil, err
	}
	return child, child.ready(ctx)
}

// spawn starts a hidden command and waits for its hello.
func (b *bench) spawn(ctx context.Context, args ...string) (*benchChild, error) {
	cmd, err := b.command(ctx, append([]string{"bench"}, args...)...)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = b.c.err
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server that is measured: %w", err)
	}
	child := &benchChild{cmd: cmd, in: in, out: bufio.NewReader(out)}
	var hello childHello
	if err := child.read(&hello); err != nil {
		return nil, errors.Join(fmt.Errorf("the server that is measured did not start: %w", err), child.stop())
	}
	child.addr, child.admin = hello.Addr, hello.Admin
	return child, nil
}

func (c *benchChild) read(v any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// ready waits until the server takes callbacks. The floor has no readyz: its 404
// says as much.
func (c *benchChild) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, childReadyWait)
	defer cancel()
	client := http.Client{Timeout: time.Second}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.addr+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode != http.StatusServiceUnavailable {
				return nil
			}
		}
		if !wait(ctx, 20*time.Millisecond) {
			return errors.Join(errors.New("the server that is measured did not get ready"), c.stop())
		}
	}
}

// ask puts a question and reads the answer into v.
func (c *benchChild) ask(question string, v any) error {
	if _, err := io.WriteString(c.in, question+"\n"); err != nil {
		return err
	}
	return c.read(v)
}

// state asks how far the child is.
func (c *benchChild) state() (s childState, err error) {
	return s, c.ask("state", &s)
}

// until asks for the state until it is as wanted; what names it for the error.
func (c *benchChild) until(ctx context.Context, what string, limit time.Duration, ok func(childState) bool) (s childState, err error) {
	for start := time.Now(); ; {
		s, err = c.state()
		switch {
		case err != nil || ok(s):
			return s, err
		case time.Since(start) > limit:
			return s, fmt.Errorf("%s: not after %s, but %+v", what, limit, s)
		}
		if !wait(ctx, 10*time.Millisecond) {
			return s, ctx.Err()
		}
	}
}

// stop ends the child in order and waits for it.
func (c *benchChild) stop() error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	_ = c.in.Close() // it may be gone already; Wait tells
	late := time.AfterFunc(childStopWait, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	return c.cmd.Wait()
}

// kill ends the child as a power cut would, but for the file system's caches.
func (c *benchChild) kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = c.in.Close()
	_ = c.cmd.Wait() // which says that it was killed
	return nil
}

// relayed waits until the relay has passed pos; it returns how long that took.
func (c *benchChild) relayed(ctx context.Context, pos int64, limit time.Duration) (time.Duration, error) {
	start := time.Now()
	_, err := c.until(ctx, fmt.Sprintf("the relay at %d", pos), limit, func(s childState) bool { return s.Relayed >= pos })
	return time.Since(start), err
}

// selfCommand runs this binary again.
func selfCommand(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...) //nolint:gosec // ourselves
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = childStopWait
	return cmd, nil
}

// childAnswers are what a child can be asked.
type childAnswers map[string]func(context.Context) (any, error)

// answerParent serves the child's side until its input ends, then calls ended.
func (c *cli) answerParent(ctx context.Context, answers childAnswers, ended func()) error {
	defer ended()
	for scan := bufio.NewScanner(c.in); scan.Scan(); {
		answer := answers[strings.TrimSpace(scan.Text())]
		if answer == nil {
			continue
		}
		v, err := answer(ctx)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(c.out).Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// floorChild serves the floor over a new file.
func (c *cli) floorChild(ctx context.Context, path, cpu string) (err error) {
	stop, err := profile(cpu)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	f, err := os.Create(path) //nolint:gosec // named by the parent
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fl := floor.New(benchAppSecret, f)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return fl.Run(gctx) })
	serveUntil(gctx, g, l, fl.Handler())
	if err := json.NewEncoder(c.out).Encode(childHello{Addr: l.Addr().String()}); err != nil {
		return err
	}
	return errors.Join(c.answerParent(ctx, nil, cancel), g.Wait())
}
