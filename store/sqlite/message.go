package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

const messageColumns = `id, task, part, parts, app, event, platform, account, conv, due_at, state, reason, type, text,
	attempts, next_at, external_id, delivery, failed, unknown_until, open, reply, spared, expires_at, priority, human, even_in_takeover, terms`

// messageRest is the place of what a query asks for behind messageColumns.
const messageRest = 28

// message is a message with what only the store knows of it.
type message struct {
	gateway.Message
	open bool
}

func scanMessage(r row) (m message) {
	m.Message = gateway.Message{
		ID: r.str(0), Task: r.str(1), Part: int(r.int(2)), Parts: int(r.int(3)), App: r.str(4), Event: r.str(5),
		Platform: r.str(6), Account: r.str(7), Conv: r.str(8), DueAt: r.time(9), State: gateway.MessageState(r.str(10)),
		Reason: r.str(11), Reply: replyOf(r.str(12), r.blob(13), r.blob(21)), Attempts: int(r.int(14)),
		NextAt: r.time(15), ExternalID: r.str(16), Delivery: gateway.StatusState(r.str(17)), UnknownUntil: r.time(19),
	}
	if b := r.blob(18); len(b) > 0 {
		var p gateway.Problem
		if json.Unmarshal(b, &p) == nil {
			m.Failed = &p
		}
	}
	m.open, m.Spared, m.ExpiresAt = r.int(20) == 1, int(r.int(22)), r.time(23)
	m.Priority, m.Human, m.EvenInTakeover = int(r.int(24)), r.int(25) == 1, r.int(26) == 1
	if b := r.blob(27); len(b) > 0 && json.Unmarshal(b, &m.Terms) != nil {
		m.Terms = gateway.Terms{} // what cannot be read asks for nothing
	}
	return m
}

func messageByID(c *conn, id string) (*message, error) {
	var m message
	found, err := c.one("SELECT "+messageColumns+" FROM message WHERE id = ?", func(r row) { m = scanMessage(r) }, id)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("message: %w", gateway.ErrNotFound)
	}
	return &m, nil
}

// storeMessage writes what may change of a message. was is its state before,
// for the counts.
func (l *Ledger) storeMessage(c *conn, m *message, was gateway.MessageState) error {
	switch m.State {
	case gateway.MessageWaiting, gateway.MessageSending:
		m.open = true
	case gateway.MessageUnknown: // open until given up
	case gateway.MessageAccepted, gateway.MessageRejected, gateway.MessageExpired, gateway.MessageCancelled, gateway.MessageHeld,
		gateway.TaskPartial:
		m.open = false
	}
	var failed []byte
	if m.Failed != nil {
		var err error
		if failed, err = json.Marshal(m.Failed); err != nil {
			return err
		}
	}
	delete(l.book.flying, m.ID) // it is not any more as it left
	_, err := c.exec(`UPDATE message SET state = ?, open = ?, reason = ?, attempts = ?, next_at = ?, external_id = ?, delivery = ?,
		failed = ?, unknown_until = ?, due_at = ?, spared = ? WHERE id = ?`, string(m.State), m.open, m.Reason, m.Attempts, m.NextAt, m.ExternalID,
		string(m.Delivery), failed, m.UnknownUntil, m.DueAt, m.Spared, m.ID)
	if err != nil {
		return err
	}
	l.moved(was, m.State, 1)
	if m.open || l.book.drains.Load() == 0 {
		return nil
	}
	key, _, err := l.key(c, m.Conv)
	if err != nil {
		return err
	}
	return l.drained(c, key)
}

// moved keeps the counts of messages by state.
func (l *Ledger) moved(was, is gateway.MessageState, n int64) {
	if was, is := sumState(was), sumState(is); was != is {
		l.book.add(prefixMessage+string(was), -n)
		l.book.add(prefixMessage+string(is), n)
	}
}

// tell records a change of a message. One that is held from now on is noted here, since
// none is without being told.
func (l *Ledger) tell(c *conn, m *message, by, code string, at time.Time) error {
	if m.State == gateway.MessageHeld {
		if _, err := c.exec("UPDATE message SET held_at = ? WHERE id = ?", at, m.ID); err != nil {
			return err
		}
	}
	task, err := taskState(c, m)
	if err != nil {
		return err
	}
	return l.changed(c, &gateway.Change{
		Result: m.Result(), TaskState: task,
		At: at, Message: m.ID, Task: m.Task, Part: m.Part, App: m.App, Event: m.Event, Platform: m.Platform, Account: m.Account,
		Conv: m.Conv, State: m.State, Delivery: m.Delivery, Code: code, By: by, ExternalID: m.ExternalID,
	})
}

// taskState is the state of m's task, whose rows are written.
func taskState(c *conn, m *message) (gateway.MessageState, error) {
	if m.Parts <= 1 {
		return gateway.TaskState([]gateway.MessageState{m.State}), nil
	}
	var states []gateway.MessageState
	err := c.query("SELECT state FROM message WHERE id >= ? AND task = ? ORDER BY id LIMIT ?", func(r row) error {
		states = append(states, gateway.MessageState(r.str(0)))
		return nil
	}, m.Task, m.Task, m.Parts)
	return gateway.TaskState(states), err
}

// partsAfter are the parts of m's task behind it. The parts of a task got their
// ids one after another, so they stand together.
func partsAfter(c *conn, m *message) (out []message, err error) {
	err = c.query("SELECT "+messageColumns+" FROM message WHERE id > ? ORDER BY id LIMIT ?", func(r row) error {
		if p := scanMessage(r); p.Task == m.Task {
			out = append(out, p)
		}
		return nil
	}, m.ID, m.Parts-m.Part-1)
	return out, err
}

// endParts ends the parts behind m that have not left. Held ones too: released later,
// they would leave without what stands in front of them.
func (l *Ledger) endParts(c *conn, m *message, state gateway.MessageState, reason string, now time.Time) error {
	parts, err := partsAfter(c, m)
	if err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		if p.State != gateway.MessageWaiting && p.State != gateway.MessageHeld {
			continue
		}
		was := p.State
		p.State, p.Reason = state, reason
		if err := l.storeMessage(c, p, was); err != nil {
			return err
		}
		if err := l.tell(c, p, "task", "", now); err != nil {
			return err
		}
	}
	return nil
}

// reasonRejected is why parts are cancelled behind one that was refused.
const reasonRejected = "after rejected"

// untouched refuses to begin a task again of which the platform has, or may have, a
// part.
func untouched(c *conn, m *message) error {
	parts, err := taskOf(c, m)
	for i := range parts {
		if s := parts[i].State; s == gateway.MessageAccepted || s == gateway.MessageUnknown {
			return fmt.Errorf("part %d of the task is %s, and it begins anew or not at all: %w", i+1, s, gateway.ErrConflict)
		}
	}
	return err
}

// requeueMessage lets a rejected or expired message wait again, with the parts that
// ended with it, in their old order and with no tries spent. They are due now: by
// their old time they might be too old already. What an operator cancelled stays so.
func (l *Ledger) requeueMessage(c *conn, id string, now time.Time) error {
	m, err := messageByID(c, id)
	if err != nil {
		return err
	}
	if m.State != gateway.MessageRejected && m.State != gateway.MessageExpired {
		return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
	}
	harmless := m.Reply.Type.Harmless()
	arrived, err := mayHaveArrived(c, m)
	switch {
	case err != nil:
		return err
	case arrived && !harmless:
		return fmt.Errorf("the message may have been sent: %w", gateway.ErrConflict)
	case !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(now):
		return fmt.Errorf("the time in which the message was to be sent is over: %w", gateway.ErrConflict)
	}
	var parts []message
	if !harmless { // which has ended no others
		if parts, err = partsAfter(c, m); err != nil {
			return err
		}
	}
	if m.OnFailure == gateway.FailureRestart {
		if err := untouched(c, m); err != nil {
			return err
		}
	}
	if _, err := l.stirs(c, m.Conv); err != nil {
		return err
	}
	due := l.book.due(now)
	for _, p := range append([]message{*m}, parts...) {
		if p.ID != m.ID && p.State != gateway.MessageExpired && (p.State != gateway.MessageCancelled || p.Reason != reasonRejected) {
			continue
		}
		was := p.State
		p.State, p.Reason, p.DueAt, p.NextAt, p.Spared = gateway.MessageWaiting, "", due, time.Time{}, p.Attempts
		if err := l.storeMessage(c, &p, was); err != nil {
			return err
		}
		if err := l.tell(c, &p, "operator", "", now); err != nil {
			return err
		}
	}
	return nil
}

// stopped is the state of a message that will not leave, or not again: one that was to be
// sent once more may have arrived before, so nobody knows of it still.
func stopped(c *conn, m *message) (gateway.MessageState, error) {
	arrived, err := false, error(nil)
	if m.Attempts > 0 && !m.Reply.Type.Harmless() {
		arrived, err = mayHaveArrived(c, m)
	}
	if err != nil || !arrived {
		return gateway.MessageCancelled, err
	}
	m.open = false
	return gateway.MessageUnknown, nil
}

// mayHaveArrived says whether the platform may have the message: it told so, or the
// outcome of an attempt is not known.
func mayHaveArrived(c *conn, m *message) (bool, error) {
	if m.ExternalID != "" || m.Delivery != "" {
		return true, nil
	}
	n, err := c.number("SELECT count(*) FROM attempt WHERE message = ? AND (outcome = 'unknown' OR outcome = 'accepted' OR ended_at = 0)", m.ID)
	return n > 0, err
}
