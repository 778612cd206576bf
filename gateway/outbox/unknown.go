package outbox

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// unknown looks at a message of which nobody knows whether it left. The wait for evidence
// is in its row; what follows is the rule of its account. If we die before it is to be
// sent again, that is decided anew; after it, it waits and is sent. Either way the evidence
// is waited for first, see unheard, and the ledger counts the calls, so that it is not
// sent a third time.
func (s *Sender) unknown(ctx context.Context, m *gateway.Message, now time.Time) time.Time {
	rule := s.onUnknown(m.Account)
	until := m.UnknownUntil
	if rule.Do == gateway.UnknownHold {
		until = until.Add(rule.HoldFor)
	}
	if until.After(now) {
		return until
	}
	if rule.Do == gateway.UnknownResend && s.repeatable(m, now) {
		switch again, err := s.unheard(ctx, m, now); {
		case err != nil:
			return s.failed(ctx, err)
		case !again.IsZero():
			return again
		}
		s.o.Boundary("unknown.resending")
		switch err := s.o.Queue.Resend(ctx, m.ID, now); {
		case err == nil:
			s.o.Log.Warn("message.resent", zap.String("message", m.ID), zap.String("conv", m.Conv), zap.String("account", m.Account))
			s.o.Changed()
			s.o.Boundary("unknown.resent")
			return now
		case !errors.Is(err, gateway.ErrConflict): // that says: once before, or not unknown any more
			return s.failed(ctx, err)
		}
	}
	if err := s.o.Ledger.Conclude(ctx, m.ID, gateway.MessageUnknown, "no evidence", now); err != nil {
		return s.failed(ctx, err)
	}
	s.o.Log.Warn("message.unknown", zap.String("message", m.ID), zap.String("conv", m.Conv), zap.String("account", m.Account))
	s.o.Changed()
	return now
}

func (s *Sender) onUnknown(account string) gateway.OnUnknown {
	if s.o.OnUnknown == nil {
		return gateway.OnUnknown{}
	}
	return s.o.OnUnknown(account)
}

// readIn is how fast everything that comes is read when all is well.
const readIn = time.Second

// unheard says when to look again at a message that is to be sent once more, while what
// proves its first call may still be on its way; zero when it is not. The platform could
// tell nothing while we were down, and what it told may lie in the archive unread.
func (s *Sender) unheard(ctx context.Context, m *gateway.Message, now time.Time) (again time.Time, err error) {
	if at := s.began.Add(s.o.UnknownWait(m.Platform, m.Account)); at.After(now) {
		return at, nil
	}
	oldest, err := s.o.Unread(ctx)
	if err == nil && !oldest.IsZero() && oldest.Before(now.Add(-readIn)) {
		again = now.Add(ledgerPause)
	}
	return again, err
}

// mayRepeat is unheard for a message that waits: only of one that may have arrived, by
// the rule of its account, is anything to be heard.
func (s *Sender) mayRepeat(ctx context.Context, m *gateway.Message, now time.Time) (again time.Time, err error) {
	if m.Attempts == 0 || s.onUnknown(m.Account).Do != gateway.UnknownResend {
		return time.Time{}, nil
	}
	unproven, err := s.o.Queue.Unproven(ctx, m.ID)
	if err != nil || !unproven {
		return time.Time{}, err
	}
	return s.unheard(ctx, m, now)
}

// repeatable says that a message may be sent a second time at all: while its time is not
// over, and not what a code allows once or what moves a session.
func (s *Sender) repeatable(m *gateway.Message, now time.Time) bool {
	expires, _ := s.expires(m)
	_, once := m.Reply.Once()
	return !once && m.Reply.Type != gateway.ReplyTransfer && now.Before(expires)
}
