package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// cluster is three NATS servers, each a process of its own.
type cluster struct {
	t         *testing.T
	dir       string
	clients   []string // addresses
	routes    []string
	processes []*natsProcess
}

func newCluster(t *testing.T, dir string) *cluster {
	c := &cluster{t: t, dir: dir}
	for range 3 {
		c.clients = append(c.clients, freePort(t))
		c.routes = append(c.routes, freePort(t))
		c.processes = append(c.processes, nil)
	}
	for i := range 3 {
		c.start(i)
	}
	return c
}

func (c *cluster) start(i int) {
	name := fmt.Sprintf("n%d", i)
	c.processes[i] = startNATSConf(c.t, filepath.Join(c.dir, name+".conf"), fmt.Sprintf(`server_name: %s
listen: %q
max_payload: 4MB
jetstream {store_dir: %q}
cluster {name: test, listen: %q, routes: ["nats://%s"]}
%s`, name, c.clients[i], filepath.Join(c.dir, name), c.routes[i], strings.Join(c.routes, `", "nats://`), natsUsersConf))
}

func (c *cluster) url() string { return "nats://" + strings.Join(c.clients, ",nats://") }

// serves makes the cluster the broker of w, and connects to it.
func (c *cluster) serves(w *world) (*nats.Conn, jetstream.JetStream) {
	c.t.Helper()
	w.edit(fmt.Sprintf("{embedded: {dir: %q, listen: %q, users: [{name: bot, password: bot-password, apps: [echo], observe: true}]}}",
		filepath.Join(w.dir, "nats"), w.nats), fmt.Sprintf("{url: %q, user: gateway, password: gateway-password}", c.url()))
	w.nats = strings.TrimPrefix(c.url(), "nats://")
	nc, err := nats.Connect(c.url(), nats.UserInfo("gateway", "gateway-password"), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		c.t.Fatal(err)
	}
	return nc, js
}

// leader waits until a stream has one and all of its copies are there, and says which.
func (c *cluster) leader(js jetstream.JetStream, stream string) (at int) {
	c.t.Helper()
	var last string
	deadline := time.Now().Add(2 * time.Minute)
	for {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		s, err := js.Stream(ctx, stream)
		cancel()
		if err == nil {
			info := s.CachedInfo()
			whole := info.Cluster != nil && info.Cluster.Leader != "" && len(info.Cluster.Replicas) == 2
			for _, r := range info.Cluster.Replicas {
				whole = whole && r.Current && !r.Offline
			}
			if whole {
				if _, err := fmt.Sscanf(info.Cluster.Leader, "n%d", &at); err == nil {
					return at
				}
			}
			last = fmt.Sprintf("%+v", info.Cluster)
		} else {
			last = err.Error()
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("stream %s is not whole: %s", stream, last)
		}
		wait(c.t.Context(), 50*time.Millisecond)
	}
}

const readyOfEcho = "CW_READY_echo"

// doctor is the report as JSON.
func (w *world) doctor() string {
	_, report := w.raw(http.MethodGet, "/api/v1/doctor", testToken, nil)
	return report
}

// A cluster of three under load: the gate's leader steps down, its server dies and
// comes back, another one is taken out as a lame duck and comes back. Callbacks are
// answered 200 all the time; events are handed out one at a time and in order, and
// answered once.
func TestClusterOfThree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 5s}\n"})
	c := newCluster(t, w.dir)
	nc, js := c.serves(w)
	var mu sync.Mutex
	last, inFlight, wrong := map[string]int64{}, map[string]int{}, []string(nil)
	w.start("")
	w.up()
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		// The same one again is a delivery whose answer or ack was lost.
		if was := last[ev.Conv]; ev.Seq != was && ev.Seq != was+1 || inFlight[ev.Conv] > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d after %d, %d in flight", ev.Conv, ev.Seq, was, inFlight[ev.Conv]))
		}
		last[ev.Conv] = ev.Seq
		inFlight[ev.Conv]++
		mu.Unlock()
		defer func() { mu.Lock(); defer mu.Unlock(); inFlight[ev.Conv]-- }()
		return worker.Text("echo: " + ev.Text), nil
	}, 8)
	w.until(2*time.Minute, "the cluster has the gate", func() bool {
		_, err := js.Stream(t.Context(), readyOfEcho)
		return err == nil
	})
	l := &load{w: w, convs: 12, each: 40, pause: 150 * time.Millisecond}
	underLoad(t, l, 5*time.Minute, func(context.Context) {
		at := c.leader(js, readyOfEcho)
		if _, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+readyOfEcho, nil, 10*time.Second); err != nil {
			t.Errorf("the leader does not step down: %v", err)
		}
		next := c.leader(js, readyOfEcho)
		t.Logf("leader n%d, then n%d", at, next)
		c.processes[next].kill()
		w.until(time.Minute, "doctor misses a copy", func() bool { return strings.Contains(w.doctor(), "2 of 3 copies of the stream are current") })
		c.start(next)
		duck := c.leader(js, readyOfEcho)
		if err := c.processes[duck].cmd.Process.Signal(syscall.SIGUSR2); err != nil {
			t.Error(err)
		}
		_ = c.processes[duck].cmd.Wait()
		c.start(duck)
		t.Logf("killed n%d, lame duck n%d, then n%d", next, duck, c.leader(js, readyOfEcho))
	})
	w.quiet(3 * time.Minute)
	if l.refused.Load() != 0 {
		t.Errorf("%d callbacks were not answered 200 at once", l.refused.Load())
	}
	mu.Lock()
	defer mu.Unlock()
	if len(wrong) > 0 {
		t.Errorf("order: %v", wrong)
	}
	l.verify()
}
