package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// bury writes an open dead letter and returns its id.
func (l *Ledger) bury(c *conn, now time.Time, d *gateway.DeadLetter) (string, error) {
	id, err := l.book.newID("dl_", now)
	if err != nil {
		return "", err
	}
	if at := time.UnixMilli(int64(l.book.lastMS)); at.After(now) && now.UnixMilli() > 0 { //nolint:gosec // milliseconds of a clock
		now = at // the clock was set back: a list by time is one by id
	}
	_, err = c.exec(`INSERT INTO dead (id, kind, state, at, reason, detail, app, platform, account, conv, event, n, message, payload, pos, item, tries, by)
		VALUES (?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')`,
		id, d.Kind, now, d.Reason, []byte(d.Detail), d.App, d.Platform, d.Account, d.Conv, d.Event, d.N, d.Message, d.Payload, d.Pos, d.Item, d.Tries)
	if err != nil {
		return "", err
	}
	l.book.add(prefixOther+"dead_"+d.Kind, 1)
	return id, nil
}

// unburied is how long something waits that could not be buried. It is not given up
// then: no try is spent, nothing of its conversation overtakes it, and every other
// conversation goes on. That is for a letter that the file refuses; a file that takes
// nothing fails the whole write.
const unburied = 5 * time.Second

// notBuried says that err is such a refusal, and counts it.
func (l *Ledger) notBuried(err error) bool {
	if code(err) != codeConstraint {
		return false
	}
	l.book.add(prefixOther+gateway.ReasonNotBuried, 1)
	return true
}

func (l *Ledger) buryEvent(c *conn, was *gateway.Pending, d gateway.Decision, now time.Time) (string, error) {
	letter := &gateway.DeadLetter{Kind: "event", Reason: d.Reason, Detail: d.Detail, App: was.App, Conv: was.Conv,
		Event: was.Event, N: was.N, Tries: d.Tries}
	_, err := c.one("SELECT v.platform, v.account, e.payload, e.pos, e.item FROM "+eventRows+" WHERE e.n = ?", func(r row) {
		letter.Platform, letter.Account, letter.Payload, letter.Pos, letter.Item = r.str(0), r.str(1), r.str(2), r.int(3), int(r.int(4))
	}, was.N)
	if err != nil {
		return "", err
	}
	return l.bury(c, now, letter)
}

// DeadLetter returns one dead letter.
func (l *Ledger) DeadLetter(ctx context.Context, id string) (*gateway.DeadLetter, error) {
	var d *gateway.DeadLetter
	err := l.people.read(ctx, func(c *conn) (err error) {
		d, err = deadLetter(c, id)
		return err
	})
	return d, err
}

func deadLetter(c *conn, id string) (*gateway.DeadLetter, error) {
	var d gateway.DeadLetter
	found, err := c.one("SELECT "+deadColumns+" FROM dead WHERE id = ?", func(r row) { d = scanDead(r) }, id)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("dead letter: %w", gateway.ErrNotFound)
	}
	return &d, nil
}

func stillOpen(c *conn, id string) (*gateway.DeadLetter, error) {
	d, err := deadLetter(c, id)
	if err == nil && d.State != "open" {
		return nil, fmt.Errorf("the dead letter is %s: %w", d.State, gateway.ErrConflict)
	}
	return d, err
}

func closeDead(c *conn, id, state, by, note string) error {
	_, err := c.exec("UPDATE dead SET state = ?, by = ?, note = ? WHERE id = ?", state, by, []byte(note), id)
	return err
}

// Requeue sets an open dead letter moving again; see store.AdminLedger.
func (l *Ledger) Requeue(ctx context.Context, id, by string, now time.Time) (gateway.Requeued, error) {
	var out gateway.Requeued
	err := l.act(ctx, 1, func(c *conn) error {
		d, err := stillOpen(c, id)
		if err != nil {
			return err
		}
		if out, err = l.requeue(c, d, by, now); err != nil {
			return err
		}
		return audit(c, now, by, "requeue", id)
	})
	if err != nil {
		return gateway.Requeued{}, err
	}
	return out, nil
}

// requeue sets d moving. With gateway.ErrConflict nothing is written: the thing it
// stands for is in another state by now.
func (l *Ledger) requeue(c *conn, d *gateway.DeadLetter, by string, now time.Time) (out gateway.Requeued, err error) {
	switch d.Kind {
	case "event":
		if out.Pending, err = l.requeueEvent(c, d); err == nil {
			out.Merged, err = l.stirs(c, d.Conv)
		}
	case "message":
		out.Conv, err = d.Conv, l.requeueMessage(c, d.Message, now)
	default:
		out.Again, err = true, queueAgain(c, gateway.AgainRow{Pos: d.Pos, Item: d.Item, Reason: "requeue"})
	}
	if err == nil {
		err = closeDead(c, d.ID, "requeued", by, "")
	}
	return out, err
}

// requeueEvent makes a dead event pending in its old place.
func (l *Ledger) requeueEvent(c *conn, d *gateway.DeadLetter) (*gateway.Pending, error) {
	p := gateway.Pending{App: d.App, Conv: d.Conv, N: d.N, Event: d.Event}
	found, err := c.one("DELETE FROM settled WHERE n = ? AND app = ? AND state = 'dead' RETURNING round, requeue",
		func(r row) { p.Round, p.Requeue = int(r.int(0))+1, int(r.int(1))+1 }, d.N, d.App)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("the event is not dead: %w", gateway.ErrConflict)
	}
	var key int64
	_, err = c.one("SELECT ord, run, c FROM event WHERE n = ?", func(r row) { p.Seq, p.Run, key = r.int(0), r.str(1), r.int(2) }, d.N)
	if err != nil {
		return nil, err
	}
	if p.Run != "" {
		p.Lane, p.Seq = gateway.LaneReplay, d.N
	}
	l.book.add(appCount(d.App, "dead"), -1)
	l.book.add(appCount(d.App, "pending"), 1)
	if _, err := c.exec(l.texts.pending.one, pendingArgs(key, &p)...); err != nil {
		return nil, err
	}
	l.book.waits(key, &p)
	return &p, nil
}

// Drop closes an open dead letter for good.
func (l *Ledger) Drop(ctx context.Context, id, by, note string, now time.Time) error {
	return l.act(ctx, 1, func(c *conn) error {
		d, err := stillOpen(c, id)
		if err == nil {
			err = l.drop(c, d, by, note)
		}
		if err != nil {
			return err
		}
		return auditMany(c, &gateway.AuditEntry{At: now, By: by, What: "drop", Target: id, Note: note})
	})
}

func (l *Ledger) drop(c *conn, d *gateway.DeadLetter, by, note string) error {
	if err := closeDead(c, d.ID, "dropped", by, note); err != nil || d.Kind != "event" {
		return err
	}
	n, err := c.exec("UPDATE settled SET state = 'dropped' WHERE n = ? AND app = ? AND state = 'dead'", d.N, d.App)
	l.book.add(appCount(d.App, "dead"), -n)
	l.book.add(appCount(d.App, "dropped"), n)
	return err
}
