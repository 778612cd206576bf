//go:build linux || darwin

package embedded_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/stream/embedded"
)

const frozenEnv = "CAUSEWAY_TEST_FROZEN"

// TestWatchRestartsAFrozenServer makes writes really fail (a limit on the size of
// files, which concerns the whole process, hence a process of its own), and lets
// them succeed again.
func TestWatchRestartsAFrozenServer(t *testing.T) {
	if os.Getenv(frozenEnv) == "" {
		cmd := exec.CommandContext(testContext(t), os.Args[0], "-test.run=^TestWatchRestartsAFrozenServer$", "-test.v") //nolint:gosec // this test itself
		cmd.Env = append(os.Environ(), frozenEnv+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // a write over the limit is an error instead
	srv := start(t, embedded.Options{Reserve: 1})
	nc := inProcess(t, srv)
	s, err := stream.Open(testContext(t), nc, stream.Options{
		StoreID: "st", Apps: []gateway.Application{{Name: "bot"}}, StorageLimit: srv.MaxStorage(), Wait: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if !publish(nc, 0) {
		t.Fatal("nothing is stored at the beginning")
	}

	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	setLimit(t, syscall.Rlimit{Cur: 64 << 10, Max: limit.Max})
	stored := 1
	for stored < 10_000 && publish(nc, stored) {
		stored++
	}
	until(t, "the server says that it is frozen", func() bool { return srv.Frozen() != "" })
	setLimit(t, limit) // "room is back"
	if publish(nc, stored) {
		t.Fatal("the stream was not frozen: this test proves nothing")
	}

	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := srv.Watch(ctx); err != nil {
			t.Error(err)
		}
	})
	until(t, "the server was restarted and stores again", func() bool { return publish(nc, stored) })
	if why := srv.Frozen(); why != "" {
		t.Errorf("frozen after the restart: %s", why)
	}
	last, _, _, err := s.ReplyState(testContext(t))
	if err != nil || last.Seq < uint64(stored) {
		t.Errorf("last sequence %d, %v; %d were acknowledged", last.Seq, err, stored+1)
	}
	cancel()
	watching.Wait()
}

func setLimit(t *testing.T, l syscall.Rlimit) {
	t.Helper()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
}

// publish stores an answer of 1 KiB; false when it was not acknowledged.
func publish(nc *nats.Conn, n int) bool {
	body := fmt.Appendf(nil, "%d %s", n, strings.Repeat("x", 1024))
	m, err := nc.Request("cw.reply.bot.whatsapp.shop-a.c1", body, 300*time.Millisecond)
	return err == nil && strings.Contains(string(m.Data), `"seq"`) && !strings.Contains(string(m.Data), `"error"`)
}
