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
	StateLedger
}

// StateLedger is where it reads states and keeps their cursor.
type StateLedger interface {
	UnpublishedStates(ctx context.Context, life time.Time, limit int) ([]gateway.State, error)
	SetStatesPublished(ctx context.Context, life time.Time, rev int64) error
}

// Stream takes the copies. Each call answers per row and returns after every
// acknowledgement; the caller never has two rows of one conversation in a call.
type Stream interface {
	PublishEvents(ctx context.Context, rows []gateway.EventRow) []error
	PublishChanges(ctx context.Context, rows []gateway.Change) []error
	PublishStates(ctx context.Context, rows []gateway.State) []error
	// StateLife tells one life of the bucket of states from the next.
	StateLife(ctx context.Context) (time.Time, error)
}

// Publisher copies events to CW_EVENT and changes of messages to CW_RESULT, in
// order within each conversation, and the newest states to CW_STATE. Nothing else
// waits for it: the gate reads the ledger. If the process dies between an
// acknowledgement and the cursor, the same rows are published once more with the
// same message id.
type Publisher struct {
	ledger   PublishLedger
	stream   Stream
	log      *zap.Logger
	boundary func(string)
	rest     func() time.Duration
	events   chan struct{}
	changes  chan struct{}
	states   chan struct{}
}

// Rows that one round takes, many when nothing else is to do. What comes within
// publishGather of a round shares the next one: a round reads and writes the ledger.
const (
	publishRows   = 500
	fewRows       = 4
	publishGather = 5 * time.Millisecond
)

// NewPublisher makes a publisher. rest says how long to rest after a round, which
// is small then (Relay.Rest); boundary and rest may be nil.
func NewPublisher(ledger PublishLedger, stream Stream, log *zap.Logger, boundary func(string), rest func() time.Duration) *Publisher {
	if rest == nil {
		rest = func() time.Duration { return 0 }
	}
	if boundary == nil {
		boundary = func(string) {}
	}
	return &Publisher{ledger: ledger, stream: stream, log: log, boundary: boundary, rest: rest,
		events: make(chan struct{}, 1), changes: make(chan struct{}, 1), states: make(chan struct{}, 1)}
}

// Kick says that events or changes were written. It never blocks.
func (p *Publisher) Kick() {
	kick(p.events)
	kick(p.changes)
}

// KickStates says the same of states.
func (p *Publisher) KickStates() { kick(p.states) }

func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// RunEvents publishes events until ctx ends.
func (p *Publisher) RunEvents(ctx context.Context) error {
	return p.run(ctx, p.events, func(most int) (int, error) {
		rows, err := p.ledger.Unpublished(ctx, most)
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
	return p.run(ctx, p.changes, func(most int) (int, error) {
		rows, err := p.ledger.UnpublishedChanges(ctx, most)
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		if err := inOrder(ctx, rows, func(c *gateway.Change) string { return c.Conv }, p.stream.PublishChanges); err != nil {
			return 0, err
		}
		return len(rows), p.ledger.SetChangesPublished(ctx, rows[len(rows)-1].N)
	})
}

// RunStates puts changed states into the bucket until ctx ends. The cursor belongs to
// one life of the bucket: one that is made anew is filled again, whoever emptied it
// and whether we ran meanwhile.
func (p *Publisher) RunStates(ctx context.Context) error {
	return p.run(ctx, p.states, func(most int) (int, error) {
		life, err := p.stream.StateLife(ctx)
		if err != nil {
			return 0, err
		}
		rows, err := p.ledger.UnpublishedStates(ctx, life, most)
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		for _, err := range p.stream.PublishStates(ctx, rows) { // a conversation is in it once
			if err != nil {
				return 0, fmt.Errorf("publish: %w", err)
			}
		}
		p.boundary("states.acked")
		if err := p.ledger.SetStatesPublished(ctx, life, rows[len(rows)-1].Rev); err != nil {
			return 0, err
		}
		p.boundary("states.committed")
		return len(rows), nil
	})
}

func (p *Publisher) run(ctx context.Context, kick <-chan struct{}, round func(most int) (int, error)) error {
	pause := retryPause
	for ctx.Err() == nil {
		rest, most := p.rest(), publishRows
		if rest > 0 {
			most = fewRows
		}
		n, err := round(most)
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
			if n < publishRows {
				sleep(ctx, max(rest, publishGather))
			}
		}
	}
	return ctx.Err()
}

// inOrder publishes rows so that at most one row of a conversation is in flight:
// wave after wave, each with the first unpublished row of every conversation.
// It returns after the last acknowledgement or with the first failure; rows of a
// failed conversation are not overtaken by its later ones.
func inOrder[T any](ctx context.Context, rows []T, conv func(*T) string, publish func(context.Context, []T) []error) error {
	var waves [][]T
	before := make(map[string]int, len(rows)) // rows of a conversation so far
	for i := range rows {
		c := conv(&rows[i])
		n := before[c]
		if before[c]++; n == len(waves) {
			waves = append(waves, nil)
		}
		waves[n] = append(waves[n], rows[i])
	}
	for _, wave := range waves {
		for _, err := range publish(ctx, wave) {
			if err != nil {
				return fmt.Errorf("publish: %w", err)
			}
		}
	}
	return nil
}
