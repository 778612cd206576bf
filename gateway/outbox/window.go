package outbox

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// WindowLedger is what the sender asks and writes of customers' windows.
type WindowLedger interface {
	Heard(ctx context.Context, conv string) (gateway.Heard, error)
	Refuse(ctx context.Context, r gateway.Refusal) error
}

// closed refuses a message that the platform certainly would not take any more, before
// the call: it is rejected, "window", and a dead letter, to be requeued when the
// customer has written again. done is false for one that may leave; else again is when
// to look again. If we die after the commit, the message is rejected; before it, it
// waits and the same is found again.
func (s *Sender) closed(ctx context.Context, m *gateway.Message, now time.Time) (again time.Time, done bool) {
	w := s.o.Window(m.Platform, m.Account)
	if w.For == 0 || s.within(m, now) {
		return again, false
	}
	heard, err := s.o.Windows.Heard(ctx, m.Conv)
	if err != nil {
		return s.failed(ctx, err), true
	}
	why := w.Closed(heard, &m.Reply, now)
	if why == "" {
		s.opened(m.Conv, &w, heard, now)
		return again, false
	}
	err = s.o.Windows.Refuse(ctx, gateway.Refusal{Message: m.ID, Reason: gateway.ReasonWindow, Detail: why, Instead: w.Instead, At: now})
	switch {
	case errors.Is(err, gateway.ErrConflict): // changed since it was read
		return s.o.Now().Add(ledgerPause), true
	case err != nil:
		return s.failed(ctx, err), true
	}
	s.o.Log.Warn("message.refused", zap.String("message", m.ID), zap.String("conv", m.Conv), zap.String("account", m.Account),
		zap.String("code", gateway.ReasonWindow))
	s.o.Changed()
	return now, true
}

// Windows that are known to be open are not asked for again for openFor, or openUnknown
// where no message of the customer is known: one that is found may be old. Both are well
// inside the margin or the window: a customer's last message never gets older than it was.
const (
	openFor     = time.Hour
	openUnknown = gateway.CustomerWindowMargin / 2
	openMost    = 16 << 10 // conversations remembered; all are forgotten then
)

// opened remembers until when a conversation's window is certainly open. Not where the
// messages in it are counted.
func (s *Sender) opened(conv string, w *gateway.CustomerWindow, h gateway.Heard, now time.Time) {
	if w.Most > 0 {
		return
	}
	until := now.Add(openUnknown)
	if !h.At.IsZero() {
		until = earlier(now.Add(openFor), h.At.Add(w.For+gateway.CustomerWindowMargin))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= openMost {
		clear(s.open)
	}
	s.open[conv] = until
}

// within says that a message certainly comes within its customer's window.
func (s *Sender) within(m *gateway.Message, now time.Time) bool {
	w := s.o.Window(m.Platform, m.Account)
	if w.For == 0 {
		return true
	}
	if w.Most > 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.open[m.Conv])
}
