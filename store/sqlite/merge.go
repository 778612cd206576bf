package sqlite

import (
	"context"
	"math"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Two conversations that turn out to be one: the younger becomes part of the
// older. Its aliases move, so all that comes later goes to the older one; its
// events and messages stay where they are and are settled and sent from there.
// While it has any of them it is draining: of the older one nothing is offered
// (the gate sees to that, by application) and nothing sent (BeginAttempt and
// NextMessage). What was with a worker or on its way in both at the moment of the
// merge ends beside each other.
//
// Messages that are not due yet move to the one that lives, where their turn comes
// in order: it must not wait for them.
//
// All of it is state in rows: a process that dies finds the same on its return.
// The other one waits no longer than what it waits for would wait anyhow: an event
// until it is settled or dead, a message until it has an outcome, is given up or
// expires. A paused application's events hold the same application's only, and
// held replies of a replay hold nothing. What is requeued into a conversation that
// became part of another one lets that one wait again, as in any conversation.

// merging are the conversations that are draining, by number, with the one they
// became part of. Few, so they are kept in memory; read again when the book was
// forgotten.
func (l *Ledger) merging(c *conn) (map[int64]int64, error) {
	if l.book.merging != nil {
		return l.book.merging, nil
	}
	m := make(map[int64]int64)
	err := c.query("SELECT c, into_c FROM conversation WHERE draining = 1", func(r row) error {
		m[r.int(0)] = r.int(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.book.merging = m
	l.book.drains.Store(int64(len(m)))
	return m, nil
}

// drains marks a conversation as draining or not.
func (l *Ledger) drains(c *conn, key, into int64, on bool) error {
	m, err := l.merging(c)
	if err != nil {
		return err
	}
	if _, err := c.exec("UPDATE conversation SET draining = ? WHERE c = ?", on, key); err != nil {
		return err
	}
	if l.book.touched = true; on {
		m[key] = into
	} else {
		delete(m, key)
	}
	l.book.drains.Store(int64(len(m)))
	return nil
}

// merge makes two conversations one and returns the older, which lives. tell says
// that the other one has something left, or had messages for later.
func (l *Ledger) merge(c *conn, a, b *talk, now time.Time) (kept *talk, m gateway.Merge, tell bool, err error) {
	na, err := firstEvent(c, a.c)
	if err != nil {
		return nil, m, false, err
	}
	nb, err := firstEvent(c, b.c)
	if err != nil {
		return nil, m, false, err
	}
	if nb < na {
		a, b = b, a
	}
	later, err := c.exec("UPDATE message SET conv = ? WHERE conv = ? AND open = 1 AND state = 'waiting' AND attempts = 0 AND due_at > ?", a.conv, b.conv, now)
	if err != nil {
		return nil, m, false, err
	}
	drains, err := l.busy(c, b)
	if err != nil {
		return nil, m, false, err
	}
	if _, err := c.exec("UPDATE conversation SET into_c = ?, merged_at = ? WHERE c = ?", a.c, now, b.c); err != nil {
		return nil, m, false, err
	}
	if err := l.moveAliases(c, b, a); err != nil {
		return nil, m, false, err
	}
	if err := moveState(c, b, a); err != nil {
		return nil, m, false, err
	}
	b.into = a.c
	a.newestAt, a.humanAt = max(a.newestAt, b.newestAt), max(a.humanAt, b.humanAt)
	a.heardAt, a.toldAt = max(a.heardAt, b.heardAt), max(a.toldAt, b.toldAt)
	a.haveNewest = false
	l.change(a)
	if err := storeTalk(c, a); err != nil {
		return nil, m, false, err
	}
	if err := l.mergeTaken(c, b, a, now); err != nil {
		return nil, m, false, err
	}
	l.book.add(prefixOther+"merged", 1)
	if drains {
		err = l.drains(c, b.c, a.c, true)
	}
	return a, gateway.Merge{Conv: b.conv, Into: a.conv}, drains || later > 0, err
}

// firstEvent is the place of a conversation's first event in the archive: rows are
// not in that order where a payload overtook another.
func firstEvent(c *conn, key int64) (int64, error) {
	first := int64(math.MaxInt64)
	for _, q := range []string{
		"SELECT pos, item FROM event WHERE c = ? AND ord > 0 ORDER BY ord LIMIT 1",
		"SELECT pos, item FROM event WHERE c = ? AND ord < 0 ORDER BY ord DESC LIMIT 1",
	} {
		if _, err := c.one(q, func(r row) { first = min(first, r.int(0)<<20|r.int(1)) }, key); err != nil {
			return 0, err
		}
	}
	return first, nil
}

func (l *Ledger) moveAliases(c *conn, from, to *talk) error {
	l.book.touched = true
	delete(l.book.names, from.c)
	delete(l.book.names, to.c)
	err := c.query("SELECT kind, value FROM alias WHERE c = ?", func(r row) error {
		if a := l.book.aliases[aliasKey{from.platform, from.account, from.chat, r.str(0), string(r.blob(1))}]; a != nil {
			a.c = to.c
		}
		return nil
	}, from.c)
	if err != nil {
		return err
	}
	_, err = c.exec("UPDATE alias SET c = ? WHERE c = ?", to.c, from.c)
	return err
}

// busy says whether a conversation has anything that another one would wait for.
func (l *Ledger) busy(c *conn, t *talk) (bool, error) {
	m, err := l.merging(c)
	if err != nil {
		return false, err
	}
	for _, into := range m {
		if into == t.c {
			return true, nil
		}
	}
	found, err := c.one("SELECT 1 FROM message WHERE conv = ? AND open = 1 LIMIT 1", func(row) {}, t.conv)
	if err != nil || found {
		return found, err
	}
	for app := ""; ; { // the application stands first in the key of pending
		found, err := c.one("SELECT app FROM pending WHERE app > ? ORDER BY app LIMIT 1", func(r row) { app = r.str(0) }, app)
		if err != nil || !found {
			return false, err
		}
		if found, err = c.one("SELECT 1 FROM pending WHERE app = ? AND c = ? LIMIT 1", func(row) {}, app, t.c); err != nil || found {
			return found, err
		}
	}
}

// drained looks whether a draining conversation has nothing left, and then whether
// the one that waited for it is draining too and has nothing left.
func (l *Ledger) drained(c *conn, key int64) error {
	m, err := l.merging(c)
	if err != nil || len(m) == 0 {
		return err
	}
	for {
		into, draining := m[key]
		if !draining {
			return nil
		}
		t, err := l.talk(c, key)
		if err != nil {
			return err
		}
		if busy, err := l.busy(c, t); err != nil || busy {
			return err
		}
		if err := l.drains(c, key, into, false); err != nil {
			return err
		}
		key = into
	}
}

// stirs says that something waits again in a conversation: when that became part
// of another one, the other one waits for it. It returns who waits for whom.
func (l *Ledger) stirs(c *conn, conv string) (out []gateway.Merge, err error) {
	t, err := l.talkOf(c, conv)
	for err == nil && t.into >= 0 {
		var into *talk
		if into, err = l.talk(c, t.into); err != nil {
			break
		}
		if err = l.drains(c, t.c, into.c, true); err == nil {
			out = append(out, gateway.Merge{Conv: t.conv, Into: into.conv})
		}
		t = into
	}
	return out, err
}

// root is the conversation that t is part of by now.
func (l *Ledger) root(c *conn, t *talk) (*talk, error) {
	for t.into >= 0 {
		var err error
		if t, err = l.talk(c, t.into); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// learnFrom learns what a platform says about whom a message went to: all of these
// names are one person's. Where two people are on record by ids of their own, the
// message went to somebody else than we meant, and nothing is joined.
func (l *Ledger) learnFrom(c *conn, conv string, ids []gateway.Identity, at time.Time) (merged []gateway.Merge, err error) {
	t, err := l.talkOf(c, conv)
	if err == nil {
		t, err = l.root(c, t)
	}
	if err != nil {
		return nil, err
	}
	known := make([]gateway.Identity, 0, len(ids))
	for _, id := range ids {
		a, err := l.alias(c, aliasKey{t.platform, t.account, t.chat, id.Kind, id.Value})
		if err != nil {
			return nil, err
		}
		if a == nil || a.c == t.c {
			known = append(known, id)
			continue
		}
		people, err := c.number("SELECT count(DISTINCT c) FROM alias WHERE c IN (?, ?) AND kind <> ? AND retired = 0", t.c, a.c, kindPhone)
		if err != nil {
			return nil, err
		}
		if people > 1 || a.retired {
			l.book.add(prefixOther+"alias_conflict", 1)
			continue
		}
		other, err := l.talk(c, a.c)
		if err != nil {
			return nil, err
		}
		var m gateway.Merge
		var tell bool
		if t, m, tell, err = l.merge(c, t, other, at); err != nil {
			return nil, err
		}
		if tell {
			merged = append(merged, m)
		}
		known = append(known, id)
	}
	return merged, l.learn(c, t, known, at, false)
}

// kinText finds a conversation and all draining ones that became part of it, or of
// those.
const kinText = `WITH RECURSIVE kin(c) AS (VALUES (?) UNION SELECT u.c FROM kin JOIN conversation u
	ON u.into_c = kin.c AND u.into_c >= 0 AND u.draining = 1)
	SELECT v.conv FROM kin JOIN conversation v ON v.c = kin.c`

// behind is a conversation whose open messages those of another one wait for; ""
// for none.
func behind(c *conn, key int64) (conv string, err error) {
	_, err = c.one(kinText+" JOIN message m ON m.conv = v.conv AND m.open = 1 WHERE kin.c <> ? LIMIT 1",
		func(r row) { conv = r.str(0) }, key, key)
	return conv, err
}

// kin are the conversations that go to one customer at present: conv, and those
// that wait for it or that it waits for.
func (l *Ledger) kin(c *conn, conv string) ([]string, error) {
	if m, err := l.merging(c); err != nil || len(m) == 0 {
		return []string{conv}, err
	}
	t, err := l.talkOf(c, conv)
	if err == nil {
		t, err = l.root(c, t)
	}
	if err != nil {
		return nil, err
	}
	out := []string{conv}
	err = c.query(kinText, func(r row) error {
		if r.str(0) != conv {
			out = append(out, r.str(0))
		}
		return nil
	}, t.c)
	return out, err
}

// Merges lists who waits for whom: conversations that have something left, with
// those they became part of.
func (l *Ledger) Merges(ctx context.Context) (out []gateway.Merge, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query(`SELECT u.conv, v.conv FROM conversation u JOIN conversation v ON v.c = u.into_c
			WHERE u.draining = 1 ORDER BY u.merged_at, u.c`, func(r row) error {
			out = append(out, gateway.Merge{Conv: r.str(0), Into: r.str(1)})
			return nil
		})
	})
	return out, err
}
