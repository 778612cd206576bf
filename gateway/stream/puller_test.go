package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// A Puller never holds more than its owner can start.
func TestPullerKeepsToItsRoom(t *testing.T) {
	r := newRig(t)
	const room, total = 3, 12
	for i := range total {
		r.wantOffer(offer("bot", i, 1, 0), gateway.OfferTaken)
	}
	in := make(chan *nats.Msg, total)
	p, err := stream.NewPuller(r.nc, stream.PullOptions{
		Stream: "CW_READY_bot", Consumer: "bot", Room: room, Into: func(_ *stream.Puller, m *nats.Msg) { in <- m },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for got := range total {
		m := <-in
		if s, err := r.s.GateState(r.ctx(), "bot"); err != nil || s.Unacked > room {
			t.Fatalf("after %d: %d handed out, %v; want at most %d", got, s.Unacked, err, room)
		}
		if err := m.AckSync(nats.Context(r.ctx())); err != nil {
			t.Fatal(err)
		}
		p.Release(1)
	}
}

func TestPullerEnds(t *testing.T) {
	r := newRig(t)
	pull := func() *stream.Puller {
		t.Helper()
		p, err := stream.NewPuller(r.nc, stream.PullOptions{
			Stream: "CW_READY_bot", Consumer: "bot", Room: 1, Into: func(*stream.Puller, *nats.Msg) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	wantEnd := func(p *stream.Puller, why string) {
		t.Helper()
		select {
		case <-p.Done():
			if !errors.Is(p.Err(), gateway.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", why, p.Err())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the puller goes on", why)
		}
	}
	p := pull()
	until(t, "the request is open", func() bool {
		s, err := r.s.GateState(r.ctx(), "bot")
		return err == nil && s.Pulls == 1
	})
	if err := jet(t, r).DeleteConsumer(r.ctx(), "CW_READY_bot", "bot"); err != nil {
		t.Fatal(err)
	}
	wantEnd(p, "consumer deleted")
	wantEnd(pull(), "no consumer")
	if err := r.s.Ensure(r.ctx()); err != nil {
		t.Fatal(err)
	}
	p = pull()
	if err := r.srv.Close(); err != nil {
		t.Fatal(err)
	}
	wantEnd(p, "server gone")
	p = pull2(t, r)
	if p != nil {
		t.Error("a puller without a connection")
	}
}

func pull2(t *testing.T, r *rig) *stream.Puller {
	t.Helper()
	until(t, "the connection is seen to be lost", func() bool { return !r.nc.IsConnected() })
	p, err := stream.NewPuller(r.nc, stream.PullOptions{Stream: "S", Consumer: "c", Room: 1, Into: func(*stream.Puller, *nats.Msg) {}})
	if !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	return p
}

// A stream that takes messages and says nothing (as after a full disk) is named.
func TestSilentStreamIsNamed(t *testing.T) {
	r := newRig(t)
	opts := r.opts
	opts.Wait = 100 * time.Millisecond
	s := r.open(opts)
	js := jet(t, r)
	setNoAck := func(on bool) {
		t.Helper()
		str, err := js.Stream(r.ctx(), stream.EventStream)
		if err != nil {
			t.Fatal(err)
		}
		cfg := str.CachedInfo().Config
		cfg.NoAck = on
		if _, err := js.UpdateStream(r.ctx(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	setNoAck(true)
	if errs := s.PublishEvents(r.ctx(), []gateway.EventRow{event(1, 1)}); !errors.Is(errs[0], gateway.ErrUnavailable) {
		t.Fatalf("%v, want ErrUnavailable", errs)
	}
	if h := s.Health(); h.OK() || len(h.Silent) != 1 || h.Silent[0] != stream.EventStream {
		t.Errorf("health %+v", h)
	}
	setNoAck(false)
	until(t, "the stream speaks again", func() bool {
		return s.PublishEvents(r.ctx(), []gateway.EventRow{event(1, 1)})[0] == nil
	})
	if h := s.Health(); !h.OK() {
		t.Errorf("health %+v", h)
	}
}
