package outbox

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// JudgeLedger decides about parked statuses and echoes.
type JudgeLedger interface {
	Judge(ctx context.Context, now time.Time, limit int) (done int, woken []string, next time.Time, err error)
}

// Judge joins statuses and echoes to the messages they speak of.
type Judge struct {
	ledger JudgeLedger
	wake   func(convs ...string)
	now    func() time.Time
	log    *zap.Logger
	kick   chan struct{}
	// changed is called when something was judged.
	changed  func()
	boundary func(step string)
}

// NewJudge makes a judge; wake is called with conversations whose head may have
// moved, changed when a message changed; boundary is told each step and may be
// nil.
//
// If the process dies before the commit, the evidence is parked still. After it,
// nobody is woken or told: the sender begins with every conversation that has
// something to send, and the publisher has its cursor.
func NewJudge(ledger JudgeLedger, wake func(...string), changed func(), now func() time.Time, log *zap.Logger, boundary func(string)) *Judge {
	if boundary == nil {
		boundary = func(string) {}
	}
	return &Judge{ledger: ledger, wake: wake, changed: changed, now: now, log: log, boundary: boundary, kick: make(chan struct{}, 1)}
}

// Kick says that evidence came in or an attempt ended. It never blocks.
func (j *Judge) Kick() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// Run judges until ctx ends.
func (j *Judge) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		now := j.now()
		done, woken, next, err := j.ledger.Judge(ctx, now, 200)
		if err != nil {
			if ctx.Err() == nil {
				j.log.Error("judge.failed", zap.Error(err))
			}
			pause(ctx, time.Second)
			continue
		}
		if done > 0 {
			j.boundary("judge.judged")
			j.wake(woken...)
			j.changed()
			continue
		}
		wait := time.Second
		if !next.IsZero() {
			wait = min(max(next.Sub(now), time.Millisecond), time.Minute)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-j.kick:
			j.boundary("judge.judging")
		case <-t.C:
		}
		t.Stop()
	}
	return ctx.Err()
}
