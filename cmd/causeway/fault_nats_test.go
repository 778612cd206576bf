package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsEnv makes the test binary a NATS server of its own: "folder|address|bytes
// that a message may have".
const natsEnv = "CAUSEWAY_TEST_NATS"

// runNATS is a NATS server outside the gateway, as an operator would run it.
func runNATS(ctx context.Context, spec string) int {
	dir, rest, _ := strings.Cut(spec, "|")
	address, most, _ := strings.Cut(rest, "|")
	maxPayload, err := strconv.ParseInt(most, 10, 32)
	if err != nil {
		panic(err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: n, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true,
		Users:      []*server.User{{Username: "gateway", Password: "gateway-password"}, {Username: "bot", Password: "bot-password"}},
		MaxPayload: int32(maxPayload)})
	if err != nil {
		panic(err)
	}
	s.Start()
	<-ctx.Done()
	s.Shutdown()
	return 0
}

// startNATS starts it as a process; the returned function kills it.
func startNATS(t *testing.T, dir, address string, maxPayload int) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1", fmt.Sprintf("%s=%s|%s|%d", natsEnv, dir, address, maxPayload))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	return kill
}

// outside makes the gateway use a NATS server at the same address that is not
// its own.
func (w *world) outside() {
	w.t.Helper()
	w.edit(fmt.Sprintf("{embedded: {dir: %q, listen: %q, users: [{name: bot, password: bot-password, apps: [echo], observe: true}]}}",
		filepath.Join(w.dir, "nats"), w.nats), fmt.Sprintf("{url: %q, user: gateway, password: gateway-password, replicas: 1}", "nats://"+w.nats))
}

// NATS outside is killed under load and comes back, with its streams or without
// them: callbacks are answered 200 all the time, and everything is handed out
// afterwards, in order, by itself.
func TestBrokerOutsideStoppedUnderLoad(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("streams-lost-%v", lost), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			dir := filepath.Join(w.dir, "outside")
			kill := startNATS(t, dir, w.nats, 4<<20)
			w.outside()
			w.start("")
			w.up()
			l := &load{w: w, convs: 8, each: 30, pause: 30 * time.Millisecond}
			underLoad(t, l, 2*time.Minute, func(ctx context.Context) {
				w.until(30*time.Second, "something was answered", func() bool { return len(w.wa.Calls()) > 5 })
				kill()
				wait(ctx, time.Second)
				if lost {
					if err := os.RemoveAll(dir); err != nil {
						t.Error(err)
					}
				}
				startNATS(t, dir, w.nats, 4<<20)
			})
			w.quiet(2 * time.Minute)
			if l.refused.Load() != 0 {
				t.Errorf("%d callbacks were not answered 200 at once", l.refused.Load())
			}
			l.verify()
		})
	}
}
