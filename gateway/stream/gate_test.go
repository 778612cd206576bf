package stream_test

import (
	"errors"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

func TestOfferStates(t *testing.T) {
	r := newRig(t)
	first := r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	again := r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferDuplicate)
	if again.Seq != first.Seq {
		t.Errorf("duplicate names sequence %d, the offer has %d", again.Seq, first.Seq)
	}
	r.wantOffer(offer("bot", 1, 2, 0), gateway.OfferClosed)
	r.wantOffer(offer("bot", 1, 1, 1), gateway.OfferClosed)
	r.wantOffer(offer("bot", 2, 1, 0), gateway.OfferTaken) // nobody waits for another conversation
	if err := r.s.Withdraw(r.ctx(), "bot", first.Seq); err != nil {
		t.Fatal(err)
	}
	if err := r.s.Withdraw(r.ctx(), "bot", first.Seq); err != nil {
		t.Errorf("withdrawing twice: %v", err)
	}
	r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferDuplicate) // stores nothing
	r.wantOffer(offer("bot", 1, 1, 1), gateway.OfferTaken)
	bad := offer("bot", 3, 1, 0)
	bad.Event.Conv = "a.>"
	if got := r.wantOffer(bad, gateway.OfferFailed); !errors.Is(got.Err, stream.ErrBadToken) {
		t.Errorf("hostile conversation: %v, want ErrBadToken", got.Err)
	}
}
