package outbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// SendLedger is what the sender reads and writes.
type SendLedger interface {
	OpenConversations(ctx context.Context, afterConv string, limit int) ([]gateway.Open, error)
	NextMessage(ctx context.Context, conv string) (*gateway.Message, *gateway.Attempt, error)
	BeginAttempt(ctx context.Context, a *gateway.Attempt, conv string) error
	EndAttempt(ctx context.Context, e *gateway.AttemptEnd) error
	Conclude(ctx context.Context, message string, state gateway.MessageState, reason string, now time.Time) error
}

// QueueLedger is what the sender asks of the order and the times of what waits.
type QueueLedger interface {
	// Ranks says whose turn comes before whose, of conversations with something due.
	Ranks(ctx context.Context, convs []string, now time.Time) (map[string]gateway.Rank, error)
	// Postpone lets a waiting message and the parts behind it be due later.
	Postpone(ctx context.Context, message string, due time.Time) error
	// Resend lets an unknown message wait for one more call; gateway.ErrConflict when
	// it had that.
	Resend(ctx context.Context, message string, now time.Time) error
	// Unproven says that nobody knows of a call of a message whether it was taken.
	Unproven(ctx context.Context, message string) (bool, error)
}

// AccountLedger keeps which accounts are stopped, and what of their pace is spent, over
// restarts.
type AccountLedger interface {
	AccountHealth(ctx context.Context) ([]gateway.AccountHealth, error)
	SetAccountHealth(ctx context.Context, h *gateway.AccountHealth, by string, now time.Time) error
	Begun(ctx context.Context, since time.Time) ([]gateway.Begun, error)
}

// Client sends one message; it makes one call and repeats nothing by itself but
// what it knows was not taken (an expired token).
type Client interface {
	Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome
}

// Witness is a Client whose platform can be asked what became of a message of which
// nobody heard, with a call that changes nothing; known is false when it does not
// tell. What a process left open is settled by it, if at all, before it is unknown.
type Witness interface {
	Left(ctx context.Context, m *gateway.Message) (o gateway.Outcome, known bool)
}

// SenderOptions of a Sender.
type SenderOptions struct {
	Ledger   SendLedger
	Queue    QueueLedger
	Accounts AccountLedger
	// Client finds the account's client; nil for an account that is not
	// configured: its messages wait.
	Client func(platform, account string) Client
	// UnknownWait is how long a conversation waits for evidence, and OnUnknown what
	// happens then; nil goes on.
	UnknownWait func(platform, account string) time.Duration
	OnUnknown   func(account string) gateway.OnUnknown
	// Unread is when the oldest came of what was not read yet, zero for none: nothing that
	// may have arrived is sent once more before what came was read. Nil for none.
	Unread func(ctx context.Context) (oldest time.Time, err error)
	// Shares lists the accounts that have something in common with one, itself or
	// not: they wait with it. Nil for none.
	Shares func(account string, share gateway.Share) []string
	// Changed is called when a message or attempt changed; it must be quick.
	Changed func()
	// Attempted is told how an attempt ended, when that is stored; it must be quick.
	// Nil for nobody.
	Attempted func(m *gateway.Message, out *gateway.Outcome, took time.Duration)
	// Merged is told which conversations an answer of a platform showed to be one,
	// after the commit; it must be quick. Nil for nobody.
	Merged func([]gateway.Merge)
	// Stopped says that a message does not leave now, since a person or a rule
	// stopped it; whoever lets it go wakes its conversation. Nil for none.
	Stopped func(m *gateway.Message) bool
	// Window is how long after a customer's last message an account may write, and
	// Windows where that is known. Nil for no bound.
	Window  func(platform, account string) gateway.CustomerWindow
	Windows WindowLedger
	// Limits are an account's bounds on how fast messages leave. Nil for none.
	Limits func(account string) []gateway.Limit
	// Paced are the accounts whose limits hold over a restart.
	Paced []string
	// Retry is how messages of an account are tried again.
	Retry func(account string) gateway.Retry
	// KeyFP is the fingerprint of an account's credentials: a stopped account whose
	// credentials have changed is healthy again. Nil where they do not change.
	KeyFP func(account string) string
	// Probe asks the platform whether it takes the credentials of a stopped account,
	// without sending, and returns "" for yes or for not known, else the code of the
	// refusal: then no message is spent on finding out. Nil for no such question.
	Probe func(ctx context.Context, platform, account string) (code string)
	// Concurrency is how many conversations send at once, PerAccount how many of one
	// account, so that one that hangs does not hold the others. One that takes many may
	// have more, up to four times as many. 0 means 2,048 and 128.
	Concurrency, PerAccount int
	// CallTimeout bounds one call; 0 means 15 s.
	CallTimeout time.Duration
	NewID       func() string // "at_" ids
	Boundary    func(step string)
	Now         func() time.Time
	Log         *zap.Logger
}

// Sender sends what waits, one message of a conversation at a time.
type Sender struct {
	o    SenderOptions
	wake chan struct{}
	pace *pace
	// crowded says that conversations are in line for a place: nobody goes on then.
	crowded atomic.Bool
	began   time.Time // set once, by Run

	mu    sync.Mutex
	woken map[string]struct{}
	// aheads are messages shown by a commit, by conversation; open is until when customers'
	// windows certainly are.
	aheads map[string]ahead
	open   map[string]time.Time
	// behind are conversations that wait for another one, by that one: it was
	// merged into them and its messages go first.
	behind map[string]map[string]struct{}
}

// NewSender makes a sender; it does nothing before Run.
func NewSender(o SenderOptions) *Sender {
	if o.Concurrency <= 0 {
		o.Concurrency = 2048
	}
	if o.PerAccount <= 0 {
		o.PerAccount = 128
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 15 * time.Second
	}
	if o.Limits == nil {
		o.Limits = func(string) []gateway.Limit { return nil }
	}
	if o.KeyFP == nil {
		o.KeyFP = func(string) string { return "" }
	}
	if o.Probe == nil {
		o.Probe = func(context.Context, string, string) string { return "" }
	}
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	if o.Shares == nil {
		o.Shares = func(string, gateway.Share) []string { return nil }
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Attempted == nil {
		o.Attempted = func(*gateway.Message, *gateway.Outcome, time.Duration) {}
	}
	if o.Merged == nil {
		o.Merged = func([]gateway.Merge) {}
	}
	if o.Window == nil {
		o.Window = func(string, string) gateway.CustomerWindow { return gateway.CustomerWindow{} }
	}
	if o.Unread == nil {
		o.Unread = func(context.Context) (time.Time, error) { return time.Time{}, nil }
	}
	if o.Stopped == nil {
		o.Stopped = func(*gateway.Message) bool { return false }
	}
	return &Sender{o: o, wake: make(chan struct{}, 1), woken: map[string]struct{}{}, pace: newPace(o.Limits, o.KeyFP, o.PerAccount),
		behind: map[string]map[string]struct{}{}, aheads: map[string]ahead{}, open: map[string]time.Time{}}
}

// Wake says that a conversation may have something to send, or that something
// about its head changed. It never blocks.
func (s *Sender) Wake(convs ...string) {
	if len(convs) == 0 {
		return
	}
	s.mu.Lock()
	for _, c := range convs {
		s.woken[c] = struct{}{}
		delete(s.aheads, c)
	}
	s.mu.Unlock()
	s.look()
}

// look lets Run look again.
func (s *Sender) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// rested is what a conversation's goroutine says when it ends: nothing to do, or
// look again at a time.
type rested struct {
	conv  string
	again time.Time
}

// Run sends until ctx ends, then waits for the calls in flight: their outcomes
// are stored.
func (s *Sender) Run(ctx context.Context) error {
	s.began = s.o.Now()
	if err := s.loadAccounts(ctx); err != nil {
		return err
	}
	if err := s.loadPace(ctx); err != nil {
		return err
	}
	l := newLanes(s.o.Concurrency)
	if err := s.load(ctx, l); err != nil {
		return err
	}
	defer l.drain()
	for {
		s.mu.Lock()
		for c := range s.woken {
			l.offer(c)
		}
		clear(s.woken)
		s.mu.Unlock()
		now := s.o.Now()
		wait := l.ripe(now)
		if next := s.pace.pump(now, l.offer); !next.IsZero() {
			wait = min(wait, max(next.Sub(now), 0))
		}
		l.lineUp(s.o.Concurrency, func(convs []string) map[string]gateway.Rank { return s.ranks(ctx, convs) })
		for len(l.busy) < s.o.Concurrency && ctx.Err() == nil {
			conv := l.pop()
			if conv == "" {
				break
			}
			go func() { l.done <- rested{conv, s.step(ctx, conv)} }()
		}
		if len(l.fresh) > 0 {
			wait = 0
		}
		s.crowded.Store(len(l.fresh)+len(l.lines.stands) > 0)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case r := <-l.done:
			l.finish(r)
			s.passed(r.conv)
		case <-s.wake:
		case <-t.C:
		}
		t.Stop()
	}
}

// ranks asks for an order. Without one everybody is equal; the ledger that cannot
// tell cannot send either, and that is logged.
func (s *Sender) ranks(ctx context.Context, convs []string) map[string]gateway.Rank {
	ranks, err := s.o.Queue.Ranks(ctx, convs, s.o.Now())
	if err != nil {
		return nil
	}
	return ranks
}

// load queues every conversation that has something to send now, and notes when it is
// time for the others: they may be many, and nothing is read of them before.
func (s *Sender) load(ctx context.Context, l *lanes) error {
	const page = 1000
	after := ""
	for {
		open, err := s.o.Ledger.OpenConversations(ctx, after, page)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.o.Log.Error("sender.failed", zap.Error(err))
			pause(ctx, time.Second)
			continue
		}
		now := s.o.Now()
		for _, o := range open {
			if o.At.After(now) {
				l.later(o.Conv, o.At)
				continue
			}
			l.offer(o.Conv)
		}
		if len(open) < page {
			return nil
		}
		after = open[len(open)-1].Conv
	}
}
