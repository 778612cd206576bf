package stream_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

func TestOtherLifeAndAdopt(t *testing.T) {
	r := newRig(t)
	r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	js := jet(t, r)
	if _, err := js.CreateStream(r.ctx(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other.>"}}); err != nil {
		t.Fatal(err)
	}
	for _, life := range []struct {
		id    string
		epoch int64
	}{{"st_two", 1}, {"st_one", 2}} {
		opts := r.opts
		opts.StoreID, opts.Epoch = life.id, life.epoch
		s, err := stream.Open(r.ctx(), r.nc, opts)
		var other *stream.OtherLifeError
		if !errors.As(err, &other) || !errors.Is(err, stream.ErrOtherLife) || s != nil {
			t.Fatalf("store %s epoch %d: %v, want OtherLifeError", life.id, life.epoch, err)
		}
		if other.Have != "st_one" || other.HaveEpoch != 1 || other.Want != life.id || other.WantEpoch != life.epoch ||
			!strings.Contains(err.Error(), "st_one epoch 1") {
			t.Errorf("error %v", err)
		}
	}
	state, err := r.s.GateState(r.ctx(), "bot")
	if err != nil || state.Messages != 1 {
		t.Fatalf("looking changed something: %+v, %v", state, err)
	}

	opts := r.opts
	opts.StoreID = "st_two"
	opts.Apps = []gateway.Application{{Name: "faq"}}
	if err := stream.Adopt(r.ctx(), r.nc, opts); err != nil {
		t.Fatal(err)
	}
	s := r.open(opts)
	if _, err := s.GateState(r.ctx(), "faq"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{"CW_READY_bot": false, "CW_READY_faq": true, "CW_EVENT": true, "OTHER": true} {
		if _, err := js.Stream(r.ctx(), name); (err == nil) != want {
			t.Errorf("stream %s after adopt: %v", name, err)
		}
	}
	// The first gateway, still running, sees that it lost its streams.
	if _, err := r.s.GateState(r.ctx(), "bot"); err == nil {
		t.Error("the old owner's gate is still there")
	}
	if _, _, _, err := r.s.ReplyState(r.ctx()); !errors.Is(err, stream.ErrOtherLife) {
		t.Errorf("the old owner's answers: %v, want ErrOtherLife", err)
	}
	if h := r.s.Health(); h.OtherLife == nil || h.OK() {
		t.Errorf("the old owner's health %+v", h)
	}
}

// A stream that somebody else made with our name is not taken either.
func TestStreamWithoutMetadataIsOtherLife(t *testing.T) {
	r := newRig(t)
	js := jet(t, r)
	if err := js.DeleteStream(r.ctx(), "CW_EVENT"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(r.ctx(), jetstream.StreamConfig{Name: "CW_EVENT", Subjects: []string{"cw.event.>"}}); err != nil {
		t.Fatal(err)
	}
	if err := r.s.Ensure(r.ctx()); !errors.Is(err, stream.ErrOtherLife) {
		t.Errorf("%v, want ErrOtherLife", err)
	}
}

// A gate that is deleted while offers go in: calls say so, then it is there
// again, in a new life, and everything can be offered again under the same ids.
func TestWipeUnderLoad(t *testing.T) {
	r := newRig(t)
	before, err := r.s.GateState(r.ctx(), "bot")
	if err != nil {
		t.Fatal(err)
	}
	js := jet(t, r)
	const convs = 400
	offers := make([]gateway.Offer, convs)
	for i := range offers {
		offers[i] = offer("bot", i, 1, 0)
	}
	var wiping sync.WaitGroup
	started := make(chan struct{})
	wiping.Go(func() {
		<-started
		if err := js.DeleteStream(r.ctx(), "CW_READY_bot"); err != nil {
			t.Error(err)
		}
	})
	for i, o := range offers[:convs/2] {
		if i == convs/4 {
			close(started)
		}
		got := r.offerOne(o)
		if got.State == gateway.OfferFailed && !errors.Is(got.Err, gateway.ErrUnavailable) {
			t.Errorf("offer: %v, want ErrUnavailable", got.Err)
		}
	}
	wiping.Wait()
	until(t, "the gate is made again", func() bool {
		s, err := r.s.GateState(r.ctx(), "bot")
		return err == nil && !s.Created.Equal(before.Created)
	})
	taken := 0
	for _, got := range r.s.Offer(r.ctx(), "bot", offers) {
		if got.State == gateway.OfferTaken || got.State == gateway.OfferDuplicate {
			taken++
		} else {
			t.Errorf("offer after the wipe: %s, %v", got.State, got.Err)
		}
	}
	state, err := r.s.GateState(r.ctx(), "bot")
	if err != nil || int(state.Messages) != convs || taken != convs {
		t.Errorf("%d offers in the gate, %d taken, %v; want %d", state.Messages, taken, err, convs)
	}
}

// Everything is deleted: the next calls make it again.
func TestEverythingWiped(t *testing.T) {
	r := newRig(t)
	js := jet(t, r)
	for name := range js.StreamNames(r.ctx()).Name() {
		if err := js.DeleteStream(r.ctx(), name); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "events, results, offers and answers go again", func() bool {
		ev := r.s.PublishEvents(r.ctx(), []gateway.EventRow{event(1, 1)})
		ch := r.s.PublishChanges(r.ctx(), []gateway.Change{change(1)})
		of := r.offerOne(offer("bot", 1, 1, 0))
		_, _, _, err := r.s.ReplyState(r.ctx())
		return ev[0] == nil && ch[0] == nil && err == nil && (of.State == gateway.OfferTaken || of.State == gateway.OfferDuplicate)
	})
}

func change(n int64) gateway.Change {
	return gateway.Change{N: n, Message: "ms_x", Platform: platform, Account: account, Conv: convID(1), State: gateway.MessageAccepted, By: "answer"}
}
