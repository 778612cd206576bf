package sqlite

import (
	"context"

	"github.com/causewayhq/causeway/gateway"
)

// Told lists changes of messages for those who watch; see store.AdminLedger.
func (l *Ledger) Told(ctx context.Context, n int64, limit int) (out []gateway.Told, last int64, err error) {
	err = l.r.snapshot(ctx, func(c *conn) (err error) {
		if out, last = nil, n; n < 0 {
			last, err = c.number("SELECT max(n) FROM change")
			return err
		}
		rows, err := changesAfter(c, n, limit)
		if err != nil {
			return err
		}
		for i := range rows {
			told := gateway.Told{Change: rows[i]}
			if s := rows[i].State; s == gateway.MessageRejected || s == gateway.MessageExpired {
				_, err := c.one("SELECT id, reason, tries FROM dead WHERE kind = 'message' AND message = ? AND state = 'open'", func(r row) {
					told.Dead, told.Reason, told.Tries = r.str(0), r.str(1), int(r.int(2))
				}, rows[i].Message)
				if err != nil {
					return err
				}
			}
			out, last = append(out, told), rows[i].N
		}
		return nil
	})
	return out, last, err
}
