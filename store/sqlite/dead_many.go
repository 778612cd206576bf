package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// RequeueAll sets many dead letters moving; see store.AdminLedger.
func (l *Ledger) RequeueAll(ctx context.Context, q store.DeadQuery, by string, now time.Time, moved func([]gateway.Requeued)) (gateway.DeadMoved, error) {
	var slice []gateway.Requeued
	return l.moveDead(ctx, q, &gateway.AuditEntry{At: now, By: by, What: "requeue", Target: deadFilter(&q)}, deadMove{
		begin: func() { slice = nil },
		one: func(c *conn, d *gateway.DeadLetter) error {
			r, err := l.requeue(c, d, by, now)
			if err == nil {
				slice = append(slice, r)
			}
			return err
		},
		committed: func() { moved(slice) },
	})
}

// DropAll closes many dead letters for good.
func (l *Ledger) DropAll(ctx context.Context, q store.DeadQuery, by, note string, now time.Time) (gateway.DeadMoved, error) {
	return l.moveDead(ctx, q, &gateway.AuditEntry{At: now, By: by, What: "drop", Target: deadFilter(&q), Note: note}, deadMove{
		begin:     func() {},
		one:       func(c *conn, d *gateway.DeadLetter) error { return l.drop(c, d, by, note) },
		committed: func() {},
	})
}

// deadMove is what is done to each; begin starts a slice anew, since one may run twice.
type deadMove struct {
	begin     func()
	one       func(c *conn, d *gateway.DeadLetter) error
	committed func()
}

// moveDead walks over the open dead letters of a query, oldest first, up to the
// newest there is at the call: what is buried again meanwhile is not moved twice.
func (l *Ledger) moveDead(ctx context.Context, q store.DeadQuery, deed *gateway.AuditEntry, move deadMove) (done gateway.DeadMoved, err error) {
	q.State = "open"
	limit := q.Limit
	last := ""
	err = l.r.read(ctx, func(c *conn) error {
		_, err := c.one("SELECT id FROM dead INDEXED BY dead_list WHERE state = 'open' ORDER BY id DESC LIMIT 1", func(r row) { last = r.str(0) })
		return err
	})
	if err != nil || last == "" {
		return done, err
	}
	var entry int64 // of the audit
	size := newSlicer()
	for above := ""; ; {
		left := size.most
		if limit > 0 {
			left = min(left, limit-done.Moved-done.Skipped)
		}
		if left <= 0 {
			return done, nil
		}
		var slice gateway.DeadMoved
		var end string
		row, over := entry, false
		made, err := l.writeSlice(ctx, left+left/2, func(c *conn) (err error) {
			move.begin()
			size.start()
			slice, end, over, err = l.moveSlice(c, &q, above, last, left, size, move.one)
			if err != nil || slice.Moved == 0 {
				return err
			}
			deed.Count = int64(slice.Moved)
			row, err = auditGrows(c, entry, deed)
			return err
		})
		if !made {
			return done, err
		}
		size.ended()
		entry, above = row, end
		done.Moved, done.Skipped = done.Moved+slice.Moved, done.Skipped+slice.Skipped
		move.committed()
		if over || err != nil {
			return done, err
		}
	}
}

// moveSlice moves some of those above an id. over: there are no more.
func (l *Ledger) moveSlice(c *conn, q *store.DeadQuery, above, last string, most int, size *slicer, one func(*conn, *gateway.DeadLetter) error) (done gateway.DeadMoved, end string, over bool, err error) {
	text, args := deadIDs(q, above, last+"~", "id")
	var letters []gateway.DeadLetter
	text = "SELECT " + deadColumns + " FROM dead WHERE id IN (" + text + " ORDER BY id LIMIT ?) ORDER BY id"
	err = c.query(text, func(r row) error {
		letters = append(letters, scanDead(r))
		return nil
	}, append(args, most)...)
	if err != nil {
		return done, above, false, err
	}
	for i := range letters {
		switch err := one(c, &letters[i]); {
		case errors.Is(err, gateway.ErrConflict), errors.Is(err, gateway.ErrNotFound):
			done.Skipped++
		case err != nil:
			return done, above, false, err
		default:
			done.Moved++
		}
		if end = letters[i].ID; size.full(i+1) && i+1 < len(letters) {
			return done, end, false, nil
		}
	}
	return done, end, len(letters) < most, nil
}

// auditMany records a deed with how much it moved and why.
func auditMany(c *conn, e *gateway.AuditEntry) error {
	_, err := auditGrows(c, 0, e)
	return err
}

// auditGrows records a deed, or adds to the count of the entry it has already.
func auditGrows(c *conn, entry int64, e *gateway.AuditEntry) (int64, error) {
	if entry > 0 {
		_, err := c.exec("UPDATE audit SET count = count + ? WHERE n = ?", e.Count, entry)
		return entry, err
	}
	return c.number("INSERT INTO audit (at, by, what, target, count, note) VALUES (?, ?, ?, ?, ?, ?) RETURNING n",
		e.At, e.By, e.What, e.Target, e.Count, []byte(e.Note))
}
