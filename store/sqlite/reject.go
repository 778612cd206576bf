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
	in := *r
	header, err := encodeHeader(in.Payload.Header)
	if err != nil {
		return err
	}
	size := payloadBytes(&in.Payload, header)
	now := a.opts.Now()
	var id int64
	err = a.w.submit(ctx, false, size, func(c *conn) error {
		p := &in.Payload
		_, err := c.one(`INSERT INTO reject (at, reason, size, received_at, platform, endpoint, key_fp, request_line, header, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, func(r row) { id = r.int(0) },
			in.At, in.Reason, size, p.ReceivedAt, p.Platform, p.Endpoint, p.KeyFP, []byte(p.RequestLine), header, p.Body)
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

const rejectColumns = "received_at, platform, endpoint, key_fp, request_line, header, id, at, reason"

func scanReject(r row) (x gateway.Reject, err error) {
	p := &x.Payload
	p.ReceivedAt, p.Platform, p.Endpoint, p.KeyFP = r.time(0), r.str(1), r.str(2), r.str(3)
	p.RequestLine = string(r.blob(4))
	p.Header, err = decodeHeader(r.blob(5))
	x.ID, x.At, x.Reason = r.int(6), r.time(7), r.str(8)
	return x, err
}

// Rejects lists rejects newest first, without their bodies.
func (a *Archive) Rejects(ctx context.Context, before int64, limit int) (out []gateway.Reject, err error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	err = a.r.read(ctx, func(c *conn) error {
		return c.query("SELECT "+rejectColumns+" FROM reject WHERE id < ? ORDER BY id DESC LIMIT ?", func(r row) error {
			x, err := scanReject(r)
			out = append(out, x)
			return err
		}, before, limitOf(limit))
	})
	return out, err
}

// Reject returns one reject with its body.
func (a *Archive) Reject(ctx context.Context, id int64) (*gateway.Reject, error) {
	var x gateway.Reject
	err := a.r.read(ctx, func(c *conn) error {
		var serr error
		found, err := c.one("SELECT "+rejectColumns+", body FROM reject WHERE id = ?", func(r row) {
			x, serr = scanReject(r)
			x.Payload.Body = r.blob(9)
		}, id)
		switch {
		case err != nil:
			return err
		case !found:
			return gateway.ErrNotFound
		}
		return serr
	})
	if err != nil {
		return nil, err
	}
	return &x, nil
}

// Readmit appends p and removes the reject in one durable transaction.
func (a *Archive) Readmit(ctx context.Context, reject int64, p *gateway.Payload) error {
	in := *p
	header, err := encodeHeader(in.Header)
	if err != nil {
		return err
	}
	var pos int64
	err = a.w.submit(ctx, true, payloadBytes(&in, header), func(c *conn) error {
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
		pos, err = a.append(c, &in, header)
		return err
	})
	if err != nil {
		return err
	}
	p.Pos, p.ID = pos, store.PayloadID(p.ReceivedAt, pos)
	return nil
}
