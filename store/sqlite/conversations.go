package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// Bounds of the lists of conversations.
const (
	hotEvents       = 10_000
	unansweredLook  = 2_000
	unansweredSlice = 500
	waitingSlice    = 10_000 // conversations
)

// Conversations lists conversations; see store.ConversationList.
func (l *Ledger) Conversations(ctx context.Context, q store.ConversationQuery) ([]gateway.ListedConversation, int64, error) {
	q.Limit = limitOf(q.Limit)
	switch q.List {
	case store.ListHot:
		list, err := l.hot(ctx, &q)
		return list, 0, err
	case store.ListWaiting:
		return l.longestWaiting(ctx, &q)
	case store.ListUnanswered:
		return l.unanswered(ctx, &q)
	}
	return nil, 0, fmt.Errorf("no such list: %w", gateway.ErrNotFound)
}

// lineOf reads what every line has; false when the filter does not want it.
func lineOf(c *conn, key int64, q *store.ConversationQuery, out *gateway.ListedConversation) (ok bool, err error) {
	_, err = c.one("SELECT conv, platform, account, chat FROM conversation WHERE c = ?", func(r row) {
		out.Conv, out.Platform, out.Account, out.Chat = r.str(0), r.str(1), r.str(2), gateway.ChatKind(r.str(3))
	}, key)
	return out.Conv != "" && (q.Account == "" || q.Account == out.Account), err
}

func (l *Ledger) hot(ctx context.Context, q *store.ConversationQuery) (out []gateway.ListedConversation, err error) {
	type counted struct{ key, n, last int64 }
	var list []counted
	err = l.people.snapshot(ctx, func(c *conn) error {
		apps := []string{q.App}
		if q.App == "" {
			if apps, err = pendingApps(c); err != nil {
				return err
			}
		}
		err := c.query("SELECT c, count(*), max(received_at) FROM (SELECT c, received_at FROM event ORDER BY n DESC LIMIT ?) e"+
			" GROUP BY c HAVING ? IN ('', (SELECT account FROM conversation v WHERE v.c = e.c))", func(r row) error {
			list = append(list, counted{r.int(0), r.int(1), r.int(2)})
			return nil
		}, hotEvents, q.Account)
		if err != nil {
			return err
		}
		slices.SortFunc(list, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(b.last, a.last)) })
		for _, h := range list {
			v := gateway.ListedConversation{Events: h.n}
			ok, err := lineOf(c, h.key, q, &v)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			last := fromNanos(h.last)
			v.Last = &last
			if v.Waiting, err = waitingIn(c, apps, v.Conv); err != nil {
				return err
			}
			if out = append(out, v); len(out) == q.Limit {
				return nil
			}
		}
		return nil
	})
	return out, err
}

// wait is what waits in a conversation.
type wait struct {
	key, n, first int64 // first is the smallest N
	tries         int
}

// longestWaiting walks over all that waits and keeps what comes next.
func (l *Ledger) longestWaiting(ctx context.Context, q *store.ConversationQuery) (out []gateway.ListedConversation, next int64, err error) {
	apps := []string{q.App}
	if q.App == "" {
		if err := l.people.read(ctx, func(c *conn) (err error) { apps, err = pendingApps(c); return err }); err != nil {
			return nil, 0, err
		}
	}
	all := map[int64]*wait{}
	for _, app := range apps {
		if err := l.waitingFor(ctx, app, q.Account, waitingSlice, all); err != nil {
			return nil, 0, err
		}
	}
	list := make([]*wait, 0, len(all))
	for _, w := range all {
		if w.first > q.After {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *wait) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.key, b.key)) })
	err = l.people.snapshot(ctx, func(c *conn) error {
		for _, w := range list {
			v := gateway.ListedConversation{Waiting: w.n, Tries: w.tries}
			ok, err := lineOf(c, w.key, q, &v)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if len(out) == q.Limit {
				return nil
			}
			since := time.Time{}
			if _, err := c.one("SELECT received_at FROM event WHERE n = ?", func(r row) { since = r.time(0) }, w.first); err != nil {
				return err
			}
			v.Since, next = &since, w.first
			out = append(out, v)
		}
		next = 0
		return nil
	})
	return out, next, err
}

// waitingFor adds the conversations of an account, or of all, in which something waits
// for an application, in short reads.
func (l *Ledger) waitingFor(ctx context.Context, app, account string, slice int, all map[int64]*wait) error {
	for after, more := int64(-1), true; more; {
		err := l.people.read(ctx, func(c *conn) (err error) {
			from, last := after, int64(math.MaxInt64)
			more, err = c.one("SELECT c FROM pending WHERE app = ? AND c > ? GROUP BY c ORDER BY c LIMIT 1 OFFSET ?",
				func(r row) { last = r.int(0) }, app, after, slice-1)
			if err != nil {
				return err
			}
			after = last
			// The tries are those of the row with the smallest n.
			return c.query(`SELECT c, count(*), min(n), tries FROM pending p WHERE app = ? AND c > ? AND c <= ?
				GROUP BY c HAVING ? IN ('', (SELECT account FROM conversation v WHERE v.c = p.c))`, func(r row) error {
				w := all[r.int(0)]
				if w == nil {
					w = &wait{key: r.int(0), first: r.int(2), tries: int(r.int(3))}
					all[w.key] = w
				}
				if w.n += r.int(1); r.int(2) < w.first {
					w.first, w.tries = r.int(2), int(r.int(3))
				}
				return nil
			}, app, from, last, account)
		})
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// unanswered walks back over messages, in short reads.
func (l *Ledger) unanswered(ctx context.Context, q *store.ConversationQuery) (out []gateway.ListedConversation, next int64, err error) {
	before := q.After
	if before <= 0 {
		before = 1<<63 - 1
	}
	for looked := 0; looked < unansweredLook; looked += unansweredSlice {
		read := 0
		err := l.people.snapshot(ctx, func(c *conn) error {
			var rows []lastWord
			err := c.query(`SELECT n, c, ord, origin, received_at FROM event WHERE n < ? AND kind = 'message' AND ord > 0 AND run = ''
				ORDER BY n DESC LIMIT ?`, func(r row) error {
				rows = append(rows, lastWord{r.int(0), r.int(1), r.int(2), gateway.Origin(r.str(3)), r.time(4)})
				return nil
			}, before, unansweredSlice)
			if err != nil {
				return err
			}
			read = len(rows)
			apps, err := pendingApps(c)
			if err != nil {
				return err
			}
			for i := range rows {
				if len(out) == q.Limit {
					return nil
				}
				before = rows[i].n
				v, ok, err := rows[i].unanswered(c, q, apps)
				if err != nil {
					return err
				}
				if ok {
					out = append(out, v)
				}
			}
			return nil
		})
		switch {
		case err != nil:
			return nil, 0, err
		case len(out) == q.Limit:
			return out, before, nil
		case read < unansweredSlice:
			return out, 0, nil
		}
	}
	return out, before, nil
}

// lastWord is a message that may be the last word of its conversation.
type lastWord struct {
	n, key, ord int64
	origin      gateway.Origin
	at          time.Time
}

// unanswered says whether it is the last word, and nobody answers it.
func (w *lastWord) unanswered(c *conn, q *store.ConversationQuery, apps []string) (v gateway.ListedConversation, ok bool, err error) {
	if ok, err = lineOf(c, w.key, q, &v); err != nil || !ok || v.Chat != gateway.ChatSingle {
		return v, false, err
	}
	// A reply to it, or anything written later, that left, may have left or still may.
	answered, err := c.one(`SELECT 1 FROM (SELECT id, state, type FROM message WHERE conv = ? ORDER BY row DESC LIMIT 50)
		WHERE id >= ? AND state NOT IN ('rejected', 'expired', 'cancelled') AND type <> ? LIMIT 1`,
		func(row) {}, v.Conv, "ms_"+strings.TrimPrefix(idAt(w.at), "dl_"), string(gateway.ReplyRead))
	if err != nil || answered {
		return v, false, err
	}
	for _, q := range []struct {
		text  string
		after int64
	}{
		{"SELECT 1 FROM event WHERE c = ? AND ord > ? AND kind = 'message' LIMIT 1", w.ord}, // a later word
		{"SELECT 1 FROM event WHERE c = ? AND ord < ? AND judged = 'human' LIMIT 1", -w.n},  // a colleague: echoes have -n
	} {
		found, err := c.one(q.text, func(row) {}, w.key, q.after)
		if err != nil || found {
			return v, false, err
		}
	}
	for _, app := range apps {
		waits, err := c.one("SELECT 1 FROM pending WHERE app = ? AND c = ? LIMIT 1", func(row) {}, app, w.key)
		if err != nil || waits {
			return v, false, err
		}
	}
	v.Since, v.Why = &w.at, "not wanted"
	if w.origin == gateway.OriginBackfill {
		v.Why = "recovered"
	}
	wanted := q.App == ""
	err = c.query("SELECT app, state FROM settled WHERE n = ? ORDER BY app", func(r row) error {
		if q.App == "" || q.App == r.str(0) {
			wanted, v.Why = true, r.str(1)
		}
		return nil
	}, w.n)
	return v, wanted, err
}
