package stream_test

import (
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// What is used grows with what is published; consumers do not grow with conversations.
func TestUsage(t *testing.T) {
	r := newRig(t)
	usage := func() (int, int, int64) {
		u, err := r.s.Usage(r.ctx())
		if err != nil {
			t.Fatal(err)
		}
		return u.Streams, u.Consumers, u.Stored
	}
	streams, consumers, stored := usage()
	if streams < 5 || consumers < 2 {
		t.Errorf("%d streams and %d consumers, want those of the gateway", streams, consumers)
	}
	for conv := range 50 {
		r.wantOffer(offer("bot", conv, 1, 0), gateway.OfferTaken)
	}
	s, c, after := usage()
	if s != streams || c != consumers || after <= stored {
		t.Errorf("with 50 conversations %d streams, %d consumers, %d bytes; before %d, %d, %d", s, c, after, streams, consumers, stored)
	}
}
