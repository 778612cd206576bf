package sqlite

import (
	"context"
	"os"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

const payloadColumns = "pos, received_at, head"

func scanPayload(r row) (p gateway.Payload) {
	p.Pos, p.ReceivedAt = r.int(0), r.time(1)
	decodeHead(r.blob(2), &p)
	p.ID = store.PayloadID(p.ReceivedAt, p.Pos)
	return p
}

// Read returns payloads after a position, in order.
func (a *Archive) Read(ctx context.Context, after int64, limit, maxBytes int) (out []gateway.Payload, err error) {
	err = a.r.read(ctx, func(c *conn) error {
		bytes := 0
		return c.query("SELECT "+payloadColumns+", body FROM payload WHERE pos > ? ORDER BY pos LIMIT ?",
			func(r row) error {
				p := scanPayload(r)
				p.Body = r.blob(3)
				if bytes += len(p.Body); bytes > maxBytes && len(out) > 0 {
					return errStop
				}
				out = append(out, p)
				return nil
			}, after, limit)
	})
	return out, err
}

// Get returns one payload with its body.
func (a *Archive) Get(ctx context.Context, pos int64) (*gateway.Payload, error) {
	var p gateway.Payload
	err := a.r.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT "+payloadColumns+", body FROM payload WHERE pos = ?", func(r row) {
			p = scanPayload(r)
			p.Body = r.blob(3)
		}, pos)
		if err == nil && !found {
			return gateway.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// timeSlack is how far times and positions may be in a different order: callers
// of Append read the clock before they queue.
const timeSlack = 5 * time.Minute

// listLook is how many payloads a list looks at: it takes 20 ms, whatever the query and
// however many were archived.
const listLook = 10_000

// List returns payloads newest first, without their bodies. Times grow with
// positions but for timeSlack, so the range of positions is found by halving
// and no index is needed.
func (a *Archive) List(ctx context.Context, q store.PayloadQuery) (out []gateway.Payload, next int64, err error) {
	err = a.r.snapshot(ctx, func(c *conn) error {
		low, err := c.number("SELECT min(pos) FROM payload")
		if err != nil {
			return err
		}
		high, err := c.number("SELECT max(pos) FROM payload")
		if err != nil {
			return err
		}
		until := high + 1
		if q.Before > 0 {
			until = min(until, q.Before)
		}
		if !q.Until.IsZero() {
			pos, err := positionAt(c, low, high, nanos(q.Until.Add(timeSlack)))
			if err != nil {
				return err
			}
			until = min(until, pos)
		}
		if !q.Since.IsZero() {
			if low, err = positionAt(c, low, high, nanos(q.Since.Add(-timeSlack))); err != nil {
				return err
			}
		}
		limit, edge := limitOf(q.Limit), max(low, until-listLook)
		if edge > low {
			next = edge // unless it is full before
		}
		return c.query("SELECT "+payloadColumns+` FROM payload WHERE pos >= ? AND pos < ?
			AND received_at >= ? AND (? = 0 OR received_at < ?) ORDER BY pos DESC`,
			func(r row) error {
				if len(out) == limit {
					next = out[limit-1].Pos
					return errStop
				}
				if p := scanPayload(r); q.Endpoint == "" || p.Endpoint == q.Endpoint {
					out = append(out, p)
				}
				return nil
			}, edge, until, sinceNanos(q.Since), q.Until, q.Until)
	})
	return out, next, err
}

// sinceNanos is the lower bound of a time; no bound is below every time.
func sinceNanos(t time.Time) int64 {
	if t.IsZero() {
		return -1 << 63
	}
	return t.UnixNano()
}

// positionAt is the first position from low to high whose time is at or after
// at; high + 1 when there is none.
func positionAt(c *conn, low, high, at int64) (int64, error) {
	for low <= high {
		mid := low + (high-low)/2
		var have int64
		found, err := c.one("SELECT received_at FROM payload WHERE pos >= ? ORDER BY pos LIMIT 1",
			func(r row) { have = r.int(0) }, mid)
		if err != nil {
			return 0, err
		}
		if !found || have >= at {
			high = mid - 1
		} else {
			low = mid + 1
		}
	}
	return low, nil
}

// limitOf is the length of an admin's list when it names none.
func limitOf(n int) int {
	if n <= 0 {
		return 100
	}
	return n
}

// After counts the payloads above pos. Positions have no holes between the
// oldest and the newest row, so nothing is counted one by one.
func (a *Archive) After(ctx context.Context, pos int64) (n int64, err error) {
	err = a.r.read(ctx, func(c *conn) error {
		low, high, err := bounds(c)
		n = max(high-max(pos, low-1), 0)
		return err
	})
	return n, err
}

func bounds(c *conn) (low, high int64, err error) {
	_, err = c.one("SELECT (SELECT min(pos) FROM payload), (SELECT max(pos) FROM payload)",
		func(r row) { low, high = r.int(0), r.int(1) })
	return low, high, err
}

// Stats are the archive's own numbers.
func (a *Archive) Stats(ctx context.Context) (s store.ArchiveStats, err error) {
	err = a.r.snapshot(ctx, func(c *conn) error {
		low, high, err := bounds(c)
		if err != nil {
			return err
		}
		s.LastPos = high
		if high > 0 {
			s.Payloads = high - low + 1
		}
		s.Rejects, err = c.number("SELECT count(*) FROM reject")
		return err
	})
	for _, suffix := range []string{"", "-wal"} {
		if st, serr := os.Stat(a.path + suffix); serr == nil {
			s.Bytes += st.Size()
		}
	}
	return s, err
}
