package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

const (
	// graceAfterVoid is added to an attempt's VoidAfter before an attempt that
	// was found open is judged.
	graceAfterVoid = 5 * time.Second
	ledgerPause    = 500 * time.Millisecond
	// toldToWait is the least wait of what spends no try.
	toldToWait = time.Second
	// A harmless reply (marking read) must not hold up the answer behind it: its
	// call is short, and what did not work at once is tried once more.
	harmlessTimeout = 5 * time.Second
	harmlessTries   = 2
	// behindPoll is a net: those behind another conversation are woken by it;
	// stoppedPoll likewise.
	behindPoll  = time.Minute
	stoppedPoll = time.Minute
)

// step does what the conversation's head needs now and returns when to look
// again; zero means when woken. One step at a time runs per conversation.
func (s *Sender) step(ctx context.Context, conv string) time.Time {
	if s.pace.may(conv) {
		defer s.pace.back(conv) // unless it leaves
	}
	now := s.o.Now()
	if m := s.takeAhead(conv, now); m != nil {
		return s.waiting(ctx, m, now)
	}
	m, open, err := s.o.Ledger.NextMessage(ctx, conv)
	if err != nil {
		return s.failed(ctx, err)
	}
	if m == nil {
		s.pace.quit(conv)
		return time.Time{}
	}
	if m.State != gateway.MessageWaiting {
		s.pace.quit(conv)
	}
	now = s.o.Now()
	switch m.State {
	case gateway.MessageSending:
		return s.orphan(ctx, m, open, now)
	case gateway.MessageUnknown:
		return s.unknown(ctx, m, now)
	case gateway.MessageWaiting:
		return s.waiting(ctx, m, now)
	case gateway.MessageAccepted, gateway.MessageRejected, gateway.MessageExpired, gateway.MessageCancelled, gateway.MessageHeld,
		gateway.TaskPartial:
		return time.Time{} // not open; the ledger does not hand these out
	}
	return time.Time{}
}

func (s *Sender) waiting(ctx context.Context, m *gateway.Message, now time.Time) time.Time {
	expires, reason := s.expires(m)
	if !now.Before(expires) {
		if err := s.o.Ledger.Conclude(ctx, m.ID, gateway.MessageExpired, reason, now); err != nil {
			return s.failed(ctx, err)
		}
		s.o.Changed()
		return now
	}
	if m.Behind != "" {
		s.pace.quit(m.Conv)
		return earlier(s.wait(ctx, m, now), expires)
	}
	until, once := m.Reply.Once()
	if once = once && !until.IsZero(); once {
		expires = earlier(expires, until) // then its attempt says that it is too late
	}
	once = once && !now.Before(until) // its attempt says that it is too late
	for _, at := range []time.Time{m.DueAt, m.NextAt} {
		if at.After(now) && !once {
			s.pace.quit(m.Conv)
			return earlier(at, expires)
		}
	}
	if s.o.Stopped(m) {
		s.pace.quit(m.Conv)
		return earlier(now.Add(stoppedPoll), expires)
	}
	if m.Window != nil {
		if opens, _ := m.Window.Around(now); opens.After(now) {
			return s.postpone(ctx, m, opens)
		}
	}
	switch again, err := s.mayRepeat(ctx, m, now); {
	case err != nil:
		return s.failed(ctx, err)
	case !again.IsZero():
		return earlier(again, expires)
	}
	client := s.o.Client(m.Platform, m.Account)
	if client == nil {
		s.pace.hold(m.Account, now.Add(time.Minute))
		s.o.Log.Warn("sender.no_account", zap.String("account", m.Account))
		return earlier(now.Add(time.Minute), expires)
	}
	if again, done := s.closed(ctx, m, now); done {
		return again
	}
	if at := s.pace.templatesWait(m, now); !at.IsZero() {
		return earlier(at, expires)
	}
	if leave, again := s.pace.ask(m, once, now); !leave {
		if again.IsZero() { // it stands in the account's line
			s.stand(ctx, m)
			return expires
		}
		return earlier(again, expires)
	}
	if s.pace.stopped(m.Account) && !s.probed(ctx, m) {
		_, _ = s.pace.ask(m, false, s.o.Now()) // to the end of the line
		return expires
	}
	return s.attempt(ctx, &flight{m: m, a: s.newAttempt(m, now), client: client, now: now, raised: s.pace.wasRaised(m.Conv)})
}

// stand lets a conversation in its account's line stand by the best that is due in it:
// what came while it stood, or was given another priority, woke it.
func (s *Sender) stand(ctx context.Context, m *gateway.Message) {
	best := m.Priority
	if best > 0 {
		if r, ok := s.ranks(ctx, []string{m.Conv})[m.Conv]; ok {
			best = min(best, r.Priority)
		}
	}
	s.pace.rank(m, best)
}

// expires is when a message that waits will not be sent any more, and the reason then.
func (s *Sender) expires(m *gateway.Message) (at time.Time, reason string) {
	retry := s.o.Retry(m.Account)
	at, reason = m.DueAt.Add(retry.MaxAge), gateway.ReasonExpired
	if !m.ExpiresAt.IsZero() && m.ExpiresAt.Before(at) {
		at, reason = m.ExpiresAt, "not sent in time"
	}
	return at, reason
}

// postpone lets what did not leave in its window be due when that opens again, so that
// it holds up nothing meanwhile.
func (s *Sender) postpone(ctx context.Context, m *gateway.Message, opens time.Time) time.Time {
	err := s.o.Queue.Postpone(ctx, m.ID, opens)
	if err != nil && !errors.Is(err, gateway.ErrConflict) { // changed since it was read: look again
		return s.failed(ctx, err)
	}
	return s.o.Now()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// wait lets a message wait for those of the conversation that it is behind. What
// ended before we noted that is seen by the second look.
func (s *Sender) wait(ctx context.Context, m *gateway.Message, now time.Time) time.Time {
	s.mu.Lock()
	if s.behind[m.Behind] == nil {
		s.behind[m.Behind] = map[string]struct{}{}
	}
	s.behind[m.Behind][m.Conv] = struct{}{}
	s.mu.Unlock()
	again, _, err := s.o.Ledger.NextMessage(ctx, m.Conv)
	if err != nil {
		return s.failed(ctx, err)
	}
	if again == nil || again.Behind == m.Behind {
		return now.Add(behindPoll)
	}
	return now
}

// passed wakes who waits behind a conversation of which something was done.
func (s *Sender) passed(conv string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.behind[conv] {
		s.woken[c] = struct{}{}
	}
	delete(s.behind, conv)
}

// newAttempt is the next attempt of a message.
func (s *Sender) newAttempt(m *gateway.Message, now time.Time) *gateway.Attempt {
	timeout := s.o.CallTimeout
	if m.Reply.Type.Harmless() {
		timeout = min(timeout, harmlessTimeout)
	}
	a := &gateway.Attempt{ID: s.o.NewID(), Message: m.ID, N: m.Attempts + 1, StartedAt: now, VoidAfter: now.Add(timeout)}
	if !m.ExpiresAt.IsZero() {
		a.VoidAfter = earlier(a.VoidAfter, m.ExpiresAt)
	}
	if m.Window != nil {
		_, closes := m.Window.Around(now)
		a.VoidAfter = earlier(a.VoidAfter, closes)
	}
	if until, once := m.Reply.Once(); once && !until.IsZero() {
		a.VoidAfter = earlier(a.VoidAfter, until)
	}
	return a
}

// attempt stores the attempt, makes the call and stores the outcome, and goes on with
// the next message of the conversation when its attempt was stored with that. Once an
// attempt is stored, the call's outcome is stored too, also when we are asked to
// stop meanwhile.
func (s *Sender) attempt(ctx context.Context, f *flight) (again time.Time) {
	switch err := s.o.Ledger.BeginAttempt(ctx, f.a, f.m.Conv); {
	case errors.Is(err, gateway.ErrConflict): // merged since it was read, or another sender: look again
		s.pace.landed(f.m.Account)
		return s.o.Now().Add(ledgerPause)
	case err != nil:
		s.pace.landed(f.m.Account)
		return s.failed(ctx, err)
	}
	for f != nil {
		s.o.Boundary("outbox.attempt_stored")
		f, again = s.fly(ctx, f)
	}
	return again
}

// fly makes the call of an attempt that is stored, and stores the outcome. It returns
// the next attempt that was stored with it; nil for none, and when to look again.
func (s *Sender) fly(ctx context.Context, f *flight) (next *flight, again time.Time) {
	m, a := f.m, f.a
	m.Attempts = a.N
	call, cancel := context.WithDeadline(context.WithoutCancel(ctx), s.callEnds(m, a))
	defer cancel()
	began, started := s.o.Now(), time.Now()
	out := gateway.Outcome{Kind: gateway.OutcomeRetry}
	if a.VoidAfter.After(f.now) {
		out = f.client.Send(call, gateway.Outgoing{Message: *m, VoidAfter: a.VoidAfter})
	}
	if out.Kind == gateway.OutcomeRetry && (out.Scope == gateway.ScopeAccount || out.Scope == gateway.ScopeTemplates || out.Tries == gateway.Unbounded) {
		out.After = max(out.After, toldToWait)
	}
	s.learn(ctx, m, began, &out)
	if until, once := m.Reply.Once(); once && out.Kind == gateway.OutcomeRetry {
		out = s.spent(out, until)
	}
	s.o.Boundary("outbox.called")
	end := s.end(m, a, out, "answer")
	b := behind{raised: f.raised}
	end.Next = func(head *gateway.Message) *gateway.Attempt { return s.follow(ctx, head, &b) }
	for tries := 0; ; tries++ {
		err := s.o.Ledger.EndAttempt(context.WithoutCancel(ctx), end)
		if err == nil {
			break
		}
		s.unfollow(&b)
		end.Next = nil // it is looked at anew
		if tries == 0 {
			s.o.Log.Error("sender.failed", zap.String("message", m.ID), zap.String("outcome", string(out.Kind)), zap.Error(err))
		}
		if errors.Is(err, gateway.ErrConflict) { // the attempt is ended already, by whoever thought us dead
			return nil, s.o.Now()
		}
		// The outcome is known only here: keep it until the ledger takes it.
		// Asked to stop, leave the attempt open; it is judged after a restart.
		if !pause(ctx, ledgerPause) {
			return nil, time.Time{}
		}
	}
	s.o.Boundary("outbox.outcome_stored")
	s.told(f, end, time.Since(started))
	switch {
	case end.Begun != nil:
		b.next.a = end.Begun
		return b.next, time.Time{}
	case end.Last:
		return nil, time.Time{}
	case b.next != nil: // the ledger knows why not
		s.unfollow(&b)
		return nil, s.o.Now()
	case b.again.IsZero(): // it was asked about nobody
		return nil, s.o.Now()
	}
	return nil, b.again
}

// spent is the outcome of the only try of a reply that goes by a code: what was
// certainly not sent is rejected, and says when that was for want of time.
func (s *Sender) spent(out gateway.Outcome, until time.Time) gateway.Outcome {
	if !until.IsZero() && !s.o.Now().Before(until) {
		return gateway.Outcome{Kind: gateway.OutcomeRejected, Code: gateway.ReasonTooLate, Detail: "the code had ended before the reply could leave"}
	}
	return gateway.Outcome{Kind: gateway.OutcomeRejected, Code: out.Code, Detail: out.Detail}
}

// callEnds is when a call that runs is given up. A harmless one gets no grace.
func (s *Sender) callEnds(m *gateway.Message, a *gateway.Attempt) time.Time {
	if m.Reply.Type.Harmless() {
		return a.VoidAfter
	}
	return a.VoidAfter.Add(graceAfterVoid)
}

// witnessWait is the patience with a platform that is asked what it has.
const witnessWait = 10 * time.Second

// orphan judges an attempt that a process before us left open: not before its
// call cannot run any more, and then by what the platform says that it has, where it
// can be asked, else as unknown. Dying while asking, it is asked again.
func (s *Sender) orphan(ctx context.Context, m *gateway.Message, a *gateway.Attempt, now time.Time) time.Time {
	if a == nil {
		return now.Add(time.Minute) // the schema forbids it; do not spin
	}
	if at := a.VoidAfter.Add(graceAfterVoid); at.After(now) && !m.Reply.Type.Harmless() {
		return at
	}
	out := gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "restart", Detail: "the process ended during the call"}
	if w, can := s.o.Client(m.Platform, m.Account).(Witness); can {
		asking, cancel := context.WithTimeout(ctx, witnessWait)
		said, known := w.Left(asking, m)
		cancel()
		if ctx.Err() != nil {
			return now
		}
		if known {
			out = said
		}
	}
	if err := s.o.Ledger.EndAttempt(ctx, s.end(m, a, out, "restart")); err != nil {
		return s.failed(ctx, err)
	}
	s.o.Changed()
	return now
}

// end turns an outcome into what the ledger stores, with the times that follow.
func (s *Sender) end(m *gateway.Message, a *gateway.Attempt, out gateway.Outcome, by string) *gateway.AttemptEnd {
	now := s.o.Now()
	e := &gateway.AttemptEnd{Attempt: a.ID, Message: m.ID, At: now, Outcome: out, By: by}
	if again := out.Kind == gateway.OutcomeUnknown || out.Kind == gateway.OutcomeRetry && out.Scope != gateway.ScopeAccount; again && m.Reply.Type.Harmless() {
		if m.Tries() < harmlessTries {
			e.NextAt = now
		}
		return e
	}
	switch out.Kind {
	case gateway.OutcomeRetry:
		s.again(m, &out, e)
	case gateway.OutcomeUnknown:
		e.UnknownUntil = now.Add(s.o.UnknownWait(m.Platform, m.Account))
	case gateway.OutcomeAccepted, gateway.OutcomeRejected:
	}
	return e
}

// again says when a message that was certainly not sent is tried again, or that its
// tries are spent. What is said of the account, or of its templates, is no try, and the
// account's line says when it leaves.
func (s *Sender) again(m *gateway.Message, out *gateway.Outcome, e *gateway.AttemptEnd) {
	switch out.Scope {
	case gateway.ScopeAccount:
		e.NextAt = e.At
		return
	case gateway.ScopeTemplates:
		if e.NextAt = e.At; m.Reply.Type != gateway.ReplyTemplate { // which wait for all of them
			e.NextAt = e.At.Add(out.After)
		}
		return
	case gateway.ScopePair:
	}
	retry := s.o.Retry(m.Account)
	tries := retry.Tries
	if out.Tries != 0 {
		tries = out.Tries
	}
	if tries != gateway.Unbounded && m.Tries() >= tries {
		e.Spent = true
		return
	}
	wait := out.After
	if out.Tries != gateway.Unbounded { // else it was told when
		wait = max(wait, retry.Wait(m.Tries(), rand.Float64())) //nolint:gosec // jitter is no secret
	}
	e.NextAt = e.At.Add(wait)
}

func (s *Sender) failed(ctx context.Context, err error) time.Time {
	if ctx.Err() == nil {
		s.o.Log.Error("sender.failed", zap.Error(err))
	}
	return s.o.Now().Add(ledgerPause)
}
