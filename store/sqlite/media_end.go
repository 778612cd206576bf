package sqlite

import (
	"context"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// EndMedia ends a pending file and makes its notice, in one durable change.
// Idempotency: a file that is not pending any more is passed over; the notice's
// id follows from its event's.
//
// It is durable although the relay's rows are not: those are made again from the
// archive after a power failure, with the same numbers; the seq of a notice
// depends on when its file came, so it must not be lost once it was seen.
func (l *Ledger) EndMedia(ctx context.Context, e *gateway.MediaEnd) (gateway.RelayResult, error) {
	var res gateway.RelayResult
	err := l.write(ctx, true, 1, func(c *conn) error {
		w := relayWrite{l: l, c: c, b: &gateway.RelayBatch{}, now: e.At, pending: bulk{text: l.texts.pending}}
		if err := w.endMedia(e); err != nil {
			return err
		}
		if err := w.pending.flush(c); err != nil {
			return err
		}
		for _, t := range w.changed {
			if err := storeTalk(c, t); err != nil {
				return err
			}
		}
		res = w.res
		return nil
	})
	if err != nil {
		return gateway.RelayResult{}, err
	}
	return res, nil
}

// mediaPlace is where a file's event came from.
type mediaPlace struct {
	c, pos, item int64
	payload      string
}

func (w *relayWrite) endMedia(e *gateway.MediaEnd) error {
	var rows []gateway.MediaRow
	if err := listMedia(w.c, &rows, "m.n = ? AND m.state = 'pending'", e.N); err != nil || len(rows) == 0 {
		return err
	}
	var from mediaPlace
	if _, err := w.c.one("SELECT c, pos, item, payload FROM event WHERE n = ?",
		func(r row) { from = mediaPlace{r.int(0), r.int(1), r.int(2), r.str(3)} }, e.N); err != nil {
		return err
	}
	notice, err := gateway.MediaNotice(&rows[0], e)
	if err != nil {
		return err
	}
	n, err := w.notice(&notice, from, rows[0].Observed == "", e.Wanted)
	if err != nil {
		return err
	}
	_, err = w.c.exec("UPDATE media SET state = ?, file = ?, size = ?, mime = ?, reason = ?, ended_at = ?, notice = ? WHERE n = ?",
		string(e.State), e.File, e.Size, e.MIME, e.Reason, e.At, n, e.N)
	if err != nil {
		return err
	}
	if e.File != "" {
		if err := addFile(w.c, gateway.File{File: e.File, Size: e.Size, MIME: e.MIME, At: e.At}); err != nil {
			return err
		}
	}
	w.l.book.add(prefixMedia+string(gateway.MediaPending), -1)
	w.l.book.add(prefixMedia+string(e.State), 1)
	return nil
}

// notice writes an event that is no item of a payload: we made it. It stands at
// the place of the event it is about, and in its conversation or the one that this
// became part of.
func (w *relayWrite) notice(e *gateway.EventRow, from mediaPlace, ordered bool, wanted []string) (int64, error) {
	t, err := w.l.talk(w.c, from.c)
	if err == nil {
		t, err = w.l.root(w.c, t)
	}
	if err != nil {
		return 0, err
	}
	n := w.l.book.events + 1
	ord := -n
	if ordered {
		ord = t.lastSeq + 1
	}
	_, err = w.c.exec(`INSERT INTO event (n, id, run, c, ord, kind, origin, pos, item, payload, received_at, occurred_at, content)
		VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`,
		n, eventKey(e.ID), t.c, ord, string(e.Kind), string(e.Origin), from.pos, from.item, from.payload, e.ReceivedAt, e.Content)
	if err != nil {
		return 0, fmt.Errorf("notice: %w", err)
	}
	w.l.book.events = n
	w.res.Events++
	if !ordered {
		return n, nil
	}
	w.count(t, e)
	row := *e
	row.N, row.Conv, row.Seq, row.Payload, row.ReceivedAt = n, t.conv, ord, from.payload, fromNanos(nanos(e.ReceivedAt))
	return n, w.want(t.c, &row, wanted)
}
