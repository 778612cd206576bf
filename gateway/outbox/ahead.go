package outbox

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// The commit that stores an accepted outcome shows who is next in the conversation. When
// that one may leave at once, its attempt is stored in the same commit: one fsync between
// two calls of a conversation, and no look at the ledger. If the process dies before that
// commit, the attempt of the first is open and the next one waits, as ever; after it, the
// first is accepted and the attempt of the next is found open, as if it had been stored by
// itself. When the commit shows nobody, the conversation rests: whoever comes later wakes it.
//
// One that has to stand in its account's line is kept for its turn. Whether it is still the
// head, waits, and may leave is asked again when its attempt is stored; names of the
// customer are not, which is why it is kept for a moment only.

const (
	// aheadFresh is how long a message that was shown may be used.
	aheadFresh = time.Second
	// aheadMost bounds how many messages are kept for conversations that stand in their
	// account's line.
	aheadMost = 4096
)

// ahead is a message that was shown by the commit of the one before it.
type ahead struct {
	m    *gateway.Message
	read time.Time
}

// fresh says whether what was shown may be used still.
func (h *ahead) fresh(now time.Time) bool {
	age := now.Sub(h.read)
	return age >= 0 && age < aheadFresh
}

// keepAhead holds what was shown for the conversation's next step.
func (s *Sender) keepAhead(h ahead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.aheads) < aheadMost {
		s.aheads[h.m.Conv] = h
	}
}

// takeAhead is what was kept, nil when that is too old.
func (s *Sender) takeAhead(conv string, now time.Time) *gateway.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.aheads[conv]
	if !ok {
		return nil
	}
	delete(s.aheads, conv)
	if !h.fresh(now) {
		return nil
	}
	return h.m
}

// behind is what follows an accepted message. It belongs to the goroutine that stores the
// outcome, which waits while the ledger's asks.
type behind struct {
	next   *flight   // whose attempt is to be stored, and has its place in the pace
	again  time.Time // when to look again, without one
	raised bool      // the one before stood by a better one, which may be behind this one still
}

// follow says whether the message that was shown may leave behind the one that was just
// accepted, and makes its attempt. It is asked what waiting is, but does nothing about the
// answer: whoever may not leave for any reason but the account's pace is looked at anew.
// It runs in the ledger's commit, and asks nothing but memory.
func (s *Sender) follow(ctx context.Context, m *gateway.Message, b *behind) *gateway.Attempt {
	s.unfollow(b) // the commit is made anew
	now := s.o.Now()
	b.again = now
	if ctx.Err() != nil || s.crowded.Load() || m.Behind != "" || m.Window != nil || m.Attempts > 0 || b.raised || m.DueAt.After(now) || m.NextAt.After(now) {
		return nil
	}
	expires, _ := s.expires(m)
	if _, once := m.Reply.Once(); once || !now.Before(expires) || s.o.Stopped(m) || !s.within(m, now) {
		return nil
	}
	client := s.o.Client(m.Platform, m.Account)
	if client == nil || s.pace.stopped(m.Account) || m.Reply.Type == gateway.ReplyTemplate && s.pace.templatesHeld(m.Account) {
		return nil
	}
	leave, again := s.pace.ask(m, false, now)
	switch {
	case !leave && again.IsZero(): // it stands in the account's line
		s.keepAhead(ahead{m, now})
		b.again = expires
		return nil
	case !leave:
		b.again = earlier(again, expires)
		return nil
	}
	b.next = &flight{m: m, a: s.newAttempt(m, now), client: client, now: now}
	return b.next.a
}

// unfollow gives back the place of one that does not leave after all.
func (s *Sender) unfollow(b *behind) {
	if b.next != nil {
		s.pace.landed(b.next.m.Account)
		b.next = nil
	}
}

// flight is a message with the attempt that is stored, or about to be.
type flight struct {
	m      *gateway.Message
	a      *gateway.Attempt
	client Client
	now    time.Time // when the attempt was made
	raised bool      // it stood in line by a better message behind it
}

// told logs and tells what became of an attempt.
func (s *Sender) told(f *flight, end *gateway.AttemptEnd, took time.Duration) {
	m, out := f.m, &end.Outcome
	if len(end.Merged) > 0 {
		s.o.Merged(end.Merged)
		for _, m := range end.Merged {
			s.Wake(m.Into) // messages for later may have moved there
		}
	}
	s.o.Log.Info("message.attempted", zap.String("message", m.ID), zap.String("conv", m.Conv), zap.String("account", m.Account),
		zap.Int("attempt", f.a.N), zap.Int("part", m.Part), zap.String("outcome", string(out.Kind)), zap.String("code", out.Code),
		zap.Duration("took", took))
	s.o.Attempted(m, out, took)
	s.o.Changed()
}
