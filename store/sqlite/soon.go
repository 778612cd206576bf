package sqlite

import (
	"context"
	"slices"
	"time"
)

// What people wait for goes before what the stages have queued, and while there is some
// no transaction works for longer than soonTime, theirs neither: the rest of the group
// goes on in the next one. So whoever cancels or moves something waits for the end of
// one short commit and shares another, where it would be two groups of up to groupTime
// each; and the stages keep a part of the writer, however much people do.
const (
	soonTime   = 5 * time.Millisecond // of work, as groupTime
	soonLength = 64
)

// act is a durable ledger write that a person waits for: it goes before the stages'.
func (l *Ledger) act(ctx context.Context, items int, do func(c *conn) error) error {
	return l.w.submitSoon(ctx, (items+1)*itemBytes, do)
}

// submitSoon is submitWhole, durable, for what a person waits for.
func (w *writer) submitSoon(ctx context.Context, bytes int, do func(c *conn) error) error {
	return w.whole(ctx, &write{do: do, durable: true, soon: true, bytes: bytes})
}

// first puts what people wait for before the rest of a group.
func (w *writer) first(group []*write) []*write {
	n := 0
	for n < len(group) && group[n].soon {
		n++
	}
	for ; ; n++ {
		select {
		case q := <-w.soon:
			group = slices.Insert(group, n, q)
		default:
			return group
		}
	}
}

// most is how long a transaction that begins with q may work.
func (w *writer) most(q *write) time.Duration {
	if q.soon || len(w.soon) > 0 {
		return soonTime
	}
	return groupTime
}
