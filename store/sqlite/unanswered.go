package sqlite

import (
	"cmp"
	"context"
	"slices"

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

// Unanswered lists what was recovered too late to be answered, newest first. A page goes
// on behind an event, so those of one event stay together, beyond the limit if need be.
func (l *Ledger) Unanswered(ctx context.Context, app string, before int64, limit int) (out []gateway.Unanswered, err error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	limit = limitOf(limit)
	err = l.people.snapshot(ctx, func(c *conn) error {
		apps := []string{app}
		if app == "" {
			if apps, err = unansweredApps(c); err != nil {
				return err
			}
		}
		for _, app := range apps {
			// The index has no other events. By the table's key it would be a walk back
			// over all that was ever settled.
			err := c.query(`SELECT s.n, s.app, s.at, e.id, v.conv, v.account, e.payload, e.received_at, e.occurred_at
				FROM settled s INDEXED BY settled_unanswered CROSS JOIN event e ON e.n = s.n CROSS JOIN conversation v ON v.c = e.c
				WHERE s.reason = 'unanswered' AND s.app = ? AND s.n < ? ORDER BY s.n DESC LIMIT ?`, func(r row) error {
				out = append(out, gateway.Unanswered{N: r.int(0), App: r.str(1), At: r.time(2), Event: eventID(r[3]), Conv: r.str(4), Account: r.str(5),
					Payload: r.str(6), ReceivedAt: r.time(7), OccurredAt: r.time(8)})
				return nil
			}, app, before, limit)
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b gateway.Unanswered) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.App, b.App)) })
	end := min(len(out), limit)
	for end > 0 && end < len(out) && out[end].N == out[end-1].N {
		end++
	}
	return out[:end], err
}

// unansweredApps are the applications that have something unanswered.
func unansweredApps(c *conn) (apps []string, err error) {
	for app := ""; ; {
		found, err := c.one(`SELECT app FROM settled INDEXED BY settled_unanswered WHERE reason = 'unanswered' AND app > ?
			ORDER BY app LIMIT 1`, func(r row) { app = r.str(0) }, app)
		if err != nil || !found {
			return apps, err
		}
		apps = append(apps, app)
	}
}
