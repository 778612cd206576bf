package outbox

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// IntakeLedger is what the intake writes.
type IntakeLedger interface {
	Taken(ctx context.Context) (gateway.ReplyPosition, error)
	Settle(ctx context.Context, at gateway.ReplyPosition, answers []gateway.Settlement,
		decide func(*gateway.Pending, *gateway.Answer) gateway.Decision, now time.Time) ([]gateway.Settled, error)
	CountBadAnswers(ctx context.Context, n int) error
	// Sync returns when all that was settled is on disk.
	Sync(ctx context.Context) error
}

// Replies is the broker's side of the intake.
type Replies interface {
	TakeAnswers(ctx context.Context, from gateway.ReplyPosition,
		fn func(ctx context.Context, at gateway.ReplyPosition, answers []gateway.TakenAnswer) error) error
	ReplyState(ctx context.Context) (last gateway.ReplyPosition, bytes, maxBytes uint64, err error)
	PurgeReplies(ctx context.Context, upTo uint64) error
}

// IntakeOptions of an Intake; all required but Boundary and Tripped.
type IntakeOptions struct {
	Ledger  IntakeLedger
	Replies Replies
	Apps    []gateway.Application
	// Settled is called after each commit, in order; it must be quick.
	Settled func([]gateway.Settled)
	// Tripped says that an application does not work as a whole: what fails is
	// waiting. It must be quick. Nil for never.
	Tripped  func(app string) bool
	Boundary func(step string)
	Now      func() time.Time
	Log      *zap.Logger
}

// Intake takes answers from CW_REPLY.
type Intake struct {
	o    IntakeOptions
	apps map[string]*gateway.Application

	mu    sync.Mutex
	taken gateway.ReplyPosition
	moved chan struct{} // closed and made anew when taken moves
}

// NewIntake makes an intake; it does nothing before Run.
func NewIntake(o IntakeOptions) *Intake {
	in := &Intake{o: o, apps: map[string]*gateway.Application{}, moved: make(chan struct{})}
	for i := range o.Apps {
		in.apps[o.Apps[i].Name] = &o.Apps[i]
	}
	if in.o.Tripped == nil {
		in.o.Tripped = func(string) bool { return false }
	}
	if in.o.Boundary == nil {
		in.o.Boundary = func(string) {}
	}
	return in
}

// purgeEvery is how often the intake looks whether CW_REPLY is filling up.
const purgeEvery = 10 * time.Second

// Run takes answers until ctx ends.
func (in *Intake) Run(ctx context.Context) error {
	var from gateway.ReplyPosition
	for {
		var err error
		if from, err = in.o.Ledger.Taken(ctx); err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		in.o.Log.Error("intake.failed", zap.Error(err))
		pause(ctx, time.Second)
	}
	in.advance(from)
	done := make(chan struct{})
	go func() { // ends with ctx, before Run returns
		defer close(done)
		in.purgeLoop(ctx)
	}()
	err := in.o.Replies.TakeAnswers(ctx, from, in.take)
	<-done
	return err
}

// take settles one batch. An error makes the stream hand the same batch in
// again; the position in the ledger makes that harmless.
func (in *Intake) take(ctx context.Context, at gateway.ReplyPosition, answers []gateway.TakenAnswer) error {
	list := make([]gateway.Settlement, 0, len(answers))
	bad := 0
	for i := range answers {
		a, err := gateway.ParseAnswer(answers[i].Data)
		if err != nil {
			bad++
			in.o.Log.Warn("answer.bad", zap.String("app", answers[i].App), zap.String("conv", answers[i].Conv), zap.Error(err))
			continue
		}
		list = append(list, gateway.Settlement{App: answers[i].App, Conv: answers[i].Conv, Answer: a})
	}
	in.o.Boundary("intake.taken")
	settled, err := in.o.Ledger.Settle(ctx, at, list, in.decide, in.o.Now())
	if err != nil {
		return err
	}
	in.o.Boundary("intake.committed")
	if bad > 0 {
		if err := in.o.Ledger.CountBadAnswers(ctx, bad); err != nil {
			in.o.Log.Warn("intake.count_failed", zap.Error(err))
		}
	}
	for i := range settled {
		settled[i].Build = list[i].Answer.Build
	}
	in.log(settled)
	in.o.Settled(settled)
	in.advance(at)
	return nil
}

func (in *Intake) decide(p *gateway.Pending, a *gateway.Answer) gateway.Decision {
	app := in.apps[p.App]
	if app == nil { // removed from the configuration while its worker lived on
		app = &gateway.Application{Name: p.App, Tries: 1}
	}
	now := in.o.Now()
	d := gateway.DecideBefore(p.Deadline(), app, p, a, now)
	if d.Failed && in.o.Tripped(p.App) {
		d = d.Spared(app, p, now)
	}
	return d
}

func (in *Intake) log(settled []gateway.Settled) {
	for i := range settled {
		s := &settled[i]
		switch {
		case s.Dead != "":
			for _, d := range append([]gateway.SettledAlso{{Was: s.Was, Dead: s.Dead}}, s.Also...) {
				in.o.Log.Warn("dead.buried", zap.String("dead", d.Dead), zap.String("app", s.App), zap.String("conv", s.Conv),
					zap.String("event", d.Was.Event), zap.String("reason", s.Decision.Reason), zap.Int("tries", s.Decision.Tries))
			}
		case s.Decision.Reason == gateway.ReasonNotBuried:
			in.o.Log.Error("dead.failed", zap.String("app", s.App), zap.String("conv", s.Conv), zap.String("event", s.Was.Event))
		case in.o.Log.Core().Enabled(zap.DebugLevel):
			in.o.Log.Debug("event.settled", zap.String("app", s.App), zap.String("conv", s.Conv), zap.String("event", s.Was.Event),
				zap.Bool("late", s.Late), zap.String("state", string(s.Decision.State)), zap.String("reason", s.Decision.Reason),
				zap.Int("tries", s.Decision.Tries), zap.Int("messages", s.Messages), zap.Int("events", 1+len(s.Also)))
		}
	}
}

func (in *Intake) advance(at gateway.ReplyPosition) {
	in.mu.Lock()
	in.taken = at
	close(in.moved)
	in.moved = make(chan struct{})
	in.mu.Unlock()
}

// Caught waits until every answer that was in the stream at the call is taken
// and was handed to Settled. Callers: the gate, before it calls an offer silent.
func (in *Intake) Caught(ctx context.Context) error {
	var last gateway.ReplyPosition
	for {
		var err error
		if last, _, _, err = in.o.Replies.ReplyState(ctx); err == nil {
			break
		}
		if !pause(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
	for {
		in.mu.Lock()
		taken, moved := in.taken, in.moved
		in.mu.Unlock()
		if last.Seq == 0 || taken.Created.Equal(last.Created) && taken.Seq >= last.Seq {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

// purgeLoop frees what is taken when CW_REPLY is half full: it refuses new
// answers at its limit, and what is taken is only of use to a reader of logs.
func (in *Intake) purgeLoop(ctx context.Context) {
	for pause(ctx, purgeEvery) {
		_, bytes, limit, err := in.o.Replies.ReplyState(ctx)
		if err != nil || limit == 0 || bytes < limit/2 {
			continue
		}
		in.mu.Lock()
		upTo := in.taken.Seq
		in.mu.Unlock()
		err = in.o.Ledger.Sync(ctx) // until then the answers are the only lasting copy
		if err == nil {
			err = in.o.Replies.PurgeReplies(ctx, upTo)
		}
		if err != nil && ctx.Err() == nil {
			in.o.Log.Warn("intake.purge_failed", zap.Error(err))
		}
	}
}

// pause waits and says whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
