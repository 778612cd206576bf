package sqlite

import (
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// talk is the row of a conversation. Its last seq and the time of its newest
// message follow from its events, so the row is not written for every event but
// every storeEvery of them, and caught up with when it is read.
type talk struct {
	c          int64 // its number
	conv       string
	platform   string
	account    string
	chat       gateway.ChatKind
	lastSeq    int64
	newestAt   int64
	hops       int64
	hopAt      int64
	humanAt    int64
	storedSeq  int64            // last_seq in the row
	fresh      bool             // not in the table yet
	dirty      bool             // what cannot be caught up with has changed
	newestBy   map[string]int64 // identity kind -> highest seen among its aliases
	haveNewest bool
}

const storeEvery = 32

// aliasKey names an identity within its key space.
type aliasKey struct {
	platform, account string
	chat              gateway.ChatKind
	kind, value       string
}

type alias struct {
	c        int64 // of its conversation
	spelling string
	place    int64 // among the identities it came with; the furthest back so far
	seen     int64
}

// keyOf finds a conversation's number.
func keyOf(c *conn, conv string) (key int64, found bool, err error) {
	first := convKey(conv)
	found, err = c.one("SELECT c FROM conversation WHERE c >= ? AND c < ? AND conv = ?", func(r row) { key = r.int(0) },
		first, first+convKeys, conv)
	return key, found, err
}

// key is keyOf on the writer's goroutine.
func (l *Ledger) key(c *conn, conv string) (key int64, found bool, err error) {
	if t := l.book.talks[convKey(conv)]; t != nil && t.conv == conv {
		return t.c, true, nil
	}
	return keyOf(c, conv)
}

// freeKey is the number for a conversation to be made.
func freeKey(c *conn, conv string) (key int64, err error) {
	key = convKey(conv)
	end := key + convKeys
	err = c.query("SELECT c, conv FROM conversation WHERE c >= ? AND c < ? ORDER BY c", func(r row) error {
		if r.str(1) == conv {
			return fmt.Errorf("a conversation to be made: %w", gateway.ErrConflict)
		}
		if r.int(0) == key {
			key++
		}
		return nil
	}, key, end)
	if err == nil && key == end {
		err = fmt.Errorf("%d conversations begin alike: %w", convKeys, gateway.ErrConflict)
	}
	return key, err
}

// talkOf is talk for the id of a conversation.
func (l *Ledger) talkOf(c *conn, conv string) (*talk, error) {
	key, found, err := l.key(c, conv)
	if err == nil && !found {
		err = fmt.Errorf("conversation: %w", gateway.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return l.talk(c, key)
}

// talk returns the conversation with a number.
func (l *Ledger) talk(c *conn, key int64) (*talk, error) {
	if t := l.book.talks[key]; t != nil {
		return t, nil
	}
	t := &talk{c: key}
	found, err := c.one("SELECT conv, platform, account, chat, last_seq, newest_at, hops, hop_at, last_human_at FROM conversation WHERE c = ?",
		func(r row) {
			t.conv, t.platform, t.account, t.chat = r.str(0), r.str(1), r.str(2), gateway.ChatKind(r.str(3))
			t.lastSeq, t.newestAt, t.hops, t.hopAt, t.humanAt = r.int(4), r.int(5), r.int(6), r.int(7), r.int(8)
		}, key)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("conversation: %w", gateway.ErrNotFound)
	}
	if err := catchUp(c, t); err != nil {
		return nil, err
	}
	l.book.talks[key] = t
	return t, nil
}

// catchUp adds to a row what its events since then say.
func catchUp(c *conn, t *talk) error {
	t.storedSeq = t.lastSeq
	return c.query("SELECT ord, kind, occurred_at FROM event WHERE c = ? AND ord > ? ORDER BY ord", func(r row) error {
		t.lastSeq = r.int(0)
		if gateway.Kind(r.str(1)) == gateway.KindMessage {
			t.newestAt = max(t.newestAt, r.int(2))
		}
		return nil
	}, t.c, t.lastSeq)
}

// change marks a conversation as changed; storeTalk writes it back.
func (l *Ledger) change(t *talk) {
	t.dirty, l.book.touched = true, true
}

func storeTalk(c *conn, t *talk) error {
	if !t.dirty && t.lastSeq-t.storedSeq < storeEvery {
		return nil
	}
	q := "UPDATE conversation SET last_seq = ?, newest_at = ?, hops = ?, hop_at = ?, last_human_at = ? WHERE c = ?"
	args := []any{t.lastSeq, t.newestAt, t.hops, t.hopAt, t.humanAt, t.c}
	if t.fresh {
		q = `INSERT INTO conversation (last_seq, newest_at, hops, hop_at, last_human_at, c, conv, platform, account, chat)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
		args = append(args, t.conv, t.platform, t.account, string(t.chat))
	}
	if _, err := c.exec(q, args...); err != nil {
		return err
	}
	t.fresh, t.dirty, t.storedSeq = false, false, t.lastSeq
	return nil
}

func (l *Ledger) alias(c *conn, k aliasKey) (*alias, error) {
	if a := l.book.aliases[k]; a != nil {
		return a, nil
	}
	var a *alias
	_, err := c.one("SELECT c, spelling, place, seen FROM alias WHERE platform = ? AND account = ? AND chat = ? AND kind = ? AND value = ?",
		func(r row) { a = &alias{r.int(0), string(r.blob(1)), r.int(2), r.int(3)} },
		k.platform, k.account, string(k.chat), k.kind, []byte(k.value))
	if err != nil {
		return nil, err
	}
	if a != nil {
		l.book.aliases[k] = a
	}
	return a, nil
}

// find returns the conversation of the first known identity; nil for none.
func (l *Ledger) find(c *conn, platform, account string, chat *gateway.Chat) (*talk, error) {
	for _, id := range chat.Identities {
		a, err := l.alias(c, aliasKey{platform, account, chat.Kind, id.Kind, id.Value})
		if err != nil {
			return nil, err
		}
		if a != nil {
			return l.talk(c, a.c)
		}
	}
	return nil, nil
}

// resolve makes the conversation of a chat when find found none (t nil), and
// learns its identities.
func (l *Ledger) resolve(c *conn, t *talk, platform, account string, chat *gateway.Chat) (*talk, error) {
	if t == nil {
		conv := gateway.ConvID(l.identity.Secret, platform, account, chat.Kind, chat.Identities[0])
		key, err := freeKey(c, conv)
		if err != nil {
			return nil, err
		}
		t = &talk{c: key, conv: conv, platform: platform, account: account, chat: chat.Kind, fresh: true,
			newestBy: make(map[string]int64), haveNewest: true}
		l.book.talks[key] = t
		l.change(t)
		if err := storeTalk(c, t); err != nil {
			return nil, err
		}
	}
	return t, l.learn(c, t, chat.Identities)
}

// learn makes identities aliases of a conversation. An alias of another
// conversation stays as it is and is counted: the two should become one, which
// is not done here.
func (l *Ledger) learn(c *conn, t *talk, ids []gateway.Identity) error {
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
	for i, id := range ids {
		k := aliasKey{t.platform, t.account, t.chat, id.Kind, id.Value}
		a, err := l.alias(c, k)
		if err != nil {
			return err
		}
		switch {
		case a != nil && a.c != t.c:
			l.book.add(prefixOther+"alias_conflict", 1)
			continue
		case a != nil && (id.As == "" || a.spelling == id.As) && a.place >= int64(i) && a.seen == t.newestBy[id.Kind]:
			continue // known, in this spelling, and the newest of its kind
		}
		// seen tells the newest identity of a kind; an identity that came beside
		// another one of its kind in the same item gives way to the better one.
		n := &alias{c: t.c, spelling: id.Spelling(), place: int64(i), seen: l.book.seen + 1}
		if a != nil {
			n.place = max(n.place, a.place)
		}
		if a != nil && id.As == "" {
			n.spelling = a.spelling
		}
		for _, better := range ids[:i] {
			if better.Kind == id.Kind && a != nil {
				n.seen = a.seen
			}
		}
		if a != nil && *n == *a {
			continue
		}
		_, err = c.exec(`INSERT INTO alias (platform, account, chat, kind, value, spelling, c, place, seen)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET spelling = excluded.spelling, place = excluded.place, seen = excluded.seen`,
			k.platform, k.account, string(k.chat), k.kind, []byte(k.value), []byte(n.spelling), t.c, n.place, n.seen)
		if err != nil {
			return err
		}
		l.book.aliases[k], l.book.touched = n, true
		l.book.seen = max(l.book.seen, n.seen)
		t.newestBy[id.Kind] = max(t.newestBy[id.Kind], n.seen)
	}
	return nil
}

// identities are the names of a conversation's other side: best kind first, as
// they came together, and the newest of a kind first.
func identities(c *conn, key int64) (out []gateway.Identity, err error) {
	err = c.query(`SELECT kind, value, spelling FROM alias a WHERE c = ?
		ORDER BY (SELECT max(place) FROM alias b WHERE b.c = a.c AND b.kind = a.kind), kind, seen DESC`, func(r row) error {
		id := gateway.Identity{Kind: r.str(0), Value: string(r.blob(1)), As: string(r.blob(2))}
		if id.As == id.Value {
			id.As = ""
		}
		out = append(out, id)
		return nil
	}, key)
	return out, err
}

// hop counts a message of another account of ours. It says true when the
// conversation may go on: fewer than limit hops so far (0: no limit), or the
// last one hopRest ago.
func (l *Ledger) hop(t *talk, limit int, now time.Time) bool {
	if n := nanos(now); n-t.hopAt > int64(hopRest) {
		t.hops = 0
	}
	t.hopAt = nanos(now)
	l.change(t)
	if limit > 0 && t.hops >= int64(limit) {
		return false
	}
	t.hops++
	return true
}

// hopRest is the silence after which hops are counted from one again.
const hopRest = 10 * time.Minute
