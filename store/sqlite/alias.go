package sqlite

import (
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// aliasKey names an identity within its key space.
type aliasKey struct {
	platform, account string
	chat              gateway.ChatKind
	kind, value       string
}

type alias struct {
	c         int64 // of its conversation
	spelling  string
	place     int64 // among the identities it came with; the furthest back so far
	seen      int64 // 0: by the way only, never among the newest
	retired   bool
	changedAt int64 // when it was retired, taken into use again or moved, by the platform's time
}

func (l *Ledger) alias(c *conn, k aliasKey) (*alias, error) {
	if a := l.book.aliases[k]; a != nil {
		return a, nil
	}
	var a *alias
	_, err := c.one("SELECT c, spelling, place, seen, retired, changed_at FROM alias WHERE platform = ? AND account = ? AND chat = ? AND kind = ? AND value = ?",
		func(r row) { a = &alias{r.int(0), string(r.blob(1)), r.int(2), r.int(3), r.int(4) == 1, r.int(5)} },
		k.platform, k.account, string(k.chat), k.kind, []byte(k.value))
	if err != nil {
		return nil, err
	}
	if a != nil {
		l.book.aliases[k] = a
	}
	return a, nil
}

// chatOf is a chat within its key space.
type chatOf struct {
	platform, account string
	at                time.Time // the platform's, of the item that names it
	*gateway.Chat
}

func (h chatOf) key(id *gateway.Identity) aliasKey {
	return aliasKey{h.platform, h.account, h.Kind, id.Kind, id.Value}
}

// find returns the conversation of the first known identity, nil for none, and
// other conversations that turn out to be the same person's: other identities of
// the chat lead there. An identity that may be another person's by now leads
// nowhere; see follows.
func (l *Ledger) find(c *conn, h chatOf) (t *talk, also []*talk, err error) {
	for i := range h.Identities {
		id := &h.Identities[i]
		a, err := l.alias(c, h.key(id))
		if err != nil {
			return nil, nil, err
		}
		if a == nil || t != nil && a.c == t.c {
			continue
		}
		if t != nil || a.retired {
			if ok, err := l.follows(c, h, i, a); err != nil || !ok {
				if err != nil {
					return nil, nil, err
				}
				continue
			}
		}
		other, err := l.talk(c, a.c)
		switch {
		case err != nil:
			return nil, nil, err
		case t == nil:
			t = other
		case !slices.Contains(also, other):
			also = append(also, other)
		}
	}
	return t, also, nil
}

// follows says whether the i-th identity of a chat still speaks of the
// conversation that its alias a belongs to. Phone numbers are given to other
// people, ids are not:
//   - when the item itself says that it is a retired name of its person, and nothing
//     newer is known of it, it does, and when nobody is named by an id;
//   - a retired number does not when an id comes along that the conversation does
//     not have;
//   - nor does one in use, when that id is known elsewhere and the conversation has
//     another one of its kind in use: two people are on record, and to join
//     strangers is worse than to keep one person in two places.
func (l *Ledger) follows(c *conn, h chatOf, i int, a *alias) (bool, error) {
	id := &h.Identities[i]
	if id.Kind != kindPhone || id.Retired {
		return !id.Retired || nanos(h.at) >= a.changedAt, nil
	}
	kind, known := "", false
	for j := range h.Identities {
		b := &h.Identities[j]
		if b.Kind == kindPhone {
			continue
		}
		other, err := l.alias(c, h.key(b))
		switch {
		case err != nil:
			return false, err
		case other != nil && other.c == a.c:
			return true, nil
		case other != nil || !b.Retired:
			kind, known = b.Kind, known || other != nil
		}
	}
	switch {
	case kind == "":
		return true, nil
	case a.retired:
		return false, nil
	case !known:
		return true, nil
	}
	n, err := c.number("SELECT count(*) FROM alias WHERE c = ? AND kind = ? AND retired = 0", a.c, kind)
	return n == 0, err
}

const kindPhone = "phone"

// resolve makes the conversation of a chat that find found none for.
func (l *Ledger) resolve(c *conn, h chatOf) (*talk, error) {
	conv := gateway.ConvID(l.identity.Secret, h.platform, h.account, h.Kind, h.Identities[0])
	key, err := freeKey(c, conv)
	if err != nil {
		return nil, err
	}
	t := &talk{c: key, conv: conv, platform: h.platform, account: h.account, chat: h.Kind, into: -1, fresh: true,
		newestBy: make(map[string]int64), haveNewest: true}
	l.book.talks[key] = t
	l.change(t)
	return t, storeTalk(c, t)
}

// learn makes identities aliases of a conversation, as of at, the platform's time.
// What find did not follow moves here, unless something newer is known of it.
// With quiet only names that nobody has are learned, behind all others: the item
// is a copy or an old one.
func (l *Ledger) learn(c *conn, t *talk, ids []gateway.Identity, at time.Time, quiet bool) error {
	if !t.haveNewest {
		t.newestBy = make(map[string]int64)
		err := c.query("SELECT kind, max(seen) FROM alias WHERE c = ? GROUP BY kind", func(r row) error {
			t.newestBy[r.str(0)] = r.int(1)
			return nil
		}, t.c)
		if err != nil {
			return err
		}
		t.haveNewest = true
	}
	for i := range ids {
		id := &ids[i]
		k := aliasKey{t.platform, t.account, t.chat, id.Kind, id.Value}
		a, err := l.alias(c, k)
		if err != nil {
			return err
		}
		if a != nil && quiet {
			continue
		}
		n := l.learned(t, ids, i, a, nanos(at))
		if n == nil {
			continue
		}
		if quiet {
			n.seen = 0
		}
		if a != nil && a.c != t.c {
			l.book.add(prefixOther+"alias_moved", 1)
			if from := l.book.talks[a.c]; from != nil {
				from.haveNewest = false
			}
			delete(l.book.names, a.c)
		}
		delete(l.book.names, t.c)
		_, err = c.exec(`INSERT INTO alias (platform, account, chat, kind, value, spelling, c, place, seen, retired, changed_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET spelling = excluded.spelling, c = excluded.c,
			place = excluded.place, seen = excluded.seen, retired = excluded.retired, changed_at = excluded.changed_at`,
			k.platform, k.account, string(k.chat), k.kind, []byte(k.value), []byte(n.spelling), n.c, n.place, n.seen, n.retired, n.changedAt)
		if err != nil {
			return err
		}
		l.book.aliases[k], l.book.touched = n, true
		l.book.seen = max(l.book.seen, n.seen)
		t.newestBy[id.Kind] = max(t.newestBy[id.Kind], n.seen)
	}
	if quiet || !rotated(ids) {
		return nil
	}
	return l.doubtPhones(c, t, nanos(at))
}

// rotated says that an id was replaced and no number is named beside it. A new id
// comes of a new number, which a customer who hides it does not show.
func rotated(ids []gateway.Identity) bool {
	gone, now := false, false
	for i := range ids {
		if ids[i].Kind == kindPhone {
			return false
		}
		gone, now = gone || ids[i].Retired, now || !ids[i].Retired
	}
	return gone && now
}

// doubtPhones retires the numbers of a conversation: by now they may reach
// somebody else, and the new id reaches the customer. One that comes again, at
// the same time or later, is in use again.
func (l *Ledger) doubtPhones(c *conn, t *talk, at int64) error {
	var numbers []string
	err := c.query("SELECT value FROM alias WHERE c = ? AND kind = ? AND retired = 0", func(r row) error {
		numbers = append(numbers, string(r.blob(0)))
		return nil
	}, t.c, kindPhone)
	if err != nil {
		return err
	}
	for _, number := range numbers {
		k := aliasKey{t.platform, t.account, t.chat, kindPhone, number}
		a, err := l.alias(c, k)
		if err != nil {
			return err
		}
		if a == nil || at-1 <= a.changedAt {
			continue
		}
		delete(l.book.names, t.c)
		n := *a
		n.retired, n.changedAt = true, at-1
		if _, err := c.exec("UPDATE alias SET retired = 1, changed_at = ? WHERE platform = ? AND account = ? AND chat = ? AND kind = ? AND value = ?",
			n.changedAt, k.platform, k.account, string(k.chat), k.kind, []byte(k.value)); err != nil {
			return err
		}
		l.book.aliases[k], l.book.touched = &n, true
	}
	return nil
}

// learned is what the i-th identity makes of its alias a (nil for none); nil when
// it says nothing new.
func (l *Ledger) learned(t *talk, ids []gateway.Identity, i int, a *alias, at int64) *alias {
	id := &ids[i]
	// seen tells the newest identity of a kind; an identity that came beside
	// another one of its kind in the same item gives way to the better one.
	n := &alias{c: t.c, spelling: id.Spelling(), place: int64(i), seen: l.book.seen + 1, retired: id.Retired}
	if id.Retired {
		n.seen, n.changedAt = 0, at
	}
	if a == nil {
		return n
	}
	turned := a.c != t.c || a.retired != id.Retired
	switch {
	case turned && at <= a.changedAt:
		return nil // late
	case a.c != t.c:
		n.changedAt = at
		return n
	case !turned && (id.As == "" || a.spelling == id.As) && a.place >= int64(i) && (a.retired || a.seen == t.newestBy[id.Kind]):
		return nil // known, in this spelling, and the newest of its kind
	}
	n.place, n.changedAt = max(n.place, a.place), a.changedAt
	if turned {
		n.changedAt = at
	}
	if id.As == "" {
		n.spelling = a.spelling
	}
	for _, better := range ids[:i] {
		if better.Kind == id.Kind && !better.Retired {
			n.seen = a.seen
		}
	}
	if id.Retired {
		n.seen = a.seen
	}
	if *n == *a {
		return nil
	}
	return n
}

// identities are the names of a conversation's other side: those in use before
// retired ones, best kind first, as they came together, and the newest of a kind
// first. A conversation that became part of another has the names of that one.
func identities(c *conn, key int64) ([]gateway.Identity, error) {
	out, _, err := identitiesOf(c, key)
	return out, err
}

// identitiesOf are the identities of a conversation, and whose they are.
func identitiesOf(c *conn, key int64) (out []gateway.Identity, whose int64, err error) {
	for len(out) == 0 && err == nil && key >= 0 {
		err = c.query(`SELECT kind, value, spelling, retired FROM alias a WHERE c = ?
			ORDER BY retired, (SELECT max(place) FROM alias b WHERE b.c = a.c AND b.kind = a.kind AND b.retired = a.retired), kind, seen DESC`, func(r row) error {
			id := gateway.Identity{Kind: r.str(0), Value: string(r.blob(1)), As: string(r.blob(2)), Retired: r.int(3) == 1}
			if id.As == id.Value {
				id.As = ""
			}
			out = append(out, id)
			return nil
		}, key)
		if err != nil || len(out) > 0 {
			return out, key, err
		}
		from := key
		key = -1
		_, err = c.one("SELECT into_c FROM conversation WHERE c = ?", func(r row) { key = r.int(0) }, from)
	}
	return out, key, err
}
