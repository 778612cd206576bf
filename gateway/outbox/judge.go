package outbox

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// JudgeLedger decides about parked statuses and echoes, and ends takeovers.
type JudgeLedger interface {
	Judge(ctx context.Context, now time.Time, limit int, rule func(platform, account string) gateway.Takeover) (gateway.Judged, error)
}

// JudgeOptions of a Judge; all required but Boundary, Taken and Failed.
type JudgeOptions struct {
	Ledger JudgeLedger
	// Takeover is what an account does when a colleague writes.
	Takeover func(platform, account string) gateway.Takeover
	// Wake is called with conversations whose head may have moved, Changed when a
	// message or the state of a conversation changed.
	Wake    func(convs ...string)
	Changed func()
	// Taken is called with conversations that a colleague took over; may be nil.
	Taken func(convs []string)
	// Failed is called with messages that failed after they were taken; may be nil.
	Failed func(ctx context.Context, list []gateway.FailedLater)
	// Boundary is told each step.
	Boundary func(step string)
	Now      func() time.Time
	Log      *zap.Logger
}

// Judge joins statuses and echoes to the messages they speak of. What a colleague
// wrote takes the conversation over, and the judge lets go of it when that is over.
//
// If the process dies before the commit, the evidence is parked still, and the
// takeover not over. After it, nobody is woken or told: the sender begins with every
// conversation that has something to send, the publisher has its cursors, and of what
// a failed message says about its account the next one tells again.
type Judge struct {
	o    JudgeOptions
	kick chan struct{}
}

// NewJudge makes a judge; it does nothing before Run.
func NewJudge(o JudgeOptions) *Judge {
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	if o.Taken == nil {
		o.Taken = func([]string) {}
	}
	if o.Failed == nil {
		o.Failed = func(context.Context, []gateway.FailedLater) {}
	}
	return &Judge{o: o, kick: make(chan struct{}, 1)}
}

// Kick says that evidence came in, an attempt ended, or a takeover. It never blocks.
func (j *Judge) Kick() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// Run judges until ctx ends.
func (j *Judge) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		now := j.o.Now()
		out, err := j.o.Ledger.Judge(ctx, now, 200, j.o.Takeover)
		if err != nil {
			if ctx.Err() == nil {
				j.o.Log.Error("judge.failed", zap.Error(err))
			}
			pause(ctx, time.Second)
			continue
		}
		if out.Done > 0 {
			j.o.Boundary("judge.judged")
			if len(out.Taken) > 0 {
				j.o.Taken(out.Taken)
			}
			if len(out.Failed) > 0 {
				j.o.Failed(ctx, out.Failed)
			}
			j.o.Wake(out.Woken...)
			j.o.Changed()
			continue
		}
		wait := time.Second
		if !out.Next.IsZero() {
			wait = min(max(out.Next.Sub(now), time.Millisecond), time.Minute)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-j.kick:
			j.o.Boundary("judge.judging")
		case <-t.C:
		}
		t.Stop()
	}
	return ctx.Err()
}
