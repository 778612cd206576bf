package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

const deadColumns = "id, kind, state, at, reason, detail, app, platform, account, conv, event, n, message, payload, pos, item, tries, by, note"

func scanDead(r row) gateway.DeadLetter {
	return gateway.DeadLetter{
		ID: r.str(0), Kind: r.str(1), State: r.str(2), At: r.time(3), Reason: r.str(4), Detail: string(r.blob(5)), App: r.str(6),
		Platform: r.str(7), Account: r.str(8), Conv: r.str(9), Event: r.str(10), N: r.int(11), Message: r.str(12), Payload: r.str(13),
		Pos: r.int(14), Item: int(r.int(15)), Tries: int(r.int(16)), By: r.str(17), Note: string(r.blob(18)),
	}
}

// deadIDs selects the ids of a query between two of them. One filter alone has its
// index, everything else is looked for in the one that holds all that is asked
// about; the table itself is read for what is found. Texts are few, since prepared
// statements are kept.
func deadIDs(q *store.DeadQuery, above, below, columns string) (text string, args []any) {
	index, first, value := "dead_list", "''", ""
	alone := q.Kind == "" && q.Platform == "" && q.Until.IsZero()
	for _, f := range []struct{ index, column, value string }{
		{"dead_conv", "conv", q.Conv}, {"dead_app", "app", q.App}, {"dead_account", "account", q.Account}, {"dead_reason", "reason", q.Reason},
	} {
		switch {
		case f.value == "":
		case value == "":
			index, first, value = f.index, f.column, f.value
		default:
			alone = false
		}
	}
	if !alone && q.Conv == "" {
		index, first, value = "dead_list", "''", ""
	}
	state := cmp.Or(q.State, "open")
	until := int64(1<<63 - 1)
	if !q.Until.IsZero() {
		until = nanos(q.Until)
	}
	// Ids are made in the order of time, and none before its own.
	if since := idAt(q.Since); above < since {
		above = since
	}
	if end := idAt(q.Until.Add(untilSlack)); !q.Until.IsZero() && (below == "" || end < below) {
		below = end
	}
	text = "SELECT " + columns + " FROM dead INDEXED BY " + index + " WHERE state = ? AND " + first + " = ? AND id > ? AND id < ?"
	args = []any{state, value, above, cmp.Or(below, "dl_~")}
	if index != "dead_list" && q.Conv == "" {
		return text, args
	}
	return text + ` AND (? = '' OR app = ?) AND (? = '' OR account = ?) AND (? = '' OR reason = ?) AND (? = '' OR kind = ?)
		AND (? = '' OR platform = ?) AND at >= ? AND at < ?`,
		append(args, q.App, q.App, q.Account, q.Account, q.Reason, q.Reason, q.Kind, q.Kind, q.Platform, q.Platform, q.Since, until)
}

// untilSlack is how far the id of a dead letter may be ahead of its time, where an older
// schema wrote it while the clock was set back: ids never go back. Since then the time
// is the id's.
const untilSlack = time.Minute

// idAt is below every id of a dead letter made at t or later.
func idAt(t time.Time) string {
	if t.UnixMilli() <= 0 {
		return ""
	}
	var id ulid.ULID
	if id.SetTime(uint64(t.UnixMilli())) != nil {
		return "dl_~" // after the year 10889
	}
	return "dl_" + id.String()[:10]
}

// Dead lists dead letters, newest first.
func (l *Ledger) Dead(ctx context.Context, q store.DeadQuery) (out []gateway.DeadLetter, err error) {
	text, args := deadIDs(&q, "", q.Before, "id")
	if q.State == "" || q.State == "open" { // what there is none of need not be looked for
		n, err := l.openDead(ctx, &q)
		if err != nil || n == 0 {
			return nil, err
		}
	}
	text = "SELECT " + deadColumns + " FROM dead WHERE id IN (" + text + " ORDER BY id DESC LIMIT ?) ORDER BY id DESC"
	err = l.people.read(ctx, func(c *conn) error {
		return c.query(text, func(r row) error {
			out = append(out, scanDead(r))
			return nil
		}, append(args, limitOf(q.Limit))...)
	})
	return out, err
}

// openDead counts the open ones by what is kept of them.
func (l *Ledger) openDead(ctx context.Context, q *store.DeadQuery) (n int64, err error) {
	err = l.people.read(ctx, func(c *conn) error {
		n, err = c.number(`SELECT sum(n) FROM dead_count WHERE (? = '' OR app = ?) AND (? = '' OR account = ?) AND (? = '' OR reason = ?)
			AND (? = '' OR kind = ?) AND (? = '' OR platform = ?)`,
			q.App, q.App, q.Account, q.Account, q.Reason, q.Reason, q.Kind, q.Kind, q.Platform, q.Platform)
		return err
	})
	return n, err
}

// deadSlice is how many dead letters one read of a look at all of them takes.
const deadSlice = 10_000

// groupDead counts all that the query selects by some columns, in short reads: each
// is called with the number and the columns, and more than once for a group.
func (l *Ledger) groupDead(ctx context.Context, q store.DeadQuery, columns string, each func(n int64, r row)) error {
	for above, more := "", true; more; {
		text, args := deadIDs(&q, above, "", "id, kind, app, account, reason, at, conv")
		text = "SELECT max(id), count(*), " + columns + " FROM (" + text + " ORDER BY id LIMIT ?) GROUP BY " + columns
		read := int64(0)
		err := l.people.read(ctx, func(c *conn) error {
			return c.query(text, func(r row) error {
				read, above = read+r.int(1), max(above, r.str(0))
				each(r.int(1), r[2:])
				return nil
			}, append(args, deadSlice)...)
		})
		if err != nil {
			return err
		}
		more = read == deadSlice
	}
	return nil
}

// deadHours is how many hours the statistics tell apart.
const deadHours = 48

// DeadStats counts what a query selects.
func (l *Ledger) DeadStats(ctx context.Context, q store.DeadQuery) (gateway.DeadStats, error) {
	var s gateway.DeadStats
	by := [4]map[string]int64{{}, {}, {}, {}}
	err := l.groupDead(ctx, q, "kind, app, account, reason", func(n int64, r row) {
		s.Total += n
		for i := range by {
			by[i][r.str(i)] += n
		}
	})
	if err != nil {
		return gateway.DeadStats{}, err
	}
	s.Kinds, s.Apps, s.Accounts, s.Reasons = mostFirst(by[0]), mostFirst(by[1]), mostFirst(by[2]), mostFirst(by[3])
	hours := map[int64]int64{}
	err = l.groupDead(ctx, q, "at / 3600000000000", func(n int64, r row) { hours[r.int(0)*int64(time.Hour)] += n })
	if err != nil {
		return gateway.DeadStats{}, err
	}
	s.Hours = []gateway.DeadHour{}
	for at, n := range hours {
		s.Hours = append(s.Hours, gateway.DeadHour{At: fromNanos(at), Count: n})
	}
	slices.SortFunc(s.Hours, func(a, b gateway.DeadHour) int { return b.At.Compare(a.At) })
	for len(s.Hours) > deadHours {
		s.Earlier += s.Hours[len(s.Hours)-1].Count
		s.Hours = s.Hours[:len(s.Hours)-1]
	}
	return s, nil
}

func mostFirst(counts map[string]int64) []gateway.DeadCount {
	out := make([]gateway.DeadCount, 0, len(counts))
	for name, n := range counts {
		out = append(out, gateway.DeadCount{Name: name, Count: n})
	}
	slices.SortFunc(out, func(a, b gateway.DeadCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Bounds of what a plan says of its conversations.
const (
	planConvs   = 20
	planWaiting = 1000
)

// DeadPlan says what moving the open dead letters of a query would move.
func (l *Ledger) DeadPlan(ctx context.Context, q store.DeadQuery) (gateway.DeadPlan, error) {
	q.State = "open"
	p := gateway.DeadPlan{Convs: []gateway.DeadConv{}}
	kinds, convs := map[string]int64{}, map[string]int64{}
	err := l.groupDead(ctx, q, "kind, conv", func(n int64, r row) {
		p.Letters += n
		kinds[r.str(0)] += n
		if conv := r.str(1); conv != "" {
			convs[conv] += n
		}
	})
	if err != nil {
		return gateway.DeadPlan{}, err
	}
	p.Kinds, p.Conversations = mostFirst(kinds), int64(len(convs))
	for _, c := range mostFirst(convs)[:min(len(convs), planConvs)] {
		p.Convs = append(p.Convs, gateway.DeadConv{Conv: c.Name, Letters: c.Count})
	}
	err = l.people.read(ctx, func(c *conn) error {
		apps, err := pendingApps(c)
		if err != nil {
			return err
		}
		for i := range p.Convs {
			if p.Convs[i].Waiting, err = waitingIn(c, apps, p.Convs[i].Conv); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// pendingApps are the applications that something waits for.
func pendingApps(c *conn) (apps []string, err error) {
	for app := ""; ; {
		found, err := c.one("SELECT app FROM pending WHERE app > ? ORDER BY app LIMIT 1", func(r row) { app = r.str(0) }, app)
		if err != nil || !found {
			return apps, err
		}
		apps = append(apps, app)
	}
}

// waitingIn counts what waits in a conversation for some applications, up to
// planWaiting.
func waitingIn(c *conn, apps []string, conv string) (n int64, err error) {
	key, found, err := keyOf(c, conv)
	if err != nil || !found {
		return 0, err
	}
	for _, app := range apps {
		some, err := c.number("SELECT count(*) FROM (SELECT 1 FROM pending WHERE app = ? AND c = ? LIMIT ?)", app, key, planWaiting-n)
		if err != nil {
			return 0, err
		}
		n += some
	}
	return n, nil
}

// DeadOpen are the kept counts of open dead letters.
func (l *Ledger) DeadOpen(ctx context.Context) (out []gateway.DeadOpen, err error) {
	err = l.people.read(ctx, func(c *conn) error {
		return c.query("SELECT kind, app, account, reason, sum(n) FROM dead_count WHERE n > 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", func(r row) error {
			out = append(out, gateway.DeadOpen{Kind: r.str(0), App: r.str(1), Account: r.str(2), Reason: r.str(3), Count: r.int(4)})
			return nil
		})
	})
	return out, err
}

// deadFilter is a query as the audit tells it.
func deadFilter(q *store.DeadQuery) string {
	text := "dead letters"
	for _, f := range []struct{ name, value string }{
		{"app", q.App}, {"account", q.Account}, {"platform", q.Platform}, {"conv", q.Conv}, {"kind", q.Kind}, {"reason", q.Reason},
		{"since", stamp(q.Since)}, {"until", stamp(q.Until)},
	} {
		if f.value != "" {
			text += " " + f.name + "=" + f.value
		}
	}
	if q.Limit > 0 {
		text += fmt.Sprintf(" limit=%d", q.Limit)
	}
	return text
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
