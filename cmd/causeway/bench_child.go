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

	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/handlers/floor"
)

// A server that is measured is a process of its own, the same binary with a
// hidden command. Parent and child talk over the child's standard input and
// output: the child says hello when it listens, answers the line "state", and
// ends when its input ends, so that it never outlives its parent.

// childHello is the child's first line.
type childHello struct {
	Addr  string `json:"addr"`            // host:port of the webhooks
	Admin string `json:"admin,omitempty"` // and of the admin API
}

// childState is the answer to "state".
type childState struct {
	Relayed int64 `json:"relayed"` // archive position that the relay has passed
}

const (
	childReadyWait = 60 * time.Second
	childStopWait  = 60 * time.Second
)

// benchChild is the parent's side.
type benchChild struct {
	addr  string
	admin string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

// startChild starts a hidden command and waits for its hello.
func (b *bench) startChild(ctx context.Context, args ...string) (*benchChild, error) {
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
	return child, child.ready(ctx)
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

// state asks how far the child is.
func (c *benchChild) state() (s childState, err error) {
	if _, err := io.WriteString(c.in, "state\n"); err != nil {
		return s, err
	}
	return s, c.read(&s)
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
	for {
		s, err := c.state()
		switch {
		case err != nil:
			return 0, err
		case s.Relayed >= pos:
			return time.Since(start), nil
		case time.Since(start) > limit:
			return 0, fmt.Errorf("the relay is at %d of %d after %s", s.Relayed, pos, limit)
		}
		if !wait(ctx, 10*time.Millisecond) {
			return 0, ctx.Err()
		}
	}
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

// answerParent serves the child's side until its input ends, then calls ended.
func (c *cli) answerParent(ctx context.Context, state func(context.Context) (childState, error), ended func()) error {
	defer ended()
	for scan := bufio.NewScanner(c.in); scan.Scan(); {
		if strings.TrimSpace(scan.Text()) != "state" {
			continue
		}
		s, err := state(ctx)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(c.out).Encode(s); err != nil {
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
	srv := &http.Server{Handler: fl.Handler(), ReadHeaderTimeout: 5 * time.Second}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return fl.Run(gctx) })
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-gctx.Done()
		return srv.Close()
	})
	if err := json.NewEncoder(c.out).Encode(childHello{Addr: l.Addr().String()}); err != nil {
		return err
	}
	return errors.Join(c.answerParent(ctx, func(context.Context) (childState, error) { return childState{}, nil }, cancel), g.Wait())
}

// gatewayChild is serve with a hello.
func (c *cli) gatewayChild(ctx context.Context, relayOff bool, cpu string) (err error) {
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	stop, err := profile(cpu)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	a, err := newApp(ctx, appOptions{Config: cfg, Log: newLogger(cfg.Log, zapcore.AddSync(c.err)), RelayOff: relayOff})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.Run(gctx) })
	if err := json.NewEncoder(c.out).Encode(childHello{Addr: a.public.Addr().String(), Admin: a.admin.Addr().String()}); err != nil {
		return err
	}
	state := func(ctx context.Context) (childState, error) {
		at, err := a.ledger.Position(ctx)
		return childState{Relayed: at.Pos}, err
	}
	return errors.Join(c.answerParent(ctx, state, cancel), g.Wait())
}
