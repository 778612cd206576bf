package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsEnv makes the test binary a NATS server of its own: the path of its
// configuration.
const natsEnv = "CAUSEWAY_TEST_NATS"

// runNATS is a NATS server outside the gateway, as an operator would run it. It ends
// by the signals that nats-server knows: SIGUSR2 is the lame duck.
func runNATS(conf string) int {
	o, err := server.ProcessConfigFile(conf)
	if err != nil {
		panic(err)
	}
	o.NoLog = true
	o.LameDuckDuration, o.LameDuckGracePeriod = time.Second, 100*time.Millisecond // a file must say 30 s
	s, err := server.NewServer(o)
	if err != nil {
		panic(err)
	}
	s.Start()
	s.WaitForShutdown()
	return 0
}

// natsUsersConf are the users of the tests' servers.
const natsUsersConf = `authorization {users: [{user: gateway, password: gateway-password}, {user: bot, password: bot-password}]}
`

// startNATS starts it as a process; the returned function kills it.
func startNATS(t *testing.T, dir, address string, maxPayload int) (kill func()) {
	t.Helper()
	conf := fmt.Sprintf("listen: %q\nmax_payload: %d\njetstream {store_dir: %q}\n"+natsUsersConf, address, maxPayload, dir)
	return startNATSConf(t, dir+".conf", conf).kill
}

// natsProcess is a running server.
type natsProcess struct{ cmd *exec.Cmd }

func startNATSConf(t *testing.T, path, conf string) *natsProcess {
	t.Helper()
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &natsProcess{exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childEnv+"=1", natsEnv+"="+path)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *natsProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
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
	t.Parallel()
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
