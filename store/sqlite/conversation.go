package sqlite

import (
	"fmt"

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
	humanAt    int64
	heardAt    int64
	toldAt     int64
	takenUntil int64 // 0 when nobody has it
	takenSince int64
	takenBy    string
	takenThen  gateway.Then
	pulse      pulse            // in memory only
	into       int64            // number of the conversation it became part of; -1 for none
	storedSeq  int64            // last_seq in the row
	fresh      bool             // not in the table yet
	dirty      bool             // what cannot be caught up with has changed
	newestBy   map[string]int64 // identity kind -> highest seen among its aliases
	haveNewest bool
}

const storeEvery = 32

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
	found, err := c.one(`SELECT conv, platform, account, chat, last_seq, newest_at, last_human_at, into_c,
		heard_at, told_at, taken_until, taken_since, taken_by, taken_then FROM conversation WHERE c = ?`,
		func(r row) {
			t.conv, t.platform, t.account, t.chat = r.str(0), r.str(1), r.str(2), gateway.ChatKind(r.str(3))
			t.lastSeq, t.newestAt, t.humanAt, t.into = r.int(4), r.int(5), r.int(6), r.int(7)
			t.heardAt, t.toldAt, t.takenUntil, t.takenSince, t.takenBy, t.takenThen = r.int(8), r.int(9), r.int(10), r.int(11), string(r.blob(12)), gateway.Then(r.str(13))
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
	q := `UPDATE conversation SET last_seq = ?, newest_at = ?, last_human_at = ?, heard_at = ?, told_at = ?,
		taken_until = ?, taken_since = ?, taken_by = ?, taken_then = ? WHERE c = ?`
	args := []any{t.lastSeq, t.newestAt, t.humanAt, t.heardAt, t.toldAt, t.takenUntil, t.takenSince, []byte(t.takenBy),
		string(t.takenThen), t.c}
	if t.fresh {
		q = `INSERT INTO conversation (hops, hop_at, last_seq, newest_at, last_human_at, heard_at, told_at,
			taken_until, taken_since, taken_by, taken_then, c, conv, platform, account, chat)
			VALUES (0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
		args = append(args, t.conv, t.platform, t.account, string(t.chat))
	}
	if _, err := c.exec(q, args...); err != nil {
		return err
	}
	t.fresh, t.dirty, t.storedSeq = false, false, t.lastSeq
	return nil
}
