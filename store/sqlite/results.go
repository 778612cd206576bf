package sqlite

import (
	"context"

	"github.com/causewayhq/causeway/gateway"
)

// placeResults is the name of a receiver's place.
func placeResults(receiver string) string { return "results/" + receiver }

// ResultsFrom is the place of a receiver of results; one that was never seen is put at
// the end.
func (l *Ledger) ResultsFrom(ctx context.Context, receiver string) (n int64, err error) {
	err = l.write(ctx, true, 0, func(c *conn) error {
		found, err := c.one("SELECT a FROM place WHERE name = ?", func(r row) { n = r.int(0) }, placeResults(receiver))
		if err != nil || found {
			return err
		}
		n = l.book.changes
		return setPlace(c, placeResults(receiver), n, 0)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// ResultsAfter lists changes of messages behind a place, with whom they are told to.
func (l *Ledger) ResultsAfter(ctx context.Context, n int64, limit int) (out []gateway.Result, last int64, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		out, last = nil, n
		rows, err := changesAfter(c, n, limit)
		if err != nil {
			return err
		}
		for i := range rows {
			if last = rows[i].N; rows[i].Message == "" {
				continue // what an echo is
			}
			m, err := messageByID(c, rows[i].Message)
			switch {
			case isNotFound(err):
				out = append(out, gateway.Result{Change: rows[i]})
			case err != nil:
				return err
			default:
				out = append(out, gateway.Result{Change: rows[i], Callback: m.Callback})
			}
		}
		return nil
	})
	return out, last, err
}

// KeepResults moves the place of a receiver; never back. Not durable: what is posted
// again has the same id.
func (l *Ledger) KeepResults(ctx context.Context, receiver string, n int64, undelivered int) error {
	return l.write(ctx, false, 0, func(c *conn) error {
		if undelivered > 0 {
			l.book.add(prefixOther+"results_undelivered", int64(undelivered))
		}
		_, err := c.exec("INSERT INTO place (name, a, b) VALUES (?, ?, 0) ON CONFLICT (name) DO UPDATE SET a = max(a, excluded.a)",
			placeResults(receiver), n)
		return err
	})
}
