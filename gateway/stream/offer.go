package stream

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
)

// Offer puts heads into the application's gate, all of them in flight at once,
// and says for each what the server answered, in order:
//   - taken: stored; Seq is its sequence.
//   - duplicate: this round of the offer was stored within the last 2 minutes;
//     it may be gone again. On a fresh round that is an error of the caller.
//   - closed: the conversation's place holds another offer.
//   - too large: the broker's max_payload is below the event even without its
//     raw part; offering again is of no use.
//   - full: the gate or the broker's storage has no room.
//   - failed: no answer (it may be stored or not), or a name that cannot be in a
//     subject (Err wraps ErrBadToken; offering again is of no use).
func (s *Streams) Offer(ctx context.Context, app string, offers []gateway.Offer) []gateway.Offered {
	acks := s.publishEach(ctx, ReadyName(app), len(offers), func(i int) (*nats.Msg, error) {
		o := &offers[i]
		subject, err := ReadySubject(app, o.Event.Platform, o.Event.Account, o.Event.Conv)
		if err != nil {
			return nil, err
		}
		delivery := o.Pending.Delivery()
		h := eventHeader(&o.Event, OfferID(&o.Pending), delivery, 3)
		h[HeaderTry] = []string{strconv.Itoa(o.Pending.Tries + 1)}
		h[HeaderRound] = []string{strconv.Itoa(o.Pending.Round)}
		p := o.Pending
		p.Row = &o.Event
		if until := p.Deadline(); !until.IsZero() {
			h[HeaderDeadline] = []string{until.UTC().Format(time.RFC3339Nano)}
		}
		return s.fit(&nats.Msg{Subject: subject, Header: h}, o.Before, &o.Event, delivery)
	})
	out, stored := make([]gateway.Offered, len(acks)), 0
	for i, a := range acks {
		out[i] = gateway.Offered{Seq: a.Seq, Err: a.Err}
		switch {
		case a.Err == nil && a.Duplicate:
			out[i].State = gateway.OfferDuplicate
		case a.Err == nil:
			out[i].State = gateway.OfferTaken
			stored++
		case errors.Is(a.Err, gateway.ErrTooLarge):
			out[i].State = gateway.OfferTooLarge
		case isClosedPlace(a.Err):
			out[i].State, out[i].Err = gateway.OfferClosed, nil
		case isFull(a.Err):
			out[i].State = gateway.OfferFull
		default:
			out[i].State = gateway.OfferFailed
		}
	}
	s.anchor(ctx, app, stored)
	return out
}
