package sqlite

import (
	"context"

	"github.com/causewayhq/causeway/gateway"
)

// lastWord says whether nobody has spoken in a conversation after an event that is
// about to be written: neither the other side, nor a colleague, nor we.
func (w *relayWrite) lastWord(t *talk, p *gateway.RelayedPayload, it *gateway.ItemRow) (bool, error) {
	at := nanos(happened(p, it))
	if t.newestAt > at || t.humanAt > at {
		return false, nil
	}
	said, err := w.c.one(`SELECT 1 FROM message WHERE conv = ? AND due_at > ? AND due_at <= ?
		AND (state = 'accepted' OR state = 'sending' OR state = 'unknown' OR state = 'waiting') LIMIT 1`, func(row) {}, t.conv, at, w.now)
	return !said, err
}

// tooLate records for applications that an event was recovered when nobody waited
// for an answer any more.
func (w *relayWrite) tooLate(n int64, apps []string) error {
	for _, app := range apps {
		_, err := w.c.exec(w.l.texts.settled.one, n, app, string(gateway.EventDropped), gateway.ReasonUnanswered, 0, 0, 0, w.now)
		if err != nil {
			return err
		}
		w.l.book.add(appCount(app, "wanted"), 1)
		w.l.book.add(appCount(app, "dropped"), 1)
	}
	return nil
}

// Unanswered lists what was recovered too late to be answered, newest first.
func (l *Ledger) Unanswered(ctx context.Context, app string, before int64, limit int) (out []gateway.Unanswered, err error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	err = l.r.snapshot(ctx, func(c *conn) error {
		return c.query(`SELECT s.n, s.app, s.at, e.id, v.conv, v.account, e.payload, e.received_at, e.occurred_at
			FROM settled s CROSS JOIN event e ON e.n = s.n CROSS JOIN conversation v ON v.c = e.c
			WHERE s.reason = 'unanswered' AND (? = '' OR s.app = ?) AND s.n < ? ORDER BY s.n DESC, s.app LIMIT ?`, func(r row) error {
			out = append(out, gateway.Unanswered{N: r.int(0), App: r.str(1), At: r.time(2), Event: eventID(r[3]), Conv: r.str(4), Account: r.str(5),
				Payload: r.str(6), ReceivedAt: r.time(7), OccurredAt: r.time(8)})
			return nil
		}, app, app, before, limitOf(limit))
	})
	return out, err
}
