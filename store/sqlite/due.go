package sqlite

import (
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

const (
	// backMost is how far back the clock may be set, over a restart too, without a new
	// message overtaking one of its conversation. Behind one that is further away
	// everything would stand still for too long.
	backMost = time.Hour
	// atOnce is how long after it was made a message may be due that was not asked for
	// at a later time; see ledgerBook.due.
	atOnce = time.Minute
)

// dueIn is when a task that is made now in a conversation is due: not before what
// waits there and was due at once when it was made. What is scheduled, or was moved by
// an operator, holds nobody up.
func (l *Ledger) dueIn(c *conn, conv string, now time.Time) (time.Time, error) {
	due := l.book.due(now)
	err := c.query("SELECT id, due_at FROM message WHERE conv = ? AND open = 1 AND due_at > ? AND due_at <= ? ORDER BY due_at DESC", func(r row) error {
		if at := r.time(1); at.Sub(madeAt(r.str(0))) <= atOnce {
			due = at
			return errStop
		}
		return nil
	}, conv, due, now.Add(backMost))
	return due, err
}

// madeAt is the time in an id of ours; zero for what is none.
func madeAt(id string) time.Time {
	_, rest, _ := strings.Cut(id, "_")
	u, err := ulid.ParseStrict(rest)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(u.Time())) //nolint:gosec // 48 bits
}
