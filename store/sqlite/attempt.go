package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// BeginAttempt stores the attempt before the call is made, durable. It sets a.N
// to the number the ledger gives it, and a.ID when the caller left it empty.
func (l *Ledger) BeginAttempt(ctx context.Context, a *gateway.Attempt, conv string) error {
	var made gateway.Attempt
	err := l.write(ctx, true, 1, func(c *conn) error {
		made = *a
		m, err := head(c, conv)
		if err != nil {
			return err
		}
		if m == nil || m.ID != a.Message { // an operator moved it, or put another one in front
			return l.notFirst(c, a.Message, conv)
		}
		other, err := c.number("SELECT count(*) FROM message WHERE conv = ? AND state = 'sending'", conv)
		if err != nil {
			return err
		}
		if other > 0 {
			return fmt.Errorf("a message of the conversation is sending: %w", gateway.ErrConflict)
		}
		return l.begin(c, m, &made)
	})
	if err != nil {
		return err
	}
	a.ID, a.N = made.ID, made.N
	return nil
}

// notFirst is why a message does not leave that is not its conversation's head.
func (l *Ledger) notFirst(c *conn, id, conv string) error {
	m, err := messageByID(c, id)
	switch {
	case err != nil:
		return err
	case m.Conv != conv || m.State != gateway.MessageWaiting:
		return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
	}
	return fmt.Errorf("another message of the conversation goes first: %w", gateway.ErrConflict)
}

// begin stores an attempt of its conversation's head, beside which none is sending, and
// sets its number. What it refuses with gateway.ErrConflict it has not begun to write.
func (l *Ledger) begin(c *conn, m *message, a *gateway.Attempt) error {
	if m.State != gateway.MessageWaiting {
		return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
	}
	if m.DueAt.After(a.StartedAt) { // an operator moved it since it was read
		return fmt.Errorf("the message is not due: %w", gateway.ErrConflict)
	}
	if err := l.inTurn(c, m.Conv); err != nil {
		return err
	}
	err := l.heardOut(c, m.Conv)
	if err != nil {
		return err
	}
	if a.ID == "" {
		if a.ID, err = l.book.newID("at_", a.StartedAt); err != nil {
			return err
		}
	}
	m.Attempts++
	a.N = m.Attempts
	_, err = c.exec(`INSERT INTO attempt (message, n, id, started_at, void_after, ended_at, outcome, external_id, code, detail, by)
		VALUES (?, ?, ?, ?, ?, 0, '', '', '', x'', '')`, a.Message, a.N, a.ID, a.StartedAt, a.VoidAfter)
	if err != nil {
		return err
	}
	l.book.beats(m, a.StartedAt)
	m.State = gateway.MessageSending // it is open still, and counted as before
	if _, err := c.exec("UPDATE message SET state = 'sending', attempts = ? WHERE id = ?", m.Attempts, m.ID); err != nil {
		return err
	}
	l.book.flies(m, a)
	return nil
}

// follow begins the attempt of the next message that goes with the end of one. One that
// may not begin now is left out; whoever asked looks again.
func (l *Ledger) follow(c *conn, conv string, e *gateway.AttemptEnd) error {
	m, err := head(c, conv)
	if err != nil || m == nil {
		e.Last = err == nil
		return err
	}
	if m.State != gateway.MessageWaiting {
		return nil
	}
	key, _, err := l.key(c, conv)
	if err != nil {
		return err
	}
	if m.To, err = l.names(c, key); err != nil {
		return err
	}
	if merging, err := l.merging(c); err != nil {
		return err
	} else if len(merging) > 0 {
		if m.Behind, err = behind(c, key); err != nil {
			return err
		}
	}
	shown := m.Message // the caller keeps it
	wanted := e.Next(&shown)
	if wanted == nil || wanted.Message != m.ID {
		return nil
	}
	a := *wanted
	if err := l.begin(c, m, &a); err != nil {
		if errors.Is(err, gateway.ErrConflict) {
			return nil
		}
		return err
	}
	e.Begun = &a
	return nil
}

// inTurn refuses a message that has to wait for those of a conversation that was
// merged into its own since NextMessage.
func (l *Ledger) inTurn(c *conn, conv string) error {
	if m, err := l.merging(c); err != nil || len(m) == 0 {
		return err
	}
	key, _, err := l.key(c, conv)
	if err != nil {
		return err
	}
	first, err := behind(c, key)
	if err == nil && first != "" {
		err = fmt.Errorf("messages of a conversation that was merged into this one go first: %w", gateway.ErrConflict)
	}
	return err
}

// heardOut refuses a message while an echo of its conversation is not judged: it may
// be a colleague's, who answers the customer just now.
func (l *Ledger) heardOut(c *conn, conv string) error {
	if some, err := l.anyParked(c); err != nil || !some {
		return err
	}
	kin, err := l.kin(c, conv)
	for _, conv := range kin {
		n, err := c.number("SELECT count(*) FROM parked WHERE conv = ? AND kind = 'echo'", conv)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("an echo of the conversation is to be judged first: %w", gateway.ErrConflict)
		}
	}
	return err
}
