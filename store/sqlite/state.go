package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// State is a pure function of the events that are archived, in whatever order they
// come: what a platform answers when it is asked is not written here, since its
// clock and ours are two.

// noted keeps what an event says of who looks after whom.
func (l *Ledger) noted(c *conn, t *talk, n *gateway.StateNote, at time.Time) error {
	changed, err := false, error(nil)
	if n.Word == gateway.NoteMoved {
		changed = true
		_, err = c.exec("UPDATE owner SET gone = 1, at = ? WHERE c = ? AND at <= ? AND gone = 0", at, t.c, at)
	} else if n.Word != "" && n.Member.Value != "" {
		changed, err = owns(c, t.c, n, nanos(at))
	}
	if err != nil {
		return err
	}
	if err := touch(c, t.c, at, changed); err != nil || n.Session == "" {
		return err
	}
	_, err = c.exec("UPDATE state SET session = ?, servicer = ?, session_at = ? WHERE c = ? AND session_at <= ?",
		string(n.Session), []byte(n.Servicer.Spelling()), at, t.c, at)
	if err != nil {
		return err
	}
	return touch(c, t.c, at, true)
}

// owns keeps the newest word about a member; false when something newer is known.
func owns(c *conn, key int64, n *gateway.StateNote, at int64) (bool, error) {
	var since, was int64
	var gone bool
	known, err := c.one("SELECT since, at, gone FROM owner WHERE c = ? AND member = ?",
		func(r row) { since, was, gone = r.int(0), r.int(1), r.int(2) == 1 }, key, []byte(n.Member.Value))
	if err != nil {
		return false, err
	}
	late := known && at < was
	switch n.Word {
	case gateway.NoteGone:
		if late {
			return false, nil
		}
		gone = true
	case gateway.NoteSeen:
		switch {
		case late, gone && at == was:
			return false, nil
		case gone:
			gone, since = false, at
		}
	case gateway.NoteHas:
		switch {
		case late && (gone || at <= since):
			return false, nil
		case late: // it began then, and goes on
			since, at = at, was
		default:
			gone, since = false, at
		}
	case gateway.NoteMoved:
	}
	_, err = c.exec(`INSERT INTO owner (c, member, spelling, since, at, gone) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (c, member) DO UPDATE SET spelling = excluded.spelling, since = excluded.since, at = excluded.at, gone = excluded.gone`,
		key, []byte(n.Member.Value), []byte(n.Member.Spelling()), since, at, gone)
	return err == nil, err
}

// touch says that the state of a conversation or key changed; without changed only
// when nothing was known of it.
func touch(c *conn, key int64, at time.Time, changed bool) error {
	q := "INSERT INTO state (c, rev, at, session, servicer, session_at) SELECT ?, coalesce(max(rev), 0) + 1, ?, '', x'', 0 FROM state WHERE true"
	if changed {
		q += " ON CONFLICT (c) DO UPDATE SET rev = excluded.rev, at = max(at, excluded.at)"
	} else {
		q += " ON CONFLICT (c) DO NOTHING"
	}
	_, err := c.exec(q, key, at)
	return err
}

// moveState gives a conversation's state to the one it became part of, whose state
// both have from now on.
func moveState(c *conn, from, to *talk) error {
	known, err := c.number("SELECT (SELECT count(*) FROM state WHERE c IN (?, ?)) + (SELECT count(*) FROM owner WHERE c = ?)", from.c, to.c, from.c)
	if err != nil || known == 0 {
		return err
	}
	for _, q := range []string{
		"UPDATE OR IGNORE owner SET c = ? WHERE c = ?",
		`UPDATE state SET session = f.session, servicer = f.servicer, session_at = f.session_at
			FROM (SELECT * FROM state) f WHERE state.c = ? AND f.c = ? AND f.session_at > state.session_at`,
	} {
		if err := touch(c, to.c, time.Time{}, false); err != nil {
			return err
		}
		if _, err := c.exec(q, to.c, from.c); err != nil {
			return err
		}
	}
	if _, err := c.exec("DELETE FROM owner WHERE c = ?", from.c); err != nil {
		return err
	}
	if err := touch(c, to.c, time.Time{}, true); err != nil {
		return err
	}
	return touch(c, from.c, time.Time{}, true)
}

// stateColumns of stateRows: a state with the conversation it is published for and
// the one that holds it.
const (
	stateColumns = `v.c, v.conv, v.platform, v.account, v.chat, v.last_human_at, coalesce(s.rev, 0), coalesce(s.at, 0), coalesce(s.session, ''), coalesce(s.servicer, x''),
		v.taken_until, v.taken_since, v.taken_by`
	stateRows = "conversation v LEFT JOIN state s ON s.c = v.c"
)

func scanState(r row) (s gateway.State, key int64) {
	s = gateway.State{Conv: r.str(1), Platform: r.str(2), Account: r.str(3), Chat: gateway.ChatKind(r.str(4)), LastHumanAt: moment(r.time(5)),
		Rev: r.int(6), At: moment(r.time(7)), Session: gateway.SessionState(r.str(8)), Servicer: string(r.blob(9)), Source: gateway.SourceLedger}
	if until := r.time(10); !until.IsZero() {
		s.Takeover = &gateway.Taken{By: string(r.blob(12)), Since: r.time(11), Until: until}
	}
	return s, r.int(0)
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// owners fills in who has the customer or chat: who began last is the owner.
func owners(c *conn, s *gateway.State, key int64) error {
	return c.query("SELECT spelling, since FROM owner WHERE c = ? AND gone = 0 ORDER BY since DESC, at DESC, member", func(r row) error {
		s.Members = append(s.Members, gateway.Member{UserID: string(r.blob(0)), Since: moment(r.time(1))})
		s.Owner = s.Members[0].UserID
		return nil
	}, key)
}

// stateOf is the state of the conversation with a number, under its own id: that of
// the one it became part of.
func stateOf(c *conn, key int64) (s gateway.State, held int64, err error) {
	conv, rev := "", int64(0)
	for held = key; held >= 0; {
		into := int64(-1)
		_, err = c.one("SELECT "+stateColumns+", v.into_c FROM "+stateRows+" WHERE v.c = ?", func(r row) {
			s, _ = scanState(r)
			into = r.int(len(r) - 1)
		}, held)
		if err != nil {
			return s, held, err
		}
		if conv == "" {
			conv, rev = s.Conv, s.Rev
		}
		if into < 0 {
			break
		}
		held = into
	}
	s.Conv, s.Rev = conv, rev
	return s, held, owners(c, &s, held)
}

// Subject is a conversation with its state; see store.CurrentLedger.
func (l *Ledger) Subject(ctx context.Context, conv string) (out gateway.Subject, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		key, found, err := keyOf(c, conv)
		if err == nil && !found {
			err = fmt.Errorf("conversation: %w", gateway.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if out.State, key, err = stateOf(c, key); err != nil {
			return err
		}
		out.Identities, err = identities(c, key)
		return err
	})
	return out, err
}

// UnpublishedStates lists states that changed after the cursor, oldest change first.
func (l *Ledger) UnpublishedStates(ctx context.Context, life time.Time, limit int) (out []gateway.State, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		rev, of, err := place(c, "states")
		if err != nil {
			return err
		}
		if of != nanos(life) {
			rev = 0
		}
		var keys []int64
		err = c.query("SELECT c FROM state WHERE rev > ? ORDER BY rev LIMIT ?", func(r row) error {
			keys = append(keys, r.int(0))
			return nil
		}, rev, limit)
		if err != nil {
			return err
		}
		for _, key := range keys {
			s, _, err := stateOf(c, key)
			if err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// SetStatesPublished moves the cursor, and back for another life. Not durable: what
// is published again says the same or something newer.
func (l *Ledger) SetStatesPublished(ctx context.Context, life time.Time, rev int64) error {
	return l.write(ctx, false, 0, func(c *conn) error { return setPlace(c, "states", rev, nanos(life)) })
}
