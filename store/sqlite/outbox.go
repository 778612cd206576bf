package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// OpenConversations lists conversations that have an open message, each with the time of
// its first one.
func (l *Ledger) OpenConversations(ctx context.Context, afterConv string, limit int) (out []gateway.Open, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		for len(out) < limit {
			o := gateway.Open{}
			found, err := c.one(`SELECT conv, state, due_at, expires_at, reply FROM message WHERE open = 1 AND conv > ?
				ORDER BY conv, due_at, id LIMIT 1`, func(r row) {
				o.Conv = r.str(0)
				if gateway.MessageState(r.str(1)) == gateway.MessageWaiting {
					o.At = firstNeed(r.time(2), r.time(3), replyOf("", nil, r.blob(4)))
				}
			}, afterConv)
			if err != nil || !found {
				return err
			}
			afterConv, out = o.Conv, append(out, o)
		}
		return nil
	})
	return out, err
}

// firstNeed is before when nothing can be done about a message that waits: it is due,
// or it is too late for it.
func firstNeed(due, expires time.Time, reply gateway.Reply) time.Time {
	if !expires.IsZero() && expires.Before(due) {
		due = expires
	}
	if until, once := reply.Once(); once && !until.IsZero() && until.Before(due) {
		due = until
	}
	return due
}

// NextMessage returns the first open message of a conversation.
func (l *Ledger) NextMessage(ctx context.Context, conv string) (*gateway.Message, *gateway.Attempt, error) {
	var m *message
	var a *gateway.Attempt
	err := l.r.snapshot(ctx, func(c *conn) (err error) {
		if m, err = head(c, conv); err != nil || m == nil {
			return err
		}
		key, _, err := keyOf(c, conv)
		if err != nil {
			return err
		}
		if m.To, _, err = recipients(c, key); err != nil {
			return err
		}
		if m.State == gateway.MessageWaiting && l.book.drains.Load() > 0 {
			if m.Behind, err = behind(c, key); err != nil {
				return err
			}
		}
		if m.State == gateway.MessageSending {
			a, err = openAttempt(c, m.ID)
		}
		return err
	})
	if err != nil || m == nil {
		return nil, nil, err
	}
	return &m.Message, a, nil
}

// head is the first open message of a conversation, nil for none.
func head(c *conn, conv string) (m *message, err error) {
	_, err = c.one("SELECT "+messageColumns+" FROM message WHERE conv = ? AND open = 1 ORDER BY due_at, id LIMIT 1",
		func(r row) { x := scanMessage(r); m = &x }, conv)
	return m, err
}

// recipients are the names by which a conversation's other side can be written to.
func recipients(c *conn, key int64) (ids []gateway.Identity, whose int64, err error) {
	ids, whose, err = identitiesOf(c, key)
	return slices.DeleteFunc(ids, func(id gateway.Identity) bool { return id.Retired }), whose, err
}

// names are recipients on the writer's goroutine: of a conversation that goes on sending
// they are remembered until they change.
func (l *Ledger) names(c *conn, key int64) ([]gateway.Identity, error) {
	if ids := l.book.names[key]; ids != nil {
		return ids, nil
	}
	ids, whose, err := recipients(c, key)
	if err == nil && whose == key {
		l.book.names[key] = ids
	}
	return ids, err
}

func openAttempt(c *conn, msg string) (*gateway.Attempt, error) {
	var a *gateway.Attempt
	_, err := c.one("SELECT id, message, n, started_at, void_after FROM attempt WHERE message = ? AND ended_at = 0 ORDER BY n DESC LIMIT 1",
		func(r row) {
			a = &gateway.Attempt{ID: r.str(0), Message: r.str(1), N: int(r.int(2)), StartedAt: r.time(3), VoidAfter: r.time(4)}
		}, msg)
	return a, err
}

// EndAttempt closes an attempt, durable; see store.OutboxLedger.
func (l *Ledger) EndAttempt(ctx context.Context, e *gateway.AttemptEnd) error {
	in := *e
	err := l.write(ctx, true, 1, func(c *conn) error {
		in.Merged, in.Begun, in.Last = nil, nil, false
		m, n, err := l.onItsWay(c, in.Message, in.Attempt)
		if err != nil {
			return err
		}
		o := &in.Outcome
		_, err = c.exec("UPDATE attempt SET ended_at = ?, outcome = ?, external_id = ?, code = ?, detail = ?, by = ? WHERE message = ? AND n = ?",
			in.At, string(o.Kind), o.ExternalID, o.Code, []byte(o.Detail), in.By, m.ID, n)
		if err != nil {
			return err
		}
		if err := l.outcome(c, m, &in); err != nil {
			return err
		}
		if len(o.Aliases) > 0 {
			if in.Merged, err = l.learnFrom(c, m.Conv, o.Aliases, in.At); err != nil {
				return err
			}
		}
		if err := l.unpark(c, m, in.At); err != nil || in.Next == nil || m.State != gateway.MessageAccepted {
			return err
		}
		return l.follow(c, m.Conv, &in)
	})
	if err == nil {
		e.Merged, e.Begun, e.Last = in.Merged, in.Begun, in.Last
	}
	return err
}

// onItsWay is a message with the number of its open attempt.
func (l *Ledger) onItsWay(c *conn, id, attempt string) (*message, int, error) {
	if f, ok := l.book.flying[id]; ok && f.attempt == attempt {
		return &f.m, f.m.Attempts, nil
	}
	m, err := messageByID(c, id)
	if err != nil {
		return nil, 0, err
	}
	a, err := openAttempt(c, id)
	switch {
	case err != nil:
		return nil, 0, err
	case a == nil || a.ID != attempt || m.State != gateway.MessageSending:
		return nil, 0, fmt.Errorf("the attempt is not open: %w", gateway.ErrConflict)
	}
	return m, a.N, nil
}

// outcome moves a message by the end of its attempt.
func (l *Ledger) outcome(c *conn, m *message, e *gateway.AttemptEnd) error {
	o := &e.Outcome
	was, by := m.State, e.By
	kind := o.Kind
	if m.ExternalID != "" {
		kind, by = gateway.OutcomeAccepted, "status" // evidence came first
	}
	m.Reason = ""
	harmless, after := m.Reply.Type.Harmless(), reasonRejected
	if harmless && kind == gateway.OutcomeUnknown {
		kind = gateway.OutcomeRetry // it may be made again; NextAt says whether
	}
	dead := gateway.DeadLetter{Kind: "message", Reason: gateway.ReasonRejected, Detail: deadDetail(o)}
	if kind == gateway.OutcomeRetry && e.Spent {
		kind, dead.Reason = gateway.OutcomeRejected, gateway.ReasonTries
	}
	switch kind {
	case gateway.OutcomeAccepted:
		m.State = gateway.MessageAccepted
		if m.ExternalID == "" {
			m.ExternalID = o.ExternalID
		}
	case gateway.OutcomeRetry:
		m.State, m.NextAt, m.Reason = gateway.MessageWaiting, e.NextAt, o.Code
		if harmless && e.NextAt.IsZero() { // not worth another try
			m.State = gateway.MessageExpired
		}
		if o.Scope == gateway.ScopeAccount || o.Scope == gateway.ScopeTemplates {
			m.Spared++
		}
		if err := l.mayBeHeld(c, m); err != nil {
			return err
		}
	case gateway.OutcomeRejected:
		m.State, m.Reason = gateway.MessageRejected, o.Code
		if dead.Reason == gateway.ReasonTries {
			m.Reason = dead.Reason
		}
		if m.Attempts > 1 && !harmless { // it was sent once more, and may have arrived before
			arrived, err := mayHaveArrived(c, m)
			if err != nil {
				return err
			}
			if arrived {
				m.State, m.open, after = gateway.MessageUnknown, false, reasonUnknown
				break
			}
		}
		if err := l.buryMessage(c, m, dead, e.At); l.notBuried(err) { // certainly not sent, so another try does no harm
			m.State, m.Reason, m.NextAt = gateway.MessageWaiting, gateway.ReasonNotBuried, e.At.Add(unburied)
			m.Spared++
		} else if err != nil {
			return err
		}
	case gateway.OutcomeUnknown:
		m.State, m.UnknownUntil, m.Reason, m.open = gateway.MessageUnknown, e.UnknownUntil, o.Code, true
	default:
		return fmt.Errorf("an outcome of no known kind: %w", gateway.ErrConflict)
	}
	if err := l.storeMessage(c, m, was); err != nil {
		return err
	}
	if err := l.tell(c, m, by, o.Code, e.At); err != nil {
		return err
	}
	switch {
	case m.State == gateway.MessageAccepted:
		return l.handedOver(c, m, e.At)
	case harmless || m.State != gateway.MessageRejected && (m.State != gateway.MessageUnknown || m.open):
		return nil
	}
	return l.endParts(c, m, gateway.MessageCancelled, after, e.At)
}

// buryMessage writes the dead letter of a message.
func (l *Ledger) buryMessage(c *conn, m *message, d gateway.DeadLetter, now time.Time) error {
	d.App, d.Platform, d.Account, d.Conv, d.Event, d.Message, d.Tries = m.App, m.Platform, m.Account, m.Conv, m.Event, m.ID, m.Tries()
	_, err := l.bury(c, now, &d)
	return err
}

func deadDetail(o *gateway.Outcome) string {
	switch {
	case o.Detail == "":
		return o.Code
	case o.Code == "":
		return o.Detail
	}
	return o.Code + ": " + o.Detail
}

// Conclude ends a message without an attempt, durable.
func (l *Ledger) Conclude(ctx context.Context, id string, state gateway.MessageState, reason string, now time.Time) error {
	return l.write(ctx, true, 1, func(c *conn) error {
		m, err := messageByID(c, id)
		if err != nil {
			return err
		}
		was, waited, after, afterReason := m.State, m.Reason, gateway.MessageCancelled, reasonUnknown
		switch {
		case state == gateway.MessageUnknown && was == gateway.MessageUnknown && m.open:
			m.open = false
		case state == gateway.MessageExpired && was == gateway.MessageWaiting:
			// Of one that was to be sent again nobody knows still.
			arrived, err := mayHaveArrived(c, m)
			switch {
			case err != nil:
				return err
			case arrived && !m.Reply.Type.Harmless():
				state, m.open = gateway.MessageUnknown, false
			default:
				after, afterReason = gateway.MessageExpired, reason
			}
		default:
			return fmt.Errorf("the message is %s: %w", was, gateway.ErrConflict)
		}
		m.State, m.Reason = state, reason
		if err := l.storeMessage(c, m, was); err != nil {
			return err
		}
		if err := l.tell(c, m, "timeout", reason, now); err != nil {
			return err
		}
		if m.Reply.Type.Harmless() {
			return nil // the others end by themselves
		}
		if state == gateway.MessageExpired && reason == gateway.ReasonExpired {
			if err := l.buryMessage(c, m, gateway.DeadLetter{Kind: "message", Reason: reason, Detail: waited}, now); err != nil {
				return err
			}
		}
		return l.endParts(c, m, after, afterReason, now)
	})
}
