package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// bury writes an open dead letter and returns its id.
func (l *Ledger) bury(c *conn, now time.Time, d *gateway.DeadLetter) (string, error) {
	id, err := l.book.newID("dl_", now)
	if err != nil {
		return "", err
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

const deadColumns = "id, kind, state, at, reason, detail, app, platform, account, conv, event, n, message, payload, pos, item, tries, by"

func scanDead(r row) gateway.DeadLetter {
	return gateway.DeadLetter{
		ID: r.str(0), Kind: r.str(1), State: r.str(2), At: r.time(3), Reason: r.str(4), Detail: string(r.blob(5)), App: r.str(6),
		Platform: r.str(7), Account: r.str(8), Conv: r.str(9), Event: r.str(10), N: r.int(11), Message: r.str(12), Payload: r.str(13),
		Pos: r.int(14), Item: int(r.int(15)), Tries: int(r.int(16)), By: r.str(17),
	}
}

// Dead lists dead letters, newest first.
func (l *Ledger) Dead(ctx context.Context, q store.DeadQuery) (out []gateway.DeadLetter, err error) {
	if q.State == "" {
		q.State = "open"
	}
	err = l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT "+deadColumns+` FROM dead WHERE state = ? AND (? = '' OR app = ?) AND (? = '' OR kind = ?)
			AND (? = '' OR reason = ?) ORDER BY id DESC LIMIT ?`, func(r row) error {
			out = append(out, scanDead(r))
			return nil
		}, q.State, q.App, q.App, q.Kind, q.Kind, q.Reason, q.Reason, limitOf(q.Limit))
	})
	return out, err
}

// DeadLetter returns one dead letter.
func (l *Ledger) DeadLetter(ctx context.Context, id string) (*gateway.DeadLetter, error) {
	var d *gateway.DeadLetter
	err := l.r.read(ctx, func(c *conn) (err error) {
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

func openDead(c *conn, id string) (*gateway.DeadLetter, error) {
	d, err := deadLetter(c, id)
	if err == nil && d.State != "open" {
		return nil, fmt.Errorf("the dead letter is %s: %w", d.State, gateway.ErrConflict)
	}
	return d, err
}

func closeDead(c *conn, id, state, by string) error {
	_, err := c.exec("UPDATE dead SET state = ?, by = ? WHERE id = ?", state, by, id)
	return err
}

// Requeue sets an open dead letter moving again; see store.AdminLedger.
func (l *Ledger) Requeue(ctx context.Context, id, by string, now time.Time) (gateway.Requeued, error) {
	var out gateway.Requeued
	err := l.write(ctx, true, 1, func(c *conn) error {
		out = gateway.Requeued{}
		d, err := openDead(c, id)
		if err != nil {
			return err
		}
		if err := closeDead(c, id, "requeued", by); err != nil {
			return err
		}
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
		if err != nil {
			return err
		}
		return audit(c, now, by, "requeue", id)
	})
	if err != nil {
		return gateway.Requeued{}, err
	}
	return out, nil
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
func (l *Ledger) Drop(ctx context.Context, id, by string, now time.Time) error {
	return l.write(ctx, true, 1, func(c *conn) error {
		d, err := openDead(c, id)
		if err != nil {
			return err
		}
		if err := closeDead(c, id, "dropped", by); err != nil {
			return err
		}
		if d.Kind == "event" {
			n, err := c.exec("UPDATE settled SET state = 'dropped' WHERE n = ? AND app = ? AND state = 'dead'", d.N, d.App)
			if err != nil {
				return err
			}
			l.book.add(appCount(d.App, "dead"), -n)
			l.book.add(appCount(d.App, "dropped"), n)
		}
		return audit(c, now, by, "drop", id)
	})
}
