package sqlite

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// Pulled says how far a source was read. A source that was never asked for
// begins now, durably, so that what is older than that stays older.
func (a *Archive) Pulled(ctx context.Context, source string, now time.Time) (p gateway.Pulled, err error) {
	read := func(c *conn) (found bool, err error) {
		return c.one("SELECT cursor, since FROM pull WHERE source = ?", func(r row) {
			p = gateway.Pulled{Source: source, Cursor: r.str(0), Since: r.time(1)}
		}, source)
	}
	found := false
	if err = a.r.read(ctx, func(c *conn) error { found, err = read(c); return err }); err != nil || found {
		return p, err
	}
	err = a.w.submitWhole(ctx, true, len(source), func(c *conn) error {
		if _, err := c.exec("INSERT INTO pull (source, cursor, since) VALUES (?, '', ?) ON CONFLICT DO NOTHING", source, now); err != nil {
			return err
		}
		_, err := read(c)
		return err
	})
	return p, err
}

// AppendPulled moves a cursor and adds the page in one durable transaction.
func (a *Archive) AppendPulled(ctx context.Context, at gateway.Pulled, cursor string, page *gateway.Payload) error {
	var in *payloadRow
	size := len(at.Source) + len(cursor)
	if page != nil {
		var err error
		if in, err = newPayloadRow(page); err != nil {
			return err
		}
		size += in.size()
	}
	err := a.w.submitWhole(ctx, true, size, func(c *conn) error {
		moved, err := c.one("UPDATE pull SET cursor = ? WHERE source = ? AND cursor = ? RETURNING 1", func(row) {},
			cursor, at.Source, at.Cursor)
		switch {
		case err != nil:
			return err
		case !moved:
			return gateway.ErrConflict
		case in == nil:
			return nil
		}
		return a.insert(c, []*payloadRow{in})
	})
	if err == nil && page != nil {
		page.Pos, page.ID = in.pos, store.PayloadID(page.ReceivedAt, in.pos)
	}
	return err
}
