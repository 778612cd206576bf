package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

const (
	// scanRows is how many rows one page looks at: it takes a millisecond, whatever the
	// query and however many messages there are. SQLite leaves out what the query does not
	// select, a twentieth of the work of handing it over.
	scanRows = 250
	// scanDue is scanRows by time due. Rows that are due one after another lie far apart in
	// the file, as those of a campaign in random order do, but those of other accounts and
	// applications are left out by the index, without being read.
	scanDue = 2500
)

func isNotFound(err error) bool { return errors.Is(err, gateway.ErrNotFound) }

// FindMessages returns a page; see store.QueueLedger. An index gives the order, and
// what it cannot select is left out row by row, up to the place where the page ends at
// the latest.
func (l *Ledger) FindMessages(ctx context.Context, q store.MessageQuery) (page store.MessagePage, err error) {
	f := finder{q: &q, limit: limitOf(q.Limit)}
	find := f.scan
	switch {
	case q.Key != "":
		find = f.byKey
	case q.Task != "":
		find = f.byTask
	}
	err = l.people.snapshot(ctx, func(c *conn) error {
		f.page = store.MessagePage{}
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

// NamedMessages returns messages by their ids. One after another, each would wait for
// its turn to read.
func (l *Ledger) NamedMessages(ctx context.Context, ids []string) (out []gateway.Message, err error) {
	err = l.people.snapshot(ctx, func(c *conn) error {
		for _, id := range ids {
			m, err := messageByID(c, id)
			if isNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			if m.TaskState, err = taskState(c, m); err != nil {
				return err
			}
			out = append(out, m.Message)
		}
		return nil
	})
	return out, err
}

// finder is a query at work.
type finder struct {
	q     *store.MessageQuery
	limit int
	rows  int // that are looked at; 0 for as many as take a millisecond
	page  store.MessagePage
}

// take looks at a message. False: the page is full.
func (f *finder) take(m *message, next string) bool {
	q := f.q
	if (q.State == "" || m.State == q.State) && (q.Account == "" || m.Account == q.Account) && (q.App == "" || m.App == q.App) &&
		(q.Conv == "" || m.Conv == q.Conv) && (q.Task == "" || m.Task == q.Task) &&
		(q.DueFrom.IsZero() || !m.DueAt.Before(q.DueFrom)) && (q.DueUntil.IsZero() || m.DueAt.Before(q.DueUntil)) {
		f.page.Messages = append(f.page.Messages, m.Message)
	}
	if len(f.page.Messages) < f.limit {
		return true
	}
	f.page.Next = next
	return false
}

// selected is what take looks for, as far as it says more than the way. Each is one
// text for all queries, so that statements stay few.
const selected = " AND ? IN ('', state) AND ? IN ('', account) AND ? IN ('', app)"

// scan walks along an index: by time due, else from the newest row back.
func (f *finder) scan(c *conn) error {
	w, err := f.way()
	if err != nil {
		return err
	}
	rows := cmp.Or(f.rows, w.rows)
	where, args := w.where+w.end, append(slices.Clone(w.args), w.last...)
	if !w.few {
		_, err = c.one("SELECT due_at, row FROM "+w.along+" WHERE "+where+" ORDER BY "+w.order+" LIMIT 1 OFFSET ?", func(r row) {
			f.page.Next = w.place(r.int(0), r.int(1)) // unless it is full before
			where, args = w.where+w.until, append(slices.Clone(w.args), w.bound(r.int(0), r.int(1))...)
		}, append(slices.Clone(args), rows-1)...)
		if err != nil {
			return err
		}
	}
	args = append(args, string(f.q.State), f.q.Account, f.q.App)
	return c.query("SELECT "+messageColumns+", row FROM "+w.along+" WHERE "+where+selected+" ORDER BY "+w.order, func(r row) error {
		if m := scanMessage(r); !f.take(&m, w.place(r.int(9), r.int(messageRest))) {
			return errStop
		}
		return nil
	}, args...)
}

// way is an index to go along, from where the page before ended. The texts name the
// indexes' conditions, so that each has a short way.
type way struct {
	along        string // the table, and its index where there is a choice
	where, order string
	args         []any
	// end, with last, is where it ends; until, with bound, ends the page at a row before.
	// Only one of the two is said: SQLite stops at one of several bounds, and reads on to
	// it past the others.
	end, until string
	last       []any
	rows       int  // that a page looks at
	timed      bool // by time due
	few        bool // a page looks at all, and sorts them
}

// place is what the page says to go on from behind a row.
func (w *way) place(due, row int64) string {
	if w.timed {
		return strconv.FormatInt(due, 10) + "." + strconv.FormatInt(row, 10)
	}
	return strconv.FormatInt(row, 10)
}

func (w *way) bound(due, row int64) []any {
	if w.timed {
		return []any{due, row}
	}
	return []any{row}
}

func (f *finder) way() (*way, error) {
	q := f.q
	due, rest, timed := strings.Cut(q.After, ".")
	after, bad := strconv.ParseInt(due, 10, 64)
	open := q.Conv == "" && (q.State == gateway.MessageWaiting || q.State == gateway.MessageSending)
	if q.After == "" {
		after, bad = math.MaxInt64, nil
	}
	if bad != nil || q.After != "" && timed != open {
		return nil, fmt.Errorf("the place to go on from: %w", gateway.ErrNotFound)
	}
	newest := way{along: "message", order: "row DESC", until: " AND row >= ?", rows: scanRows}
	switch {
	case open:
		from, place := nanos(q.DueFrom), int64(0)
		if q.After != "" {
			if place, bad = strconv.ParseInt(rest, 10, 64); bad != nil {
				return nil, fmt.Errorf("the place to go on from: %w", gateway.ErrNotFound)
			}
			from = after
		}
		until := int64(math.MaxInt64)
		if !q.DueUntil.IsZero() {
			until = nanos(q.DueUntil)
		}
		w := &way{
			along: "message INDEXED BY message_due", where: "open = 1 AND (due_at, row) > (?, ?)", order: "due_at, row", args: []any{from, place},
			end: " AND due_at < ?", last: []any{until}, until: " AND (due_at, row) <= (?, ?)", timed: true, rows: scanDue,
		}
		if q.State == gateway.MessageSending { // at most one of a conversation, and no more than are in flight
			w.along, w.where, w.few = "message INDEXED BY message_sending", "state = 'sending' AND (due_at, row) > (?, ?)", true
		}
		return w, nil
	case q.Conv != "":
		newest.where, newest.args = "conv = ? AND row < ?", []any{q.Conv, after}
	case q.State == "" || q.State == gateway.MessageAccepted:
		newest.where, newest.args = "row < ?", []any{after}
	default:
		newest.where = "state = ? AND state <> 'waiting' AND state <> 'sending' AND state <> 'accepted' AND row < ?"
		newest.args = []any{string(q.State), after}
	}
	return &newest, nil
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
