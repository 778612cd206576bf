package stream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/stream/embedded"
)

const (
	platform = "whatsapp"
	account  = "shop-a"
)

// rig is a real server with a connection and streams of one application, "bot".
type rig struct {
	t    testing.TB
	srv  *embedded.Server
	nc   *nats.Conn
	s    *stream.Streams
	opts stream.Options
}

func bot() gateway.Application {
	return gateway.Application{Name: "bot", Tries: 3, AckWait: 2 * time.Second, HandlerMax: time.Minute, Replies: true}
}

func startServer(t testing.TB, opts embedded.Options) *embedded.Server {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	opts.MaxStorage = 1 << 30
	opts.Log = quiet(t)
	srv, err := embedded.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// quiet shows the log of a failing test only; nothing is written after the test.
func quiet(t testing.TB) *zap.Logger {
	if _, ok := t.(*testing.B); ok {
		return zap.NewNop()
	}
	return zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))
}

func connect(t testing.TB, srv *embedded.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", srv.ConnectOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func newRig(t testing.TB, apps ...gateway.Application) *rig {
	t.Helper()
	if len(apps) == 0 {
		apps = []gateway.Application{bot()}
	}
	r := &rig{t: t, srv: startServer(t, embedded.Options{})}
	r.nc = connect(t, r.srv)
	r.opts = stream.Options{StoreID: "st_one", Epoch: 1, Apps: apps, StorageLimit: r.srv.MaxStorage(), Log: quiet(t)}
	r.s = r.open(r.opts)
	return r
}

func (r *rig) open(opts stream.Options) *stream.Streams {
	r.t.Helper()
	s, err := stream.Open(r.ctx(), r.nc, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(s.Close)
	return s
}

func (r *rig) ctx() context.Context { return testContext(r.t) }

// testContext ends with the test, and at the latest after a minute.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// offer makes the n-th event of a conversation as an offer.
func offer(app string, conv, n, round int) gateway.Offer {
	id := fmt.Sprintf("ev_%05d-%05d", conv, n)
	return gateway.Offer{
		Pending: gateway.Pending{App: app, Conv: convID(conv), Seq: int64(n), Event: id, Round: round},
		Event:   event(conv, n),
	}
}

func event(conv, n int) gateway.EventRow {
	return gateway.EventRow{
		N: int64(n), ID: fmt.Sprintf("ev_%05d-%05d", conv, n), Platform: platform, Account: account,
		Conv: convID(conv), Chat: gateway.ChatSingle, Seq: int64(n), Kind: gateway.KindMessage,
		Origin: gateway.OriginLive, Payload: "pl_x", ReceivedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Content: []byte(`{"type":"text","text":"hello"}`),
	}
}

func convID(n int) string { return fmt.Sprintf("conv%022d", n) }

// offerOne offers and returns the state.
func (r *rig) offerOne(o gateway.Offer) gateway.Offered {
	r.t.Helper()
	return r.s.Offer(r.ctx(), o.Pending.App, []gateway.Offer{o})[0]
}

func (r *rig) wantOffer(o gateway.Offer, want gateway.OfferState) gateway.Offered {
	r.t.Helper()
	got := r.offerOne(o)
	if got.State != want {
		r.t.Fatalf("offer of %s round %d: got %s (%v), want %s", o.Pending.Event, o.Pending.Round, got.State, got.Err, want)
	}
	return got
}

// until waits for a condition of another process (the server) by asking again.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not in 20 s: %s", what)
		case <-tick.C:
		}
	}
}
