package main

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// The stages hold the broker, not the streams: it stands in while NATS is not
// open yet and answers "unavailable", so that a stage can be made before it.

// PublishEvents is for relay.Stream.
func (b *broker) PublishEvents(ctx context.Context, rows []gateway.EventRow) []error {
	s, err := b.writable()
	if err != nil {
		return repeat(err, len(rows))
	}
	return s.PublishEvents(ctx, rows)
}

// PublishChanges is for relay.Stream.
func (b *broker) PublishChanges(ctx context.Context, rows []gateway.Change) []error {
	s, err := b.writable()
	if err != nil {
		return repeat(err, len(rows))
	}
	return s.PublishChanges(ctx, rows)
}

// PublishStates is for relay.Stream.
func (b *broker) PublishStates(ctx context.Context, rows []gateway.State) []error {
	s, err := b.writable()
	if err != nil {
		return repeat(err, len(rows))
	}
	return s.PublishStates(ctx, rows)
}

// StateLife is for relay.Stream.
func (b *broker) StateLife(ctx context.Context) (time.Time, error) {
	s, err := b.writable()
	if err != nil {
		return time.Time{}, err
	}
	return s.StateLife(ctx)
}

// Offer is for gate.Stream.
func (b *broker) Offer(ctx context.Context, app string, offers []gateway.Offer) []gateway.Offered {
	s, err := b.writable()
	if err != nil {
		out := make([]gateway.Offered, len(offers))
		for i := range out {
			out[i] = gateway.Offered{State: gateway.OfferFailed, Err: err}
		}
		return out
	}
	return s.Offer(ctx, app, offers)
}

// GateState is for gate.Stream.
func (b *broker) GateState(ctx context.Context, app string) (gateway.GateState, error) {
	s, err := b.stream()
	if err != nil {
		return gateway.GateState{}, err
	}
	return s.GateState(ctx, app)
}

// OpenOffers is for gate.Stream.
func (b *broker) OpenOffers(ctx context.Context, app string) ([]gateway.OpenOffer, error) {
	s, err := b.stream()
	if err != nil {
		return nil, err
	}
	return s.OpenOffers(ctx, app)
}

// Withdraw is for gate.Stream.
func (b *broker) Withdraw(ctx context.Context, app string, seq uint64) error {
	s, err := b.stream()
	if err != nil {
		return err
	}
	return s.Withdraw(ctx, app, seq)
}

// Hold is for gate.Stream.
func (b *broker) Hold(ctx context.Context, app string, paused bool) error {
	s, err := b.stream()
	if err != nil {
		return err
	}
	return s.Hold(ctx, app, paused)
}

// Revive is for gate.Stream.
func (b *broker) Revive(ctx context.Context, app string) error {
	s, err := b.stream()
	if err != nil {
		return err
	}
	return s.Revive(ctx, app)
}

// TakeAnswers is for outbox.Replies.
func (b *broker) TakeAnswers(ctx context.Context, from gateway.ReplyPosition,
	fn func(ctx context.Context, at gateway.ReplyPosition, answers []gateway.TakenAnswer) error) error {
	s, err := b.stream()
	if err != nil {
		return err
	}
	return s.TakeAnswers(ctx, from, fn)
}

// ReplyState is for outbox.Replies.
func (b *broker) ReplyState(ctx context.Context) (gateway.ReplyPosition, uint64, uint64, error) {
	s, err := b.stream()
	if err != nil {
		return gateway.ReplyPosition{}, 0, 0, err
	}
	return s.ReplyState(ctx)
}

// PurgeReplies is for outbox.Replies.
func (b *broker) PurgeReplies(ctx context.Context, upTo uint64) error {
	s, err := b.stream()
	if err != nil {
		return err
	}
	return s.PurgeReplies(ctx, upTo)
}

// writable returns the streams while there is room to publish.
func (b *broker) writable() (*stream.Streams, error) {
	if err := b.a.room.err(); err != nil {
		return nil, err
	}
	return b.stream()
}

func repeat(err error, n int) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}
	return out
}
