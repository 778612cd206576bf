package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// PublishLedger is where the Publisher reads and keeps its cursors.
type PublishLedger interface {
	Unpublished(ctx context.Context, limit int) ([]gateway.EventRow, error)
	SetPublished(ctx context.Context, n int64) error
	UnpublishedChanges(ctx context.Context, limit int) ([]gateway.Change, error)
	SetChangesPublished(ctx context.Context, n int64) error
}

// Stream takes the copies. Each call answers per row and returns after every
// acknowledgement; the caller never has two rows of one conversation in a call.
type Stream interface {
	PublishEvents(ctx context.Context, rows []gateway.EventRow) []error
	PublishChanges(ctx context.Context, rows []gateway.Change) []error
}

// Publisher copies events to CW_EVENT and changes of messages to CW_RESULT, in
// order within each conversation. Nothing else waits for it: the gate reads the
// ledger. If the process dies between an acknowledgement and the cursor, the
// same rows are published once more with the same message id.
type Publisher struct {
	ledger   PublishLedger
	stream   Stream
	log      *zap.Logger
	boundary func(string)
	events   chan struct{}
	changes  chan struct{}
}

// publishRows is how many rows one round takes.
const publishRows = 500

// NewPublisher makes a publisher; boundary may be nil.
func NewPublisher(ledger PublishLedger, stream Stream, log *zap.Logger, boundary func(string)) *Publisher {
	if boundary == nil {
		boundary = func(string) {}
	}
	return &Publisher{ledger: ledger, stream: stream, log: log, boundary: boundary,
		events: make(chan struct{}, 1), changes: make(chan struct{}, 1)}
}

// Kick says that events or changes were written. It never blocks.
func (p *Publisher) Kick() {
	for _, c := range []chan struct{}{p.events, p.changes} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// RunEvents publishes events until ctx ends.
func (p *Publisher) RunEvents(ctx context.Context) error {
	return p.run(ctx, p.events, func() (int, error) {
		rows, err := p.ledger.Unpublished(ctx, publishRows)
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		if err := inOrder(ctx, rows, func(e *gateway.EventRow) string { return e.Conv }, p.publishEvents); err != nil {
			return 0, err
		}
		p.boundary("publish.acked")
		return len(rows), p.ledger.SetPublished(ctx, rows[len(rows)-1].N)
	})
}

// publishEvents passes over what the broker takes in no message: one copy less is
// better than none behind it. Its workers' offer is a dead letter.
func (p *Publisher) publishEvents(ctx context.Context, rows []gateway.EventRow) []error {
	errs := p.stream.PublishEvents(ctx, rows)
	for i, err := range errs {
		if errors.Is(err, gateway.ErrTooLarge) {
			p.log.Warn("publish.too_large", zap.String("event", rows[i].ID), zap.String("conv", rows[i].Conv), zap.Error(err))
			errs[i] = nil
		}
	}
	return errs
}

// RunChanges publishes changes of messages until ctx ends.
func (p *Publisher) RunChanges(ctx context.Context) error {
	return p.run(ctx, p.changes, func() (int, error) {
		rows, err := p.ledger.UnpublishedChanges(ctx, publishRows)
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		if err := inOrder(ctx, rows, func(c *gateway.Change) string { return c.Conv }, p.stream.PublishChanges); err != nil {
			return 0, err
		}
		return len(rows), p.ledger.SetChangesPublished(ctx, rows[len(rows)-1].N)
	})
}

func (p *Publisher) run(ctx context.Context, kick <-chan struct{}, round func() (int, error)) error {
	pause := retryPause
	for ctx.Err() == nil {
		n, err := round()
		switch {
		case err != nil && ctx.Err() == nil:
			p.log.Warn("publish.failed", zap.Error(err), zap.Duration("again_in", pause))
			sleep(ctx, pause)
			pause = min(2*pause, 5*time.Second)
		case n == 0:
			t := time.NewTimer(idlePoll)
			select {
			case <-ctx.Done():
			case <-kick:
			case <-t.C:
			}
			t.Stop()
		default:
			pause = retryPause
		}
	}
	return ctx.Err()
}

// inOrder publishes rows so that at most one row of a conversation is in flight:
// wave after wave, each with the first unpublished row of every conversation.
// It returns after the last acknowledgement or with the first failure; rows of a
// failed conversation are not overtaken by its later ones.
func inOrder[T any](ctx context.Context, rows []T, conv func(*T) string, publish func(context.Context, []T) []error) error {
	left := rows
	for len(left) > 0 {
		var wave, rest []T
		seen := make(map[string]struct{}, len(left))
		for i := range left {
			c := conv(&left[i])
			if _, dup := seen[c]; dup {
				rest = append(rest, left[i])
				continue
			}
			seen[c] = struct{}{}
			wave = append(wave, left[i])
		}
		for _, err := range publish(ctx, wave) {
			if err != nil {
				return fmt.Errorf("publish: %w", err)
			}
		}
		left = rest
	}
	return nil
}
