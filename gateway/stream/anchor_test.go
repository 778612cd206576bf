package stream_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

const anchorSubject = "cw.ready.bot.anchor"

// anchorSeq is where the anchor lies, and how many messages the gate holds with it.
func anchorSeq(t *testing.T, r *rig) (seq, messages uint64) {
	t.Helper()
	str, err := jet(t, r).Stream(r.ctx(), "CW_READY_bot")
	if err != nil {
		t.Fatal(err)
	}
	m, err := str.GetLastMsgForSubject(r.ctx(), anchorSubject)
	if err != nil {
		t.Fatal(err)
	}
	return m.Sequence, str.CachedInfo().State.Msgs
}

// A gate is never empty, and its anchor, which follows the offers, is nobody's to see.
func TestAnchor(t *testing.T) {
	r := newRig(t)
	c, err := jet(t, r).Consumer(r.ctx(), "CW_READY_bot", "bot")
	if err != nil {
		t.Fatal(err)
	}
	var before uint64
	for turn := range 600 {
		taken := r.wantOffer(offer("bot", turn%2, turn+1, 0), gateway.OfferTaken)
		m, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
		if err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		if meta, err := m.Metadata(); err != nil || meta.Sequence.Stream != taken.Seq || m.Subject() == anchorSubject {
			t.Fatalf("turn %d: was handed %s at %+v, want the offer at %d: %v", turn, m.Subject(), meta, taken.Seq, err)
		}
		if err := m.DoubleAck(r.ctx()); err != nil {
			t.Fatal(err)
		}
		if turn == 300 {
			before, _ = anchorSeq(t, r)
		}
	}
	seq, messages := anchorSeq(t, r)
	if before == 0 || seq < before+200 || messages != 1 {
		t.Errorf("the anchor lies at %d after %d, and %d messages are in the gate, want it alone and further on", seq, before, messages)
	}
	state, err := r.s.GateState(r.ctx(), "bot")
	if err != nil || state.Messages != 0 || state.LastSeq < seq {
		t.Errorf("state %+v, %v: want no offers", state, err)
	}
	last := r.wantOffer(offer("bot", 7, 1, 0), gateway.OfferTaken)
	if state, err = r.s.GateState(r.ctx(), "bot"); err != nil || state.Messages != 1 {
		t.Errorf("state %+v, %v: want one offer", state, err)
	}
	if open, err := r.s.OpenOffers(r.ctx(), "bot"); err != nil || len(open) != 1 || open[0].Seq != last.Seq {
		t.Errorf("open offers %+v, %v: want the one at %d", open, err, last.Seq)
	}
}

// A gate of the release before, whose consumer had no filter, keeps what lies in it and
// what a worker has.
func TestAnchorComesLater(t *testing.T) {
	r := newRig(t)
	js := jet(t, r)
	str, err := js.Stream(r.ctx(), "CW_READY_bot")
	if err != nil {
		t.Fatal(err)
	}
	cfg := str.CachedInfo().Config
	cfg.Subjects = []string{"cw.ready.bot.*.*.*"}
	cfg.Metadata["causeway.settings"] = "1"
	if str, err = js.UpdateStream(r.ctx(), cfg); err != nil {
		t.Fatal(err)
	}
	c, err := str.Consumer(r.ctx(), "bot")
	if err != nil {
		t.Fatal(err)
	}
	old := c.CachedInfo().Config
	old.FilterSubject = ""
	if c, err = str.UpdateConsumer(r.ctx(), old); err != nil {
		t.Fatal(err)
	}
	first := r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	second := r.wantOffer(offer("bot", 2, 1, 0), gateway.OfferTaken)
	has, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	s := r.open(r.opts)
	if c, err = js.Consumer(r.ctx(), "CW_READY_bot", "bot"); err != nil {
		t.Fatal(err)
	}
	if got := c.CachedInfo(); got.Config.FilterSubject != "cw.ready.bot.*.*.*" || got.NumAckPending != 1 || got.NumPending != 1 {
		t.Errorf("consumer %+v, want the filter, one offer out and one waiting", got)
	}
	r.wantOpen(s, first.Seq, second.Seq)
	if err := has.DoubleAck(r.ctx()); err != nil {
		t.Fatal(err)
	}
	r.wantOpen(s, second.Seq)
	m, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if meta, err := m.Metadata(); err != nil || meta.Sequence.Stream != second.Seq {
		t.Errorf("was handed %+v, %v: want the offer at %d", meta, err, second.Seq)
	}
}

func (r *rig) wantOpen(s *stream.Streams, seqs ...uint64) {
	r.t.Helper()
	open, err := s.OpenOffers(r.ctx(), "bot")
	if err != nil || len(open) != len(seqs) {
		r.t.Fatalf("open offers %+v, %v: want those at %v", open, err, seqs)
	}
	for i := range open {
		if open[i].Seq != seqs[i] {
			r.t.Errorf("an open offer at %d, want %d", open[i].Seq, seqs[i])
		}
	}
}
