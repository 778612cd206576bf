package store

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// ProgressLedger keeps how far answers are that a platform comes and fetches. Event
// is the id of a live event; gateway.ErrNotFound when it is not in the ledger (yet).
type ProgressLedger interface {
	// Progress reads it; Pending names those of apps that have the event pending.
	// Chat, Pending and Unsent are filled by this method alone.
	Progress(ctx context.Context, event string, apps []string) (*gateway.Progress, error)
	// AddProgress adds a part, durable, and once: a message that was added before
	// adds nothing. gateway.ErrConflict when another message used the handle.
	AddProgress(ctx context.Context, event string, part gateway.ProgressPart, now time.Time) (*gateway.Progress, error)
	// PollProgress notes that the platform asked and is handed all there is: the
	// messages in it are delivered by a status with their receipts, pictures with the
	// end. Not durable,
	// unless it is the end: then the state is taken, for ever, before the platform
	// is told. Once closed it stays so. woken are conversations whose head may have
	// moved.
	PollProgress(ctx context.Context, event string, end bool, now time.Time) (p *gateway.Progress, woken []string, err error)
	// CloseProgress gives the handle to a message, durable: what the platform has
	// not fetched by now leaves by it alone. gateway.ErrConflict when another
	// message has it. Nothing happens when everything was fetched: see
	// gateway.Progress.Fetched.
	CloseProgress(ctx context.Context, event, message string, now time.Time) (*gateway.Progress, error)
	// FailProgress marks messages in it that were not delivered as failed. Durable.
	FailProgress(ctx context.Context, event string, f gateway.ProgressFailure, now time.Time) error
}
