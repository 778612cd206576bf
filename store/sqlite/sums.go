package sqlite

import (
	"context"
	"strconv"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Sums are the kept counts; Payloads.Archived and Pending are the caller's.
func (l *Ledger) Sums(ctx context.Context) (gateway.Sums, error) {
	s := gateway.Sums{Apps: make(map[string]gateway.AppSums)}
	err := l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT name, value FROM counter", func(r row) error {
			addSum(&s, r.str(0), r.int(1))
			return nil
		})
	})
	return s, err
}

// recountSlice is how many keys one statement of Recount spans, so that no
// snapshot is long.
const recountSlice = 100_000

// Recount counts the rows, in slices. Beside writing, slices of different times
// may disagree; of a ledger at rest it is exact.
func (l *Ledger) Recount(ctx context.Context) (gateway.Sums, error) {
	s := gateway.Sums{Apps: make(map[string]gateway.AppSums)}
	for _, q := range []struct{ prefix, table, key, group string }{
		{prefixItem, "item", "pos", "'', state"},
		{prefixPayload, "payload", "pos", "'', state"},
		{prefixMessage, "message", "row", "'', state"},
		{prefixMedia, "media", "n", "'', state"},
		{prefixApp, "settled", "n", "app, state"},
		{prefixApp, "pending", "", "app, 'pending'"},
	} {
		text := "SELECT " + q.group + ", count(*) FROM " + q.table + " GROUP BY 1, 2"
		high := int64(1)
		if q.key != "" {
			text = "SELECT " + q.group + ", count(*) FROM " + q.table + " WHERE " + q.key + " > ? AND " + q.key + " <= ? GROUP BY 1, 2"
			err := l.r.read(ctx, func(c *conn) (err error) {
				high, err = c.number("SELECT max(" + q.key + ") FROM " + q.table)
				return err
			})
			if err != nil {
				return s, err
			}
		}
		for low := int64(0); low < high; low += recountSlice {
			var args []any
			if q.key != "" {
				args = []any{low, low + recountSlice}
			}
			err := l.r.read(ctx, func(c *conn) error {
				return c.query(text, func(r row) error {
					countRows(&s, q.prefix, r.str(0), r.str(1), r.int(2))
					return nil
				}, args...)
			})
			if err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// countRows adds n rows of a table to the sums they belong to.
func countRows(s *gateway.Sums, prefix, app, state string, n int64) {
	switch prefix {
	case prefixItem:
		addSum(s, countItemDecoded, n)
	case prefixMessage:
		addSum(s, countTaken, n)
		state = string(sumState(gateway.MessageState(state)))
	case prefixMedia:
		addSum(s, countMediaWanted, n)
	case prefixApp:
		addSum(s, appCount(app, "wanted"), n)
		state = app + "." + state
	}
	addSum(s, prefix+state, n)
}

// Counters are the other kept counts by name.
func (l *Ledger) Counters(ctx context.Context) (map[string]int64, error) {
	out := make(map[string]int64)
	for _, name := range []string{"late", "bad_answer", "out_of_order", "overrun", "parked", "taken", "takeovers", "loops", "merged", "alias_moved", "alias_conflict", "superseded", "relaxed", gateway.ReasonNotBuried, countUnburied} {
		out[name] = 0
	}
	err := l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT name, value FROM counter", func(r row) error {
			if name, ok := strings.CutPrefix(r.str(0), prefixOther); ok {
				out[name] = r.int(1)
			}
			return nil
		})
	})
	return out, err
}

// AppCounts are what is counted of the applications beside the sums.
func (l *Ledger) AppCounts(ctx context.Context) (map[string]gateway.AppCounts, error) {
	out := make(map[string]gateway.AppCounts)
	err := l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT name, value FROM counter WHERE name > ? AND name < ?", func(r row) error {
			app, what, _ := strings.Cut(strings.TrimPrefix(r.str(0), prefixSeen), ".")
			n := out[app]
			switch what {
			case "tries":
				n.Tries = r.int(1)
			case "late":
				n.Late = r.int(1)
			case "overrun":
				n.Overrun = r.int(1)
			}
			out[app] = n
			return nil
		}, prefixSeen, prefixSeen+"~")
	})
	return out, err
}

// addSum adds n to the field of s that a kept count's name stands for.
func addSum(s *gateway.Sums, name string, n int64) {
	if rest, ok := strings.CutPrefix(name, prefixApp); ok {
		app, what, _ := strings.Cut(rest, ".")
		a := s.Apps[app]
		switch what {
		case "wanted":
			a.Wanted += n
		case "settled":
			a.Settled += n
		case "dead":
			a.Dead += n
		case "dropped":
			a.Dropped += n
		case "pending":
			a.Pending += n
		}
		s.Apps[app] = a
		return
	}
	switch name {
	case prefixPayload + "relayed":
		s.Payloads.Relayed += n
	case prefixPayload + "duplicate":
		s.Payloads.Duplicate += n
	case prefixPayload + "ignored":
		s.Payloads.Ignored += n
	case prefixPayload + "sealed":
		s.Payloads.Sealed += n
	case prefixPayload + "dead":
		s.Payloads.Dead += n
	case countItemDecoded:
		s.Items.Decoded += n
	case prefixItem + "event":
		s.Items.Events += n
	case prefixItem + "duplicate":
		s.Items.Duplicate += n
	case prefixItem + "ignored":
		s.Items.Ignored += n
	case prefixItem + "dead":
		s.Items.Dead += n
	case countTaken:
		s.Messages.Taken += n
	case prefixMessage + "accepted":
		s.Messages.Accepted += n
	case prefixMessage + "rejected":
		s.Messages.Rejected += n
	case prefixMessage + "unknown":
		s.Messages.Unknown += n
	case prefixMessage + "expired":
		s.Messages.Expired += n
	case prefixMessage + "cancelled":
		s.Messages.Cancelled += n
	case prefixMessage + "waiting":
		s.Messages.Waiting += n
	case prefixMessage + "held":
		s.Messages.Held += n
	case countMediaWanted:
		s.Media.Wanted += n
	case prefixMedia + "ready":
		s.Media.Ready += n
	case prefixMedia + "unavailable":
		s.Media.Unavailable += n
	case prefixMedia + "pending":
		s.Media.Pending += n
	}
}
