package stream

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The anchor is a message in a gate that nobody is handed. A file store that loses the
// last message of its newest block makes a new file and removes the old one (nats-server
// 2.15, removeMsgBlock), and what is published meanwhile waits. With few conversations
// at work a gate is empty after every acknowledgement, so that was a tenth of all the
// processor time of a turn, and the next offer came upon a place that was not free yet.
//
// The consumer's filter leaves it out, GateState does not count it and OpenOffers does
// not list it. Nothing depends on it: where it is missing, a turn costs more.

// anchorEvery is after how many offers the anchor is laid anew, to be in the newest
// block, which holds thousands.
const anchorEvery = 256

// offersOf are the subjects of an application's offers, which its consumer hands out.
func offersOf(app string) string { return "cw.ready." + app + ".*.*.*" }

// anchorOf is no subject of an offer: those have two parts more.
func anchorOf(app string) string { return "cw.ready." + app + ".anchor" }

// anchor counts offers that were made and lays the anchor when its time has come. It
// is only a matter of speed, so that it failed is nobody's business.
func (s *Streams) anchor(ctx context.Context, app string, offers int) {
	s.mu.Lock()
	s.offers[app] += offers
	due := s.offers[app] >= anchorEvery
	if due {
		s.offers[app] = 0
	}
	s.mu.Unlock()
	if due {
		s.layAnchor(ctx, app)
	}
}

// layAnchor puts the anchor at the end of the gate. The old one goes first: a subject
// holds one message.
func (s *Streams) layAnchor(ctx context.Context, app string) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	lay := func() error {
		return s.pub.Publish(ctx, s.opts.Wait, &nats.Msg{Subject: anchorOf(app)})[0].Err
	}
	if !isClosedPlace(lay()) {
		return
	}
	old, err := s.directGet(ctx, ReadyName(app), directRequest{LastFor: anchorOf(app)})
	if err != nil || len(old) == 0 {
		return
	}
	if seq, err := sequence(old[0]); err == nil && s.deleteMessage(ctx, ReadyName(app), seq) == nil {
		_ = lay()
	}
}

// gateInfo asks about the stream of a gate and says how many anchors it holds.
func (s *Streams) gateInfo(ctx context.Context, app string) (_ *jetstream.StreamInfo, anchors uint64, _ error) {
	body, err := json.Marshal(struct {
		Filter string `json:"subjects_filter"`
	}{anchorOf(app)})
	if err != nil {
		return nil, 0, err
	}
	m, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+ReadyName(app), body)
	if err != nil {
		return nil, 0, err
	}
	var r struct {
		Error *jetstream.APIError `json:"error"`
		*jetstream.StreamInfo
	}
	switch err := json.Unmarshal(m.Data, &r); {
	case err != nil || r.Error == nil && r.StreamInfo == nil:
		return nil, 0, errors.New("stream info: the answer is not readable")
	case r.Error != nil:
		return nil, 0, r.Error
	}
	return r.StreamInfo, min(r.State.Subjects[anchorOf(app)], r.State.Msgs), nil
}
