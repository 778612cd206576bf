package sqlite

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// The ledger knows which applications were configured, so that one that is seen for
// the first time begins where it says, and one that is not configured any more keeps
// nothing waiting. Both may concern many events, so they are done in slices, and what
// is left to do is in the application's row: a process that dies goes on.
//
// While an application is brought up from the past, the relay gives it nothing: the
// events it relays meanwhile stand behind the cursor like those from before. The slice
// that finds the end lets the relay go on in the same transaction.

// tendSlice is how many events one transaction of TendApplications looks at; it ends
// sooner when that takes longer than sliceTime.
const tendSlice = 100

// KeepApplications records the configured applications; see store.ApplicationLedger.
func (l *Ledger) KeepApplications(ctx context.Context, apps []gateway.Application, now time.Time) (removed []string, err error) {
	err = l.write(ctx, true, len(apps), func(c *conn) error {
		removed = nil
		l.book.starting, l.book.touched = nil, true
		known := make(map[string]bool) // by name: removed
		err := c.query("SELECT name, removed FROM application ORDER BY name", func(r row) error {
			known[r.str(0)] = r.int(1) == 1
			if !slices.ContainsFunc(apps, func(a gateway.Application) bool { return a.Name == r.str(0) }) {
				removed = append(removed, r.str(0))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := range apps {
			if gone, found := known[apps[i].Name]; gone || !found {
				if err := l.firstSeen(c, &apps[i], now); err != nil {
					return err
				}
			}
		}
		for _, name := range removed {
			if err := l.gone(c, name, known[name], now); err != nil {
				return err
			}
		}
		removed = slices.DeleteFunc(removed, func(name string) bool { return known[name] })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// firstSeen begins an application. What waits for it is of an earlier life, and goes
// before it begins.
func (l *Ledger) firstSeen(c *conn, app *gateway.Application, now time.Time) error {
	left, err := c.one("SELECT 1 FROM pending WHERE app = ? LIMIT 1", func(row) {}, app.Name)
	if err != nil {
		return err
	}
	cursor := int64(0)
	if app.From.IsNow() {
		if cursor = -1; left { // the relay must not give it new ones before those are gone
			cursor = l.book.events
		}
	}
	_, err = c.exec("INSERT OR REPLACE INTO application (name, removed, dropping, cursor, since, at) VALUES (?, 0, ?, ?, ?, ?)",
		app.Name, left, cursor, app.From.Time, now)
	if err != nil {
		return err
	}
	return audit(c, now, "configuration", "application begins", app.Name)
}

// gone notes that an application is not configured any more.
func (l *Ledger) gone(c *conn, name string, before bool, now time.Time) error {
	if before { // something may have been requeued for it since
		_, err := c.exec("UPDATE application SET dropping = 1 WHERE name = ?", name)
		return err
	}
	if _, err := c.exec("UPDATE application SET removed = 1, dropping = 1, cursor = -1, at = ? WHERE name = ?", now, name); err != nil {
		return err
	}
	if _, err := c.exec("DELETE FROM breaker WHERE app = ?", name); err != nil {
		return err
	}
	return audit(c, now, "configuration", "application removed", name)
}

// startingNow are the applications that the relay gives nothing yet.
func (l *Ledger) startingNow(c *conn) (map[string]bool, error) {
	if l.book.starting != nil {
		return l.book.starting, nil
	}
	m := make(map[string]bool)
	err := c.query("SELECT name FROM application WHERE cursor >= 0", func(r row) error {
		m[r.str(0)] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.book.starting = m
	return m, nil
}

// TendApplications does one slice of what is left to do; see store.ApplicationLedger.
func (l *Ledger) TendApplications(ctx context.Context, apps []gateway.Application, now time.Time) (gateway.Tended, error) {
	var out gateway.Tended
	err := l.write(ctx, false, tendSlice/8, func(c *conn) error {
		t := tend{l: l, c: c, now: now, size: &slicer{most: tendSlice}}
		t.size.start()
		var name string
		var dropping bool
		found, err := c.one("SELECT name, dropping, cursor, since FROM application WHERE dropping = 1 OR cursor >= 0 ORDER BY name LIMIT 1", func(r row) {
			name, dropping, t.cursor, t.since = r.str(0), r.int(1) == 1, r.int(2), r.int(3)
		})
		switch {
		case err != nil:
			return err
		case !found:
			t.out.Done = true
		case dropping:
			err = t.drop(name)
		default:
			i := slices.IndexFunc(apps, func(a gateway.Application) bool { return a.Name == name })
			if i < 0 { // KeepApplications was not called with these
				_, err = c.exec("UPDATE application SET cursor = -1 WHERE name = ?", name)
				l.book.starting, l.book.touched = nil, true
			} else {
				err = t.begin(&apps[i])
			}
		}
		out = t.out
		return err
	})
	if err != nil {
		return gateway.Tended{}, err
	}
	return out, nil
}

// tend is one call of TendApplications on the writer's goroutine.
type tend struct {
	l             *Ledger
	c             *conn
	now           time.Time
	cursor, since int64
	size          *slicer
	out           gateway.Tended
}

// drop settles a slice of what waits for an application as dropped.
func (t *tend) drop(name string) error {
	type place struct{ c, lane, seq, n, tries, round, requeue int64 }
	var list []place
	err := t.c.query("SELECT c, lane, seq, n, tries, round, requeue FROM pending WHERE app = ? ORDER BY c, lane, seq LIMIT ?", func(r row) error {
		list = append(list, place{r.int(0), r.int(1), r.int(2), r.int(3), r.int(4), r.int(5), r.int(6)})
		return nil
	}, name, tendSlice)
	if err != nil {
		return err
	}
	rows := bulk{text: t.l.texts.settled}
	whole := len(list) < tendSlice
	for i, p := range list {
		if i > 0 && t.size.full(i) {
			list, whole = list[:i], false
			break
		}
		if _, err := t.c.exec("DELETE FROM pending WHERE app = ? AND c = ? AND lane = ? AND seq = ?", name, p.c, p.lane, p.seq); err != nil {
			return err
		}
		t.l.book.forgetWaiting(waitingKey{p.c, name})
		t.l.book.touched = true
		if err := rows.add(t.c, p.n, name, string(gateway.EventDropped), gateway.ReasonRemoved, p.tries, p.round, p.requeue, t.now); err != nil {
			return err
		}
	}
	if err := rows.flush(t.c); err != nil {
		return err
	}
	t.count(name, "pending", -len(list))
	t.count(name, "dropped", len(list))
	t.out.Dropped = len(list)
	for _, p := range list {
		if err := t.l.drained(t.c, p.c); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	_, err = t.c.exec("UPDATE application SET dropping = 0 WHERE name = ?", name)
	return err
}

func (t *tend) count(name, what string, n int) { t.l.book.add(appCount(name, what), int64(n)) }

// begin gives an application a slice of the events before now.
func (t *tend) begin(app *gateway.Application) error {
	var list []gateway.Pending
	var keys []int64
	seen := 0
	// Superseded stands first in a content that has it, see gateway.Supersede.
	superseded := []byte(`{"superseded":`)
	err := t.c.query("SELECT "+eventColumns+", e.c, e.run FROM "+eventRows+" WHERE e.n > ? ORDER BY e.n LIMIT ?", func(r row) error {
		e := scanEvent(r)
		seen, t.cursor = seen+1, e.N
		if r.str(len(r)-1) != "" || e.Seq <= 0 || nanos(e.ReceivedAt) < t.since || bytes.HasPrefix(e.Content, superseded) ||
			!app.Wants(e.Platform, e.Account, e.Kind, e.Chat) {
			return nil
		}
		list = append(list, gateway.Pending{App: app.Name, Conv: e.Conv, Seq: e.Seq, N: e.N, Event: e.ID})
		keys = append(keys, r.int(len(r)-2))
		return nil
	}, t.cursor, tendSlice)
	if err != nil {
		return err
	}
	for i := range list {
		if i > 0 && t.size.full(i) { // the rest is looked at again
			t.cursor, seen = list[i-1].N, tendSlice
			break
		}
		if err := t.give(keys[i], &list[i]); err != nil {
			return err
		}
	}
	if seen < tendSlice { // the end: from here on the relay gives them
		t.cursor = -1
		t.l.book.starting, t.l.book.touched = nil, true
	}
	_, err = t.c.exec("UPDATE application SET cursor = ? WHERE name = ?", t.cursor, app.Name)
	return err
}

// give lets an event wait for an application that did not settle it before.
func (t *tend) give(key int64, p *gateway.Pending) error {
	state, reason := "", ""
	_, err := t.c.one("SELECT state, reason, round FROM settled WHERE n = ? AND app = ?", func(r row) {
		state, reason, p.Round = r.str(0), r.str(1), int(r.int(2))+1
	}, p.N, p.App)
	switch {
	case err != nil:
		return err
	case state == "":
		t.count(p.App, "wanted", 1)
	case state == string(gateway.EventDropped) && reason == gateway.ReasonRemoved:
		if _, err := t.c.exec("DELETE FROM settled WHERE n = ? AND app = ?", p.N, p.App); err != nil {
			return err
		}
		t.count(p.App, "dropped", -1)
	default:
		return nil
	}
	if _, err := t.c.exec(t.l.texts.pending.one, pendingArgs(key, p)...); err != nil {
		return err
	}
	t.count(p.App, "pending", 1)
	t.l.book.waits(key, p)
	t.out.Pending = append(t.out.Pending, *p)
	merged, err := t.l.stirs(t.c, p.Conv)
	for _, m := range merged {
		if !slices.Contains(t.out.Merged, m) {
			t.out.Merged = append(t.out.Merged, m)
		}
	}
	return err
}
