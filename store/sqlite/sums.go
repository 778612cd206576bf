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

// Recount counts the rows. It reads the whole ledger in one snapshot of each
// table at a time, so that no snapshot is long; beside writing its parts may
// differ from each other.
func (l *Ledger) Recount(ctx context.Context) (gateway.Sums, error) {
	s := gateway.Sums{Apps: make(map[string]gateway.AppSums)}
	for _, q := range []struct{ prefix, text string }{
		{prefixItem, "SELECT '', state, count(*) FROM item GROUP BY state"},
		{prefixPayload, "SELECT '', state, count(*) FROM payload GROUP BY state"},
		{prefixMessage, "SELECT '', state, count(*) FROM message GROUP BY state"},
		{prefixApp, "SELECT app, state, count(*) FROM settled GROUP BY app, state"},
		{prefixApp, "SELECT app, 'pending', count(*) FROM pending GROUP BY app"},
	} {
		err := l.r.read(ctx, func(c *conn) error {
			return c.query(q.text, func(r row) error {
				name, state, n := r.str(0), r.str(1), r.int(2)
				switch q.prefix {
				case prefixItem:
					addSum(&s, countItemDecoded, n)
				case prefixMessage:
					addSum(&s, countTaken, n)
					state = string(sumState(gateway.MessageState(state)))
				case prefixApp:
					addSum(&s, appCount(name, "wanted"), n)
					state = name + "." + state
				}
				addSum(&s, q.prefix+state, n)
				return nil
			})
		})
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Counters are the other kept counts by name.
func (l *Ledger) Counters(ctx context.Context) (map[string]int64, error) {
	out := make(map[string]int64)
	for _, name := range []string{"late", "bad_answer", "out_of_order", "overrun", "parked", "alias_conflict"} {
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
	}
}
