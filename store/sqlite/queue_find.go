package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// scanRows is how many rows one page looks at: it takes few milliseconds, whatever the
// query and however many messages there are.
const scanRows = 2000

func isNotFound(err error) bool { return errors.Is(err, gateway.ErrNotFound) }

// FindMessages returns a page; see store.QueueLedger. An index gives the order, and
// what it cannot select is left out row by row.
func (l *Ledger) FindMessages(ctx context.Context, q store.MessageQuery) (page store.MessagePage, err error) {
	f := finder{q: &q, limit: limitOf(q.Limit)}
	find := f.scan
	switch {
	case q.Key != "":
		find = f.byKey
	case q.Task != "":
		find = f.byTask
	}
	err = l.r.snapshot(ctx, func(c *conn) error {
		f.page, f.looked = store.MessagePage{}, 0
		if err := find(c); err != nil {
			return err
		}
		for i := range f.page.Messages {
			m := &f.page.Messages[i]
			if m.TaskState, err = taskState(c, &message{Message: *m}); err != nil {
				return err
			}
		}
		return nil
	})
	return f.page, err
}

// finder is a query at work.
type finder struct {
	q      *store.MessageQuery
	limit  int
	looked int
	page   store.MessagePage
}

// take looks at a message. False: the page is full.
func (f *finder) take(m *message, next string) bool {
	q := f.q
	f.looked++
	if (q.State == "" || m.State == q.State) && (q.Account == "" || m.Account == q.Account) && (q.App == "" || m.App == q.App) &&
		(q.Conv == "" || m.Conv == q.Conv) && (q.Task == "" || m.Task == q.Task) &&
		(q.DueFrom.IsZero() || !m.DueAt.Before(q.DueFrom)) && (q.DueUntil.IsZero() || m.DueAt.Before(q.DueUntil)) {
		f.page.Messages = append(f.page.Messages, m.Message)
	}
	if len(f.page.Messages) < f.limit && f.looked < scanRows {
		return true
	}
	f.page.Next = next
	return false
}

// scan walks along an index: by time due, else from the newest row back.
func (f *finder) scan(c *conn) error {
	where, order, next, args, err := f.way()
	if err != nil {
		return err
	}
	return c.query("SELECT "+messageColumns+", row FROM message WHERE "+where+" ORDER BY "+order+" LIMIT ?", func(r row) error {
		if m := scanMessage(r); !f.take(&m, next(r)) {
			return errStop
		}
		return nil
	}, append(args, scanRows+1)...)
}

// way is the index to go along, as its condition. The texts name the indexes'
// conditions, so that each has a short way.
func (f *finder) way() (where, order string, next func(row) string, args []any, err error) {
	q := f.q
	due, rest, timed := strings.Cut(q.After, ".")
	after, bad := strconv.ParseInt(due, 10, 64)
	open := q.Conv == "" && (q.State == gateway.MessageWaiting || q.State == gateway.MessageSending)
	if q.After == "" {
		after, bad = math.MaxInt64, nil
	}
	if bad != nil || q.After != "" && timed != open {
		return "", "", nil, nil, fmt.Errorf("the place to go on from: %w", gateway.ErrNotFound)
	}
	next = func(r row) string { return strconv.FormatInt(r.int(messageRest), 10) }
	switch {
	case open:
		from, place := nanos(q.DueFrom), int64(0)
		if q.After != "" {
			if place, err = strconv.ParseInt(rest, 10, 64); err != nil {
				return "", "", nil, nil, fmt.Errorf("the place to go on from: %w", gateway.ErrNotFound)
			}
			from = after
		}
		until := int64(math.MaxInt64)
		if !q.DueUntil.IsZero() {
			until = nanos(q.DueUntil)
		}
		next = func(r row) string {
			return strconv.FormatInt(r.int(9), 10) + "." + strconv.FormatInt(r.int(messageRest), 10)
		}
		return "open = 1 AND (due_at, row) > (?, ?) AND due_at < ?", "due_at, row", next, []any{from, place, until}, nil
	case q.Conv != "":
		return "conv = ? AND row < ?", "row DESC", next, []any{q.Conv, after}, nil
	case q.State == "" || q.State == gateway.MessageAccepted:
		return "row < ?", "row DESC", next, []any{after}, nil
	}
	return "state = ? AND state <> 'waiting' AND state <> 'sending' AND state <> 'accepted' AND row < ?", "row DESC", next,
		[]any{string(q.State), after}, nil
}

func (f *finder) byTask(c *conn) error {
	first, err := messageByID(c, f.q.Task)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	parts, err := taskOf(c, first)
	f.limit = max(f.limit, len(parts)) // a task has no pages
	for i := range parts {
		f.take(&parts[i], "")
	}
	return err
}

// keysAtOnce bounds the tasks of a page, which has all parts of each.
const keysAtOnce = 50

func (f *finder) byKey(c *conn) error {
	type keyed struct{ key, task string }
	var found []keyed
	err := c.query("SELECT key, task FROM submission WHERE key >= ? AND key > ? AND key < ? ORDER BY key LIMIT ?", func(r row) error {
		found = append(found, keyed{r.str(0), r.str(1)})
		return nil
	}, f.q.Key, f.q.After, f.q.Key+"\x7f", keysAtOnce) // keys are printable ASCII
	if err != nil {
		return err
	}
	limit := f.limit
	f.limit = math.MaxInt
	for i, k := range found {
		first, err := messageByID(c, k.task)
		if err != nil {
			return err
		}
		parts, err := taskOf(c, first)
		if err != nil {
			return err
		}
		for j := range parts {
			f.take(&parts[j], "")
		}
		if full := len(f.page.Messages) >= limit; full && i < len(found)-1 || i == keysAtOnce-1 {
			f.page.Next = k.key
			return nil
		}
	}
	return nil
}
