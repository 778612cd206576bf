package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Again lists payloads to be read again, oldest first.
func (l *Ledger) Again(ctx context.Context, limit int) (out []gateway.AgainRow, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT pos, item, reason FROM again ORDER BY pos, item LIMIT ?", func(r row) error {
			out = append(out, gateway.AgainRow{Pos: r.int(0), Item: int(r.int(1)), Reason: r.str(2)})
			return nil
		}, limit)
	})
	return out, err
}

// again relays a payload that was read again: all of it, or the items asked for.
// What the queue does not name is passed over, so a repeated call does nothing.
func (w *relayWrite) again(p *gateway.RelayedPayload) error {
	if err := w.flush(); err != nil { // it deletes rows, which may be among those gathered
		return err
	}
	whole, items := false, make(map[int]bool)
	err := w.c.query("SELECT item FROM again WHERE pos = ?", func(r row) error {
		if i := int(r.int(0)); i < 0 {
			whole = true
		} else {
			items[i] = true
		}
		return nil
	}, p.Pos)
	if err != nil || !whole && len(items) == 0 {
		return err
	}
	if pos, _, err := place(w.c, "relay"); err != nil {
		return err
	} else if p.Pos > pos {
		if done, err := w.stated(p.Pos); err != nil || !done {
			// The relay has not come to it: it will read it with today's keys anyhow.
			if err == nil {
				_, err = w.c.exec("DELETE FROM again WHERE pos = ?", p.Pos)
			}
			return err
		}
	}
	if whole && (len(p.Items) == 0 || p.Items[0].Index == 0) {
		if err := w.forgetPayload(p.Pos); err != nil {
			return err
		}
	}
	for i := range p.Items {
		it := &p.Items[i]
		if !whole && !items[it.Index] {
			continue
		}
		if !whole {
			if err := w.forgetItem(p.Pos, it.Index); err != nil {
				return err
			}
		}
		if _, err := w.item(p, it); err != nil {
			return err
		}
	}
	if !p.Last {
		return nil
	}
	return w.againDone(p, whole)
}

// againDone writes the payload's new state and takes it off the queue.
func (w *relayWrite) againDone(p *gateway.RelayedPayload, whole bool) error {
	var tally itemTally
	if err := w.readTally(&tally, p.Pos); err != nil {
		return err
	}
	if whole || p.State == "" {
		if err := w.forgetState(p.Pos); err != nil {
			return err
		}
		if err := w.payload(p, tally); err != nil {
			return err
		}
	}
	_, err := w.c.exec("DELETE FROM again WHERE pos = ?", p.Pos)
	return err
}

func (w *relayWrite) forgetState(pos int64) error {
	var state string
	found, err := w.c.one("DELETE FROM payload WHERE pos = ? RETURNING state", func(r row) { state = r.str(0) }, pos)
	if found {
		w.l.book.add(prefixPayload+state, -1)
	}
	return err
}

// forgetPayload removes what an earlier reading recorded of a payload; its
// events stay. Its open dead letters are answered by reading it again.
func (w *relayWrite) forgetPayload(pos int64) error {
	err := w.c.query("SELECT state FROM item WHERE pos = ?", func(r row) error {
		w.l.book.add(countItemDecoded, -1)
		w.l.book.add(prefixItem+r.str(0), -1)
		return nil
	}, pos)
	if err != nil {
		return err
	}
	if _, err := w.c.exec("DELETE FROM item WHERE pos = ?", pos); err != nil {
		return err
	}
	if err := w.forgive(pos, -1); err != nil {
		return err
	}
	_, err = w.c.exec("UPDATE dead SET state = 'requeued', by = 'again' WHERE pos = ? AND kind IN ('item', 'payload') AND state = 'open'", pos)
	return err
}

func (w *relayWrite) forgetItem(pos int64, idx int) error {
	var state string
	found, err := w.c.one("DELETE FROM item WHERE pos = ? AND idx = ? RETURNING state", func(r row) { state = r.str(0) }, pos, idx)
	if err != nil {
		return err
	}
	if found {
		w.l.book.add(countItemDecoded, -1)
		w.l.book.add(prefixItem+state, -1)
	}
	if err := w.forgive(pos, idx); err != nil {
		return err
	}
	_, err = w.c.exec(`UPDATE dead SET state = 'requeued', by = 'again'
		WHERE pos = ? AND item = ? AND kind IN ('item', 'payload') AND state = 'open'`, pos, idx)
	return err
}

// againSlice is how many rows one transaction of ReadAgain queues.
const againSlice = 250

// ReadAgain queues payloads to be read again. A long list is written in slices,
// the first of which records the deed; to repeat a call that failed is harmless.
func (l *Ledger) ReadAgain(ctx context.Context, rows []gateway.AgainRow, by string, now time.Time) error {
	for from := 0; ; from += againSlice {
		slice := rows[from:min(from+againSlice, len(rows))]
		_, err := l.writeSlice(ctx, 1+len(slice)/16, func(c *conn) error {
			for _, r := range slice {
				if err := queueAgain(c, r); err != nil {
					return err
				}
			}
			if from > 0 {
				return nil
			}
			return audit(c, now, by, "read again", fmt.Sprintf("%d rows", len(rows)))
		})
		if err != nil || from+againSlice >= len(rows) {
			return err
		}
	}
}

func queueAgain(c *conn, r gateway.AgainRow) error {
	_, err := c.exec("INSERT INTO again (pos, item, reason) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", r.Pos, max(r.Item, -1), r.Reason)
	return err
}
