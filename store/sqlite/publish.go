package sqlite

import (
	"context"

	"github.com/causewayhq/causeway/gateway"
)

// eventColumns of eventRows.
const (
	eventColumns = `e.n, e.id, e.run, v.platform, v.account, v.conv, v.chat, e.ord, e.kind, e.origin, e.payload, e.received_at, e.occurred_at, e.content`
	eventRows    = "event e CROSS JOIN conversation v ON v.c = e.c"
)

func scanEvent(r row) *gateway.EventRow {
	return &gateway.EventRow{
		N: r.int(0), ID: eventID(r[1]), Run: r.str(2), Platform: r.str(3), Account: r.str(4), Conv: r.str(5),
		Chat: gateway.ChatKind(r.str(6)), Seq: max(r.int(7), 0), Kind: gateway.Kind(r.str(8)), Origin: gateway.Origin(r.str(9)),
		Payload: r.str(10), ReceivedAt: r.time(11), OccurredAt: r.time(12), Content: r.blob(13),
	}
}

// Unpublished lists live and backfilled events after the publish cursor.
func (l *Ledger) Unpublished(ctx context.Context, limit int) (out []gateway.EventRow, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		n, _, err := place(c, "published")
		if err != nil {
			return err
		}
		err = c.query("SELECT "+eventColumns+" FROM "+eventRows+" WHERE e.n > ? AND e.run = '' ORDER BY e.n LIMIT ?", func(r row) error {
			out = append(out, *scanEvent(r))
			return nil
		}, max(n, l.replays.Load()), limit)
		if err != nil || len(out) > 0 {
			return err
		}
		// Only replays from here on: a long one is not walked through each time.
		n, err = c.number("SELECT max(n) FROM event")
		l.replays.Store(max(n, l.replays.Load()))
		return err
	})
	return out, err
}

// SetPublished moves the publish cursor; never back. Not durable: an event
// published twice has the same message id.
func (l *Ledger) SetPublished(ctx context.Context, n int64) error {
	return l.cursor(ctx, "published", n)
}

// SetChangesPublished moves the cursor of the changes; never back.
func (l *Ledger) SetChangesPublished(ctx context.Context, n int64) error {
	return l.cursor(ctx, "changes", n)
}

func (l *Ledger) cursor(ctx context.Context, name string, n int64) error {
	return l.write(ctx, false, 0, func(c *conn) error {
		_, err := c.exec("INSERT INTO place (name, a, b) VALUES (?, ?, 0) ON CONFLICT (name) DO UPDATE SET a = max(a, excluded.a)", name, n)
		return err
	})
}

// UnpublishedChanges lists changes after their cursor.
func (l *Ledger) UnpublishedChanges(ctx context.Context, limit int) (out []gateway.Change, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		n, _, err := place(c, "changes")
		if err != nil {
			return err
		}
		out, err = changesAfter(c, n, limit)
		return err
	})
	return out, err
}

// changesAfter reads changes in order.
func changesAfter(c *conn, n int64, limit int) (out []gateway.Change, err error) {
	err = c.query(`SELECT n, at, message, task, part, app, event, platform, account, conv, state, delivery, code, by, echo, external_id,
		result, task_state FROM change WHERE n > ? ORDER BY n LIMIT ?`, func(r row) error {
		out = append(out, gateway.Change{
			N: r.int(0), At: r.time(1), Message: r.str(2), Task: r.str(3), Part: int(r.int(4)), App: r.str(5), Event: r.str(6),
			Platform: r.str(7), Account: r.str(8), Conv: r.str(9), State: gateway.MessageState(r.str(10)),
			Delivery: gateway.StatusState(r.str(11)), Code: r.str(12), By: r.str(13), Echo: gateway.Judgement(r.str(14)), ExternalID: r.str(15),
			Result: r.str(16), TaskState: gateway.MessageState(r.str(17)),
		})
		return nil
	}, n, limit)
	return out, err
}

// changed records a change for CW_RESULT.
func (l *Ledger) changed(c *conn, ch *gateway.Change) error {
	l.book.changes++
	_, err := c.exec(`INSERT INTO change (n, at, message, task, part, app, event, platform, account, conv, state, delivery, code, by, echo, external_id,
		result, task_state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.book.changes, ch.At, ch.Message, ch.Task, ch.Part, ch.App, ch.Event, ch.Platform, ch.Account, ch.Conv,
		string(ch.State), string(ch.Delivery), ch.Code, ch.By, string(ch.Echo), ch.ExternalID, ch.Result, string(ch.TaskState))
	return err
}
