package outbox

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// unknown looks at a message of which nobody knows whether it left. The wait for evidence
// is in its row; what follows is the rule of its account. If we die after it is to be
// sent again, it waits and is sent; the ledger counts the calls, so that it is not sent a
// third time.
func (s *Sender) unknown(ctx context.Context, m *gateway.Message, now time.Time) time.Time {
	var rule gateway.OnUnknown
	if s.o.OnUnknown != nil {
		rule = s.o.OnUnknown(m.Account)
	}
	until := m.UnknownUntil
	if rule.Do == gateway.UnknownHold {
		until = until.Add(rule.HoldFor)
	}
	if until.After(now) {
		return until
	}
	if rule.Do == gateway.UnknownResend && s.repeatable(m, now) {
		switch err := s.o.Queue.Resend(ctx, m.ID, now); {
		case err == nil:
			s.o.Log.Warn("message.resent", zap.String("message", m.ID), zap.String("conv", m.Conv), zap.String("account", m.Account))
			s.o.Changed()
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

// repeatable says that a message may be sent a second time at all: while its time is not
// over, and not what a code allows once or what moves a session.
func (s *Sender) repeatable(m *gateway.Message, now time.Time) bool {
	expires, _ := s.expires(m)
	_, once := m.Reply.Once()
	return !once && m.Reply.Type != gateway.ReplyTransfer && now.Before(expires)
}
