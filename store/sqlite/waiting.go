package sqlite

import (
	"cmp"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// waiting is the beginning of what waits in one conversation for one application:
// pending rows with their events, in order. The writer is the only one to change
// pending rows, so what it remembers of them is true; it is forgotten when a write
// or a commit fails.
type waiting struct {
	rows  []gateway.Pending
	whole bool // nothing stands behind the rows
}

type waitingKey struct {
	c   int64
	app string
}

// Bounds of what is remembered. Over waitingMost in a conversation or waitingBytes
// together, rows are left out, and read when their turn comes; over waitingKeys all
// are forgotten.
const (
	waitingRead  = 16 // rows read at once
	waitingMost  = 64
	waitingLarge = 256 << 10 // bytes after which no more is read at once
	waitingKeys  = 2 * cachedTalks
	waitingBytes = 64 << 20
	waitingRow   = 640 // bytes of a row beside its content, about
)

func order(a, b *gateway.Pending) int {
	return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Seq, b.Seq))
}

// find is the place of p's lane and seq among the rows.
func (q *waiting) find(p *gateway.Pending) (int, bool) {
	return slices.BinarySearchFunc(q.rows, p, func(a gateway.Pending, p *gateway.Pending) int { return order(&a, p) })
}

// event is the place of an event among the rows; -1 for none.
func (q *waiting) event(id, run string) int {
	return slices.IndexFunc(q.rows, func(p gateway.Pending) bool { return p.Event == id && p.Run == run })
}

// head is a copy of the first row; nil for none.
func (q *waiting) head() *gateway.Pending {
	if len(q.rows) == 0 {
		return nil
	}
	p := q.rows[0]
	return &p
}

func rowBytes(p *gateway.Pending) int { return waitingRow + cap(p.Row.Content) }

// begins remembers that nothing waits in a conversation made just now.
func (b *ledgerBook) begins(key int64, apps []string) {
	for _, app := range apps {
		b.waiting[waitingKey{key, app}] = &waiting{whole: true}
	}
	b.touched = true
}

// waits adds a row, with its event.
func (b *ledgerBook) waits(key int64, p *gateway.Pending) {
	q := b.waiting[waitingKey{key, p.App}]
	if q == nil {
		return
	}
	b.touched = true
	i, _ := q.find(p)
	switch {
	case i == len(q.rows) && !q.whole: // it stands behind what is remembered
		return
	case p.Row == nil:
		b.forgetWaiting(waitingKey{key, p.App})
		return
	}
	q.rows = slices.Insert(q.rows, i, *p)
	b.waitingBytes += rowBytes(p)
	if len(q.rows) > waitingMost || b.waitingBytes > waitingBytes {
		b.remove(q, len(q.rows)-1)
		q.whole = false
	}
}

// remove takes the row at i out of what is remembered.
func (b *ledgerBook) remove(q *waiting, i int) {
	b.waitingBytes -= rowBytes(&q.rows[i])
	if i == 0 { // nearly always, so nothing is moved
		q.rows[0] = gateway.Pending{}
		q.rows = q.rows[1:]
		return
	}
	q.rows = slices.Delete(q.rows, i, i+1)
}

// retried replaces a row by one with the same place.
func (b *ledgerBook) retried(key int64, p *gateway.Pending) {
	if q := b.waiting[waitingKey{key, p.App}]; q != nil {
		if i, found := q.find(p); found {
			q.rows[i], b.touched = *p, true
		}
	}
}

// leaves takes a row out.
func (b *ledgerBook) leaves(key int64, p *gateway.Pending) {
	q := b.waiting[waitingKey{key, p.App}]
	if q == nil {
		return
	}
	if i, found := q.find(p); found {
		b.remove(q, i)
		b.touched = true
	}
}

func (b *ledgerBook) forgetWaiting(k waitingKey) {
	if q := b.waiting[k]; q != nil {
		for i := range q.rows {
			b.waitingBytes -= rowBytes(&q.rows[i])
		}
		delete(b.waiting, k)
	}
}

// waiting returns the first two rows or more of a conversation, or all there are.
// What it returns is good until the next change of the book.
func (l *Ledger) waiting(c *conn, app string, key int64) (*waiting, error) {
	k := waitingKey{key, app}
	if q := l.book.waiting[k]; q != nil && (q.whole || len(q.rows) >= 2) {
		return q, nil
	}
	q, bytes := new(waiting), 0
	err := c.query("SELECT "+pendingColumns+" FROM "+pendingRows+" WHERE p.app = ? AND p.c = ? ORDER BY p.lane, p.seq LIMIT ?", func(r row) error {
		p := scanPending(r)
		q.rows = append(q.rows, p)
		if bytes += rowBytes(&p); bytes > waitingLarge && len(q.rows) >= 2 {
			return errStop
		}
		return nil
	}, app, key, waitingRead)
	if err != nil {
		return nil, err
	}
	l.book.forgetWaiting(k)
	q.whole = len(q.rows) < waitingRead && bytes <= waitingLarge
	l.book.waitingBytes += bytes
	l.book.waiting[k], l.book.touched = q, true
	return q, nil
}
