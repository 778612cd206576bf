package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Begun looks at the newest begunChanges changes, begunPage in one read, which takes
// about a second for all on a busy machine of two cores (BenchmarkBegun). At 80 messages
// a second with three statuses each that is the last ten minutes, and WhatsApp's pair is
// repaid after four and a half.
const (
	begunChanges = 200_000
	begunPage    = 2000
)

// Begun lists the attempts since a time; see store.AccountLedger. No index has the
// attempts by time: it would be written with each of them, to be read once a start.
// But every end of an attempt is a change, and changes are in order; those that have
// not ended are of messages that are being sent.
func (l *Ledger) Begun(ctx context.Context, since time.Time) (out []gateway.Begun, err error) {
	return l.begun(ctx, since, begunChanges, begunPage)
}

func (l *Ledger) begun(ctx context.Context, since time.Time, most, page int64) (out []gateway.Begun, err error) {
	seen := map[string]bool{}
	add := func(c *conn, id string) error {
		if id == "" || seen[id] {
			return nil
		}
		seen[id] = true
		return c.query("SELECT m.account, m.conv, m.type, a.started_at FROM attempt a JOIN message m ON m.id = a.message WHERE a.message = ? AND a.started_at >= ?",
			func(r row) error {
				if !gateway.ReplyType(r.str(2)).Harmless() {
					out = append(out, gateway.Begun{Account: r.str(0), Conv: r.str(1), At: r.time(3)})
				}
				return nil
			}, id, since)
	}
	each := func(text string, args ...any) (last int64, err error) {
		err = l.r.snapshot(ctx, func(c *conn) error {
			var ids []string
			err := c.query(text, func(r row) error {
				last = r.int(0)
				if r.time(1).Before(since) {
					last = 0
					return errStop
				}
				ids = append(ids, r.str(2))
				return nil
			}, args...)
			for _, id := range ids {
				if err == nil {
					err = add(c, id)
				}
			}
			return err
		})
		return last, err
	}
	if _, err = each("SELECT row, ?, id FROM message WHERE state = 'sending'", since); err != nil {
		return nil, err
	}
	newest, err := each("SELECT n, ?, '' FROM change ORDER BY n DESC LIMIT 1", since)
	if err != nil {
		return nil, err
	}
	for at := newest + 1; at > max(newest-most+1, 1); {
		before := at
		if at, err = each("SELECT n, at, message FROM change WHERE n < ? ORDER BY n DESC LIMIT ?", at, min(page, most)); err != nil {
			return nil, err
		}
		if at == 0 || at == before {
			break
		}
	}
	slices.SortStableFunc(out, func(a, b gateway.Begun) int { return a.At.Compare(b.At) })
	return out, nil
}
