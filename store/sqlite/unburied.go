package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// A dead letter of an item or a payload that the table of dead letters refuses is
// kept as a row of unburied: the item or payload is dead and counted so, its letter
// is owed. What the item stands in waits for the letter: its conversation is stopped
// (BrakeConversation, reason "not_buried") in the same transaction. An item that
// names no conversation, and a payload, hold nobody. A conversation that becomes part
// of another one meanwhile does not stop that one.

// unburiedMost is the longest wait between two tries; the first is unburied, and each
// is twice the one before.
const unburiedMost = 5 * time.Minute

// unburiedSlice is how many letters one transaction tries.
const unburiedSlice = 100

func unburiedWait(tries int) time.Duration {
	wait := unburied
	for range tries - 1 {
		if wait *= 2; wait >= unburiedMost {
			return unburiedMost
		}
	}
	return wait
}

// owe keeps a letter that was refused.
func (w *relayWrite) owe(d *gateway.DeadLetter, conv string) error {
	letter, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = w.c.exec(`INSERT INTO unburied (pos, item, conv, letter, since, tries, next_at) VALUES (?, ?, ?, ?, ?, 1, ?)`,
		d.Pos, d.Item, conv, letter, w.now, w.now.Add(unburiedWait(1)))
	if err != nil {
		return err
	}
	w.l.book.add(prefixOther+countUnburied, 1)
	w.res.Unburied = append(w.res.Unburied, *d)
	if conv == "" {
		return nil
	}
	_, err = w.brake(conv, gateway.ReasonNotBuried)
	return err
}

// countUnburied is how many letters are owed.
const countUnburied = "unburied"

// standsIn is the conversation of an item that cannot be an event, made when there is
// none yet, so that what follows waits; "" for one that names none.
func (w *relayWrite) standsIn(p *gateway.RelayedPayload, it *gateway.ItemRow) (string, error) {
	if it.Event.Account == "" || unfit(it) != "" {
		return "", nil
	}
	t, _, err := w.find(p, it)
	if err != nil {
		return "", err
	}
	if t == nil {
		if t, err = w.l.resolve(w.c, chatOf{it.Event.Platform, it.Event.Account, happened(p, it), &it.Chat}); err != nil {
			return "", err
		}
		if err := w.l.learn(w.c, t, it.Chat.Identities, happened(p, it), true); err != nil {
			return "", err
		}
	}
	return t.conv, nil
}

// forgive forgets the letters owed for an item, or with a negative idx for a payload
// and its items: it is being read again.
func (w *relayWrite) forgive(pos int64, idx int) error {
	var convs []string
	n, err := w.c.number("SELECT count(*) FROM unburied WHERE pos = ?", pos)
	if err != nil || n == 0 {
		return err
	}
	err = w.c.query("DELETE FROM unburied WHERE pos = ? AND (? < 0 OR item = ?) RETURNING conv", func(r row) error {
		convs = append(convs, r.str(0))
		return nil
	}, pos, idx, idx)
	if err != nil {
		return err
	}
	w.l.book.add(prefixOther+countUnburied, -int64(len(convs)))
	for _, conv := range convs {
		on, err := freed(w.c, conv, w.now)
		if err != nil {
			return err
		}
		w.res.Released = append(w.res.Released, on...)
	}
	return nil
}

// freed lets a conversation go that waited for letters, when none is owed any more.
// What a person stopped stays stopped.
func freed(c *conn, conv string, now time.Time) ([]gateway.Brake, error) {
	if conv == "" {
		return nil, nil
	}
	n, err := c.exec(`DELETE FROM brake WHERE scope = ? AND name = ? AND reason = ?
		AND NOT EXISTS (SELECT 1 FROM unburied WHERE conv = ?)`, string(gateway.BrakeConversation), conv, gateway.ReasonNotBuried, conv)
	if err != nil || n == 0 {
		return nil, err
	}
	b := gateway.Brake{Scope: gateway.BrakeConversation, Name: conv, At: now, By: gateway.BrakeByGateway, Reason: gateway.ReasonNotBuried}
	return []gateway.Brake{b}, audit(c, now, b.By, "resume", string(b.Scope)+" "+conv)
}

// BuryAgain tries letters that were refused, those due until then; see
// store.RelayLedger. Idempotency: a letter that is written has no row any more.
func (l *Ledger) BuryAgain(ctx context.Context, due, now time.Time) (out gateway.Reburied, err error) {
	owed := func(c *conn) (n int64, err error) {
		out.Next = time.Time{}
		_, err = c.one("SELECT next_at FROM unburied ORDER BY next_at LIMIT 1", func(r row) { out.Next = r.time(0); n = 1 })
		return n, err
	}
	var n int64
	err = l.r.read(ctx, func(c *conn) (err error) {
		n, err = owed(c)
		return err
	})
	if err != nil || n == 0 || out.Next.After(due) {
		return out, err
	}
	err = l.write(ctx, true, 1, func(c *conn) error {
		out = gateway.Reburied{}
		if err := l.buryAgain(c, due, now, &out); err != nil {
			return err
		}
		_, err := owed(c)
		return err
	})
	if err != nil {
		return gateway.Reburied{}, err
	}
	return out, nil
}

func (l *Ledger) buryAgain(c *conn, due, now time.Time, out *gateway.Reburied) error {
	type debt struct {
		pos, item int64
		conv      string
		tries     int
		letter    gateway.DeadLetter
	}
	var debts []debt
	err := c.query("SELECT pos, item, conv, tries, letter FROM unburied WHERE next_at <= ? ORDER BY next_at LIMIT ?", func(r row) error {
		d := debt{pos: r.int(0), item: r.int(1), conv: r.str(2), tries: int(r.int(3))}
		if err := json.Unmarshal(r.blob(4), &d.letter); err != nil {
			return err
		}
		d.letter.Pos, d.letter.Item, d.letter.At = d.pos, int(d.item), now
		debts = append(debts, d)
		return nil
	}, due, unburiedSlice)
	if err != nil {
		return err
	}
	for i := range debts {
		d := &debts[i]
		if d.letter.ID, err = l.bury(c, now, &d.letter); l.notBuried(err) {
			out.Refused++
			_, err = c.exec("UPDATE unburied SET tries = tries + 1, next_at = ? WHERE pos = ? AND item = ?", now.Add(unburiedWait(d.tries+1)), d.pos, d.item)
		}
		if err != nil {
			return err
		}
		if d.letter.ID == "" {
			continue
		}
		if _, err := c.exec("DELETE FROM unburied WHERE pos = ? AND item = ?", d.pos, d.item); err != nil {
			return err
		}
		l.book.add(prefixOther+countUnburied, -1)
		out.Buried = append(out.Buried, d.letter)
		on, err := freed(c, d.conv, now)
		if err != nil {
			return err
		}
		out.Released = append(out.Released, on...)
	}
	return nil
}
