package outbox

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// While a call runs there is time to look who is next in the conversation. When the
// message is accepted and the next one may leave at once, its attempt is stored in the
// commit that stores the outcome: one fsync between two calls of a conversation, and
// no look at the ledger. If the process dies before that commit, the attempt of the
// first is open and the next one waits, as ever; after it, the first is accepted and
// the attempt of the next is found open, as if it had been stored by itself.
//
// What was read ahead may be out of date. Whether it is the head, waits, and may leave
// is asked again in the commit; names of the customer are not, which is why it is used
// for a moment only, as short as a busy ledger may need between a look and a commit.

const (
	// aheadFresh is how long what was read ahead may be used.
	aheadFresh = time.Second
	// aheadPatience bounds the wait for it when the call was quicker.
	aheadPatience = 50 * time.Millisecond
	// aheadMost bounds how many messages are kept for conversations that stand in their
	// account's line.
	aheadMost = 4096
)

// ahead is a message that was read while the one before it was being sent.
type ahead struct {
	m    *gateway.Message
	read time.Time
}

// peek begins to read the message behind m. The channel gives it, with a nil message
// when there is none.
func (s *Sender) peek(ctx context.Context, m *gateway.Message) <-chan ahead {
	out := make(chan ahead, 1)
	if s.crowded.Load() { // others are in line: this conversation goes to its end
		out <- ahead{}
		return out
	}
	behind, read := *m, s.o.Now()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, aheadPatience)
		defer cancel()
		next, err := s.o.Queue.MessageAfter(ctx, &behind)
		if err != nil {
			next = nil // the usual look finds out what is the matter
		}
		out <- ahead{next, read}
	}()
	return out
}

// fresh says whether what was read ahead may be used still.
func (h *ahead) fresh(now time.Time) bool {
	age := now.Sub(h.read)
	return h.m != nil && age >= 0 && age < aheadFresh
}

// keepAhead holds what was read ahead for the conversation's next step.
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

// follow says whether a message that was read ahead may leave behind the one that was
// just accepted, and makes its attempt. It is asked what waiting is, but does nothing
// about the answer: whoever may not leave for any reason but the account's pace is
// looked at anew. The place that pace gave is taken.
func (s *Sender) follow(ctx context.Context, h ahead, now time.Time) (f *flight, again time.Time) {
	m := h.m
	if !h.fresh(now) || ctx.Err() != nil || s.crowded.Load() || m.State != gateway.MessageWaiting || m.Behind != "" || m.Window != nil ||
		m.DueAt.After(now) || m.NextAt.After(now) {
		return nil, now
	}
	expires, _ := s.expires(m)
	if _, once := m.Reply.Once(); once || !now.Before(expires) || s.o.Stopped(m) || !s.within(m, now) {
		return nil, now
	}
	client := s.o.Client(m.Platform, m.Account)
	if client == nil || s.pace.stopped(m.Account) {
		return nil, now
	}
	leave, again := s.pace.ask(m, false, now)
	switch {
	case !leave && again.IsZero(): // it stands in the account's line
		s.keepAhead(h)
		return nil, expires
	case !leave:
		return nil, earlier(again, expires)
	}
	return &flight{m: m, a: s.newAttempt(m, now), client: client, now: now}, time.Time{}
}

// flight is a message with the attempt that is stored, or about to be.
type flight struct {
	m      *gateway.Message
	a      *gateway.Attempt
	client Client
	now    time.Time // when the attempt was made
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
