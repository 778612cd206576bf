package sqlite

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// pendingColumns of pendingRows: a row that waits, with its event.
const (
	pendingColumns = "p.app, p.lane, p.seq, p.tries, p.next_at, p.round, p.requeue, p.blocked_at, p.bundle, " +
		"iif(p.bundle > p.n, (SELECT id FROM event WHERE n = p.bundle), NULL), " + eventColumns
	pendingRows = "pending p CROSS JOIN event e ON e.n = p.n CROSS JOIN conversation v ON v.c = p.c"
)

func scanPending(r row) gateway.Pending {
	e := scanEvent(r[10:])
	p := gateway.Pending{
		App: r.str(0), Conv: e.Conv, Lane: gateway.Lane(r.int(1)), Seq: r.int(2), N: e.N, Event: e.ID, Run: e.Run,
		Tries: int(r.int(3)), NextAt: r.time(4), Round: int(r.int(5)), Requeue: int(r.int(6)), Blocked: r.time(7), Row: e,
	}
	switch mark := r.int(8); { // see 00017_collect.sql
	case mark > 0:
		p.Lead, p.Last = p.N, eventID(r[9])
	case mark < 0:
		p.Lead = -mark
	}
	return p
}

// headContent is the largest content that Heads brings along, in bytes: a page of
// heads must not fill the memory.
const headContent = 8 << 10

// Heads lists the head of every conversation of an application after afterConv.
// Each is looked for by itself, so that a conversation with many waiting events
// costs no more than another. Those with an event of ordinary size bring it along.
func (l *Ledger) Heads(ctx context.Context, app, afterConv string, limit int) (out []gateway.Pending, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error { // or every statement locks, and reads its pages again after a commit
		last, found, err := keyOf(c, afterConv)
		if err != nil {
			return err
		}
		switch {
		case afterConv == "":
			last = -1
		case !found:
			last = convKey(afterConv) + convKeys - 1
		}
		for len(out) < limit {
			found, err := c.one("SELECT "+pendingColumns+", p.c FROM "+pendingRows+" WHERE p.app = ? AND p.c > ? ORDER BY p.c, p.lane, p.seq LIMIT 1",
				func(r row) {
					p := scanPending(r)
					if last = r.int(len(r) - 1); len(p.Row.Content) > headContent {
						p.Row = nil
					}
					out = append(out, p)
				}, app, last)
			if err != nil || !found {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Events returns the rows named by n.
func (l *Ledger) Events(ctx context.Context, ns []int64) (map[int64]*gateway.EventRow, error) {
	out := make(map[int64]*gateway.EventRow, len(ns))
	err := l.r.snapshot(ctx, func(c *conn) error {
		for _, n := range ns {
			if _, err := c.one("SELECT "+eventColumns+" FROM "+eventRows+" WHERE e.n = ?", func(r row) { out[n] = scanEvent(r) }, n); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Resolve carries out a decision that no answer made, durable.
func (l *Ledger) Resolve(ctx context.Context, p gateway.Pending, d gateway.Decision, now time.Time) (gateway.Settled, error) {
	var out gateway.Settled
	err := l.write(ctx, true, 1, func(c *conn) error {
		out = gateway.Settled{App: p.App, Conv: p.Conv}
		w := settleWrite{l: l, c: c, now: now, rows: bulk{text: l.texts.settled}}
		key, q, err := w.waiting(p.App, p.Conv)
		if err != nil {
			return err
		}
		var was *gateway.Pending
		if i, found := q.find(&p); found {
			was = &q.rows[i]
		} else if !q.whole {
			_, err := c.one("SELECT "+pendingColumns+" FROM "+pendingRows+" WHERE p.app = ? AND p.c = ? AND p.lane = ? AND p.seq = ?",
				func(r row) { x := scanPending(r); was = &x }, p.App, key, int64(p.Lane), p.Seq)
			if err != nil {
				return err
			}
		}
		if was == nil || was.N != p.N || was.Round != p.Round {
			out.Late, out.Head = true, q.head()
			return nil
		}
		rows, err := w.answered(key, q, was, &gateway.Answer{Event: was.Delivery(), Verdict: gateway.VerdictDone})
		if err != nil {
			return err
		}
		if len(rows) == 0 { // it is no head
			out.Late, out.Head = true, q.head()
			return nil
		}
		if err := w.carryOut(&out, key, rows, d); err != nil {
			return err
		}
		if err := w.rows.flush(c); err != nil {
			return err
		}
		return w.emptied()
	})
	if err != nil {
		return gateway.Settled{}, err
	}
	return out, nil
}
