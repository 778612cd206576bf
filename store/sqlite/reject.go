package sqlite

import (
	"context"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// rejectSlice bounds how many old rejects one write drops.
const rejectSlice = 64

// AppendReject keeps an unverified callback, without an fsync of its own. Only
// so many wait at a time; one more is refused with gateway.ErrUnavailable, so
// that a flood of them does not stand before genuine callbacks.
func (a *Archive) AppendReject(ctx context.Context, r *gateway.Reject) error {
	select {
	case a.rejects <- struct{}{}:
		defer func() { <-a.rejects }()
	default:
		return fmt.Errorf("too many unverified callbacks at once: %w", gateway.ErrUnavailable)
	}
	at, reason := r.At, r.Reason
	in, err := newPayloadRow(&r.Payload)
	if err != nil {
		return err
	}
	size := in.size()
	now := a.opts.Now()
	var id int64
	err = a.w.submit(ctx, false, size, func(c *conn) error {
		_, err := c.one("INSERT INTO reject (at, reason, size, received_at, head, body) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
			func(r row) { id = r.int(0) }, at, reason, size, in.receivedAt, in.head, in.body)
		if err != nil {
			return err
		}
		a.book.rejects++
		a.book.rejectBytes += int64(size)
		return a.dropRejects(c, nanos(a.cutoff(now)))
	})
	if err != nil {
		return err
	}
	r.ID = id
	return nil
}

// dropRejects removes the oldest over the bounds, some at a time.
func (a *Archive) dropRejects(c *conn, cutoff int64) error {
	type old struct{ id, size, at int64 }
	var olds []old
	err := c.query("SELECT id, size, at FROM reject ORDER BY id LIMIT ?", func(r row) error {
		o := old{r.int(0), r.int(1), r.int(2)}
		n, b := a.book.rejects-int64(len(olds)), a.book.rejectBytes
		for _, x := range olds {
			b -= x.size
		}
		if n <= a.opts.RejectMax && b <= a.opts.RejectBytes && o.at >= cutoff {
			return errStop
		}
		olds = append(olds, o)
		return nil
	}, rejectSlice)
	if err != nil {
		return err
	}
	for _, o := range olds {
		if _, err := c.exec("DELETE FROM reject WHERE id = ?", o.id); err != nil {
			return err
		}
		a.book.rejects--
		a.book.rejectBytes -= o.size
	}
	return nil
}

const rejectColumns = "received_at, head, id, at, reason"

func scanReject(r row) (x gateway.Reject) {
	x.Payload.ReceivedAt = r.time(0)
	decodeHead(r.blob(1), &x.Payload)
	x.ID, x.At, x.Reason = r.int(2), r.time(3), r.str(4)
	return x
}

// Rejects lists rejects newest first, without their bodies.
func (a *Archive) Rejects(ctx context.Context, before int64, limit int) (out []gateway.Reject, err error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	err = a.r.read(ctx, func(c *conn) error {
		return c.query("SELECT "+rejectColumns+" FROM reject WHERE id < ? ORDER BY id DESC LIMIT ?", func(r row) error {
			out = append(out, scanReject(r))
			return nil
		}, before, limitOf(limit))
	})
	return out, err
}

// Reject returns one reject with its body.
func (a *Archive) Reject(ctx context.Context, id int64) (*gateway.Reject, error) {
	var x gateway.Reject
	err := a.r.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT "+rejectColumns+", body FROM reject WHERE id = ?", func(r row) {
			x = scanReject(r)
			x.Payload.Body = r.blob(5)
		}, id)
		if err == nil && !found {
			return gateway.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &x, nil
}

// Readmit appends p and removes the reject in one durable transaction.
func (a *Archive) Readmit(ctx context.Context, reject int64, p *gateway.Payload) error {
	in, err := newPayloadRow(p)
	if err != nil {
		return err
	}
	err = a.w.submit(ctx, true, in.size(), func(c *conn) error {
		var size int64
		found, err := c.one("DELETE FROM reject WHERE id = ? RETURNING size", func(r row) { size = r.int(0) }, reject)
		switch {
		case err != nil:
			return err
		case !found:
			return gateway.ErrNotFound
		}
		a.book.rejects--
		a.book.rejectBytes -= size
		return a.insert(c, []*payloadRow{in})
	})
	if err != nil {
		return err
	}
	p.Pos, p.ID = in.pos, store.PayloadID(p.ReceivedAt, in.pos)
	return nil
}
