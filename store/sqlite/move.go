package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// moveRows is how many messages of a move one read takes: it lasts some 20 ms.
const moveRows = 10_000

// BeginMove records a move, durable, or finds it again; see store.QueueLedger.
// Idempotency: the key.
func (l *Ledger) BeginMove(ctx context.Context, key string, digest []byte, by string, now time.Time) (store.Move, error) {
	if key == "" {
		return store.Move{}, fmt.Errorf("a move without a key: %w", gateway.ErrConflict)
	}
	mv, err := l.Move(ctx, key, digest)
	if !errors.Is(err, gateway.ErrNotFound) {
		return mv, err
	}
	err = l.act(ctx, 1, func(c *conn) error {
		made, err := c.exec("INSERT INTO move (key, digest, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", key, digest, now)
		if err != nil || made == 0 {
			return err
		}
		return audit(c, now, by, "reschedule once", key)
	})
	if err != nil {
		return store.Move{}, err
	}
	return l.Move(ctx, key, digest)
}

// Move finds a move and what it has moved; see store.QueueLedger.
func (l *Ledger) Move(ctx context.Context, key string, digest []byte) (mv store.Move, err error) {
	for last, more := int64(0), true; more && err == nil; {
		more = false
		err = l.people.snapshot(ctx, func(c *conn) error {
			same := false
			found, err := c.one("SELECT n, at, digest FROM move WHERE key = ?", func(r row) {
				mv.N, mv.At, same = r.int(0), r.time(1), bytes.Equal(r.blob(2), digest)
			}, key)
			switch {
			case err != nil:
				return err
			case !found:
				return fmt.Errorf("move: %w", gateway.ErrNotFound)
			case !same:
				return fmt.Errorf("the key stands for another change: %w", gateway.ErrConflict)
			}
			n := 0
			err = c.query("SELECT id, row FROM message WHERE moved = ? AND moved > 0 AND row > ? ORDER BY row LIMIT ?", func(r row) error {
				mv.Messages = append(mv.Messages, r.str(0))
				last = r.int(1)
				n++
				return nil
			}, mv.N, last, moveRows)
			more = n == moveRows
			return err
		})
	}
	if err != nil {
		return store.Move{}, err
	}
	return mv, nil
}

// lastMove is the last move that moved a part of m's task; 0 for none.
func lastMove(c *conn, m *message) (int64, error) {
	return c.number("SELECT coalesce(max(moved), 0) FROM (SELECT moved FROM message WHERE id >= ? AND task = ? ORDER BY id LIMIT ?)",
		m.Task, m.Task, m.Parts)
}

// reschedule moves a task, unless a later move has since. done: this one has before, or
// with a part of another slice.
func (d *deed) reschedule(parts []message, m *message) (done bool, err error) {
	if d.move > 0 {
		switch last, err := lastMove(d.c, m); {
		case err != nil || last > d.move:
			return false, err
		case last == d.move && d.by != 0:
			return true, nil
		}
	}
	return false, d.retime(parts, m)
}

// retime moves what has not left of a task, unless that would be after its end.
func (d *deed) retime(parts []message, m *message) error {
	at := d.at
	if d.by != 0 { // counted from where it is now: it may have been moved since it was found
		at = m.DueAt.Add(d.by)
	}
	due := m.Window.Due(later(at, d.now))
	if m.State != gateway.MessageWaiting || !m.EndMoves && !m.ExpiresAt.IsZero() && !due.Before(m.ExpiresAt) {
		return nil
	}
	if _, err := d.l.retime(d.c, parts, due); err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		if p.State != gateway.MessageWaiting {
			continue
		}
		d.done[p.ID] = true
		if d.move > 0 {
			if _, err := d.c.exec("UPDATE message SET moved = ? WHERE id = ?", d.move, p.ID); err != nil {
				return err
			}
		}
		if p.EndMoves {
			if _, err := d.c.exec("UPDATE message SET expires_at = ? WHERE id = ?", due.Add(gateway.WindowedFor), p.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// retime lets waiting parts be due at a time. They move together: the order is by the
// time due.
func (l *Ledger) retime(c *conn, parts []message, due time.Time) (moved int, err error) {
	for i := range parts {
		p := &parts[i]
		if p.State != gateway.MessageWaiting || p.DueAt.Equal(due) {
			continue
		}
		p.DueAt = due
		if err := l.storeMessage(c, p, p.State); err != nil {
			return moved, err
		}
		moved++
	}
	return moved, nil
}
