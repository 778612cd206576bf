package sqlite

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Collect writes down what is offered together with heads; see store.GateLedger.
// Idempotency: a head whose bundle was written down gets the same one again.
func (l *Ledger) Collect(ctx context.Context, heads []gateway.Pending, rule gateway.Collect, now time.Time) ([]gateway.Bundle, error) {
	var out []gateway.Bundle
	err := l.write(ctx, true, len(heads), func(c *conn) error {
		out = make([]gateway.Bundle, len(heads))
		for i := range heads {
			var err error
			if out[i], err = l.collect(c, &heads[i], rule, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (l *Ledger) collect(c *conn, head *gateway.Pending, rule gateway.Collect, now time.Time) (out gateway.Bundle, err error) {
	key, found, err := l.key(c, head.Conv)
	if err != nil {
		return out, err
	}
	if !found {
		return gateway.Bundle{Moved: true}, nil
	}
	q, err := l.waiting(c, head.App, key)
	if err != nil {
		return out, err
	}
	first := q.head()
	switch {
	case first == nil || first.N != head.N || first.Round != head.Round:
		return gateway.Bundle{Moved: true, Head: first}, nil
	case first.Last != "":
		out.Rows, err = l.bundle(c, key, q, first)
		return out, err
	case first.Lead != 0 || !rule.On():
		return gateway.Bundle{Rows: []gateway.Pending{*first}}, nil
	}
	rows, err := firstWaiting(c, head.App, key, q, rule.Max+1)
	if err != nil {
		return out, err
	}
	n, due := rule.Bundle(rows, now)
	if due.After(now) {
		return gateway.Bundle{NotBefore: due, Waiting: n}, nil
	}
	if out.Rows = rows[:n]; !rows[0].Collectable() { // it goes alone whatever follows
		return out, nil
	}
	return out, l.tie(c, key, out.Rows)
}

// tie makes a bundle of rows of one conversation that stand in order.
func (l *Ledger) tie(c *conn, key int64, rows []gateway.Pending) error {
	lead, last := rows[0].N, &rows[len(rows)-1]
	for i := range rows {
		p, mark := &rows[i], -lead
		if p.Lead = lead; i == 0 {
			if mark = last.N; len(rows) > 1 {
				p.Last = last.Event
			}
		}
		if err := l.mark(c, key, p, mark); err != nil {
			return err
		}
	}
	return nil
}

// untie makes single rows of those of a bundle.
func (l *Ledger) untie(c *conn, key int64, rows []gateway.Pending) error {
	for i := range rows {
		rows[i].Lead, rows[i].Last = 0, ""
		if err := l.mark(c, key, &rows[i], 0); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) mark(c *conn, key int64, p *gateway.Pending, mark int64) error {
	_, err := c.exec("UPDATE pending SET bundle = ? WHERE app = ? AND c = ? AND lane = ? AND seq = ?", mark, p.App, key, int64(p.Lane), p.Seq)
	l.book.retried(key, p)
	return err
}

// firstWaiting is a copy of the first rows of a conversation, at most most and about
// as much as a bundle holds.
func firstWaiting(c *conn, app string, key int64, q *waiting, most int) ([]gateway.Pending, error) {
	if q.whole || len(q.rows) >= most {
		return append([]gateway.Pending(nil), q.rows[:min(most, len(q.rows))]...), nil
	}
	var rows []gateway.Pending
	bytes := 0
	err := c.query("SELECT "+pendingColumns+" FROM "+pendingRows+" WHERE p.app = ? AND p.c = ? ORDER BY p.lane, p.seq LIMIT ?", func(r row) error {
		rows = append(rows, scanPending(r))
		if bytes += len(rows[len(rows)-1].Row.Content); bytes > gateway.CollectBytes {
			return errStop // the rule sees that it is too much
		}
		return nil
	}, app, key, most)
	return rows, err
}

// bundle is a copy of the rows of the bundle that lead leads, in order.
func (l *Ledger) bundle(c *conn, key int64, q *waiting, lead *gateway.Pending) ([]gateway.Pending, error) {
	var rows []gateway.Pending
	for i := range q.rows {
		if p := &q.rows[i]; p.Lead == lead.N {
			if rows = append(rows, *p); p.Event == lead.Last {
				return rows, nil
			}
		}
	}
	if q.whole { // something of it was erased
		return rows, nil
	}
	rows = nil
	err := c.query("SELECT "+pendingColumns+" FROM "+pendingRows+` WHERE p.app = ? AND p.c = ? AND p.lane = ? AND p.seq >= ?
		AND (p.n = ? OR p.bundle = ?) ORDER BY p.seq`, func(r row) error {
		rows = append(rows, scanPending(r))
		if rows[len(rows)-1].Event == lead.Last {
			return errStop
		}
		return nil
	}, lead.App, key, int64(lead.Lane), lead.Seq, lead.N, -lead.N)
	return rows, err
}

// answered finds the rows that an answer is for, in order, among them was, which is
// the row of the event that it names: none when nothing that waits was handed out so,
// or when the answer is outdated. An answer to the first event of a bundle alone is of
// an offer from before the bundle was made, while the application did not collect: it
// counts for that event, and the others are free again.
func (w *settleWrite) answered(key int64, q *waiting, was *gateway.Pending, a *gateway.Answer) ([]gateway.Pending, error) {
	lead, err := w.lead(key, q, was)
	switch {
	case err != nil:
		return nil, err
	case lead == nil || lead.Last == "":
		if gateway.IsBundle(a.Event) || lead != nil && lead.N != was.N || a.Outdated(was) {
			return nil, nil
		}
		return []gateway.Pending{*was}, nil
	}
	alone := *lead
	alone.Lead, alone.Last = 0, ""
	switch {
	case a.Event == lead.Delivery():
		if a.Outdated(lead) {
			return nil, nil
		}
		return w.l.bundle(w.c, key, q, lead)
	case gateway.IsBundle(a.Event) || was.N != lead.N || a.Outdated(&alone):
		return nil, nil
	}
	rows, err := w.l.bundle(w.c, key, q, lead)
	if err == nil {
		err = w.l.untie(w.c, key, rows)
	}
	if err != nil {
		return nil, err
	}
	return rows[:1], nil
}

// lead is the row that leads the bundle of was; nil for none that waits.
func (w *settleWrite) lead(key int64, q *waiting, was *gateway.Pending) (lead *gateway.Pending, err error) {
	if was.Lead == 0 || was.Lead == was.N {
		if was.Lead == 0 {
			return nil, nil
		}
		return was, nil
	}
	for i := range q.rows {
		if q.rows[i].N == was.Lead {
			return &q.rows[i], nil
		}
	}
	if q.whole {
		return nil, nil
	}
	_, err = w.c.one("SELECT "+pendingColumns+` FROM event e CROSS JOIN conversation v ON v.c = e.c CROSS JOIN pending p
		ON p.app = ? AND p.c = e.c AND p.lane = 0 AND p.seq = e.ord WHERE e.n = ? AND e.c = ?`,
		func(r row) { p := scanPending(r); lead = &p }, was.App, was.Lead, key)
	return lead, err
}
