package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Taken is how far the intake is in the stream of answers.
func (l *Ledger) Taken(ctx context.Context) (p gateway.ReplyPosition, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		created, seq, err := place(c, "taken")
		p = gateway.ReplyPosition{Created: fromNanos(created), Seq: uint64(seq)}
		return err
	})
	return p, err
}

// Settle takes answers in order; see store.IntakeLedger. Idempotency: an answer
// taken before finds nothing pending.
func (l *Ledger) Settle(ctx context.Context, at gateway.ReplyPosition, answers []gateway.Settlement,
	decide func(*gateway.Pending, *gateway.Answer) gateway.Decision, now time.Time,
) ([]gateway.Settled, error) {
	var out []gateway.Settled
	err := l.writeSoon(ctx, len(answers), func(c *conn) error {
		out = make([]gateway.Settled, len(answers))
		w := settleWrite{l: l, c: c, now: now, rows: bulk{text: l.texts.settled}}
		for i := range answers {
			if err := w.settle(&out[i], &answers[i], decide); err != nil {
				return err
			}
		}
		if err := w.rows.flush(c); err != nil {
			return err
		}
		if err := w.emptied(); err != nil {
			return err
		}
		return setPlace(c, "taken", nanos(at.Created), int64(at.Seq))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// settleWrite is one call of Settle or Resolve on the writer's goroutine.
type settleWrite struct {
	l    *Ledger
	c    *conn
	now  time.Time
	rows bulk    // of settled
	left []int64 // conversations in which a row ceased to wait, while some are draining
}

func (w *settleWrite) settle(out *gateway.Settled, s *gateway.Settlement, decide func(*gateway.Pending, *gateway.Answer) gateway.Decision) error {
	out.App, out.Conv = s.App, s.Conv
	event, run := gateway.SplitDeliveryID(s.Answer.Event)
	key, q, err := w.waiting(s.App, s.Conv)
	if err != nil {
		return err
	}
	var was *gateway.Pending
	if i := q.event(event, run); i >= 0 {
		was = &q.rows[i]
	} else if !q.whole { // it may stand further back
		_, err := w.c.one("SELECT "+pendingColumns+` FROM event e CROSS JOIN conversation v ON v.c = e.c CROSS JOIN pending p
			ON p.app = ? AND p.c = e.c AND p.lane = (e.run <> '') AND p.seq = iif(e.run = '', e.ord, e.n) WHERE e.id = ? AND e.run = ? AND e.c = ?`,
			func(r row) { p := scanPending(r); was = &p }, s.App, eventKey(event), run, key)
		if err != nil {
			return err
		}
	}
	var rows []gateway.Pending
	if was != nil {
		if rows, err = w.answered(key, q, was, &s.Answer); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		out.Late, out.Head = true, q.head()
		return w.late(s.App, event, run)
	}
	return w.carryOut(out, key, rows, decide(&rows[0], &s.Answer))
}

// waiting is what waits in a conversation by its id; nothing for one that is not
// known.
func (w *settleWrite) waiting(app, conv string) (int64, *waiting, error) {
	key, found, err := w.l.key(w.c, conv)
	if err != nil || !found {
		return -1, &waiting{whole: true}, err
	}
	q, err := w.l.waiting(w.c, app, key)
	return key, q, err
}

// late counts an answer that nothing waits for, and an overrun when the event
// had been taken from its handler by the watchdog.
func (w *settleWrite) late(app, event, run string) error {
	if err := w.rows.flush(w.c); err != nil {
		return err
	}
	w.l.book.add(prefixOther+"late", 1)
	var reason string
	found, err := w.c.one("SELECT s.reason FROM event e JOIN settled s ON s.n = e.n AND s.app = ? WHERE e.id = ? AND e.run = ?",
		func(r row) { reason = r.str(0) }, app, eventKey(event), run)
	if found { // else it never wanted the event, and any name may be in a subject
		w.l.book.add(seenCount(app, "late"), 1)
	}
	if reason == gateway.ReasonWatchdog {
		w.l.book.add(prefixOther+"overrun", 1)
		w.l.book.add(seenCount(app, "overrun"), 1)
	}
	return err
}

// carryOut does what was decided about what was offered, one event or a bundle in
// order, and fills out.
func (w *settleWrite) carryOut(out *gateway.Settled, key int64, rows []gateway.Pending, d gateway.Decision) (err error) {
	was := rows[0]
	for i := range rows[1:] {
		out.Also = append(out.Also, gateway.SettledAlso{Was: rows[1+i]})
	}
	if d.State == gateway.EventDead {
		if err = w.bury(out, rows, d); w.l.notBuried(err) {
			d = gateway.Decision{State: gateway.EventPending, Reason: gateway.ReasonNotBuried, Tries: was.Tries, NextAt: w.now.Add(unburied), Blocked: was.Blocked, Detail: d.Detail}
		} else if err != nil {
			return err
		}
	}
	out.Was, out.Decision = was, d
	if spent := d.Tries - was.Tries; spent > 0 {
		w.l.book.add(seenCount(was.App, "tries"), int64(spent))
		if d.State != gateway.EventSettled {
			for i := range rows {
				if err := w.tried(&rows[i], &d); err != nil {
					return err
				}
			}
		}
	}
	switch d.State {
	case gateway.EventPending:
		for i := range rows {
			if err := w.again(key, rows[i], d); err != nil {
				return err
			}
		}
	case gateway.EventSettled, gateway.EventDead:
		for i := range rows {
			e := d
			if d.State == gateway.EventSettled && i < len(rows)-1 {
				e.Reason = gateway.ReasonCollected
			}
			if err := w.gone(key, &rows[i], e); err != nil {
				return err
			}
		}
		if w.l.book.drains.Load() > 0 {
			w.left = append(w.left, key)
		}
	case gateway.EventDropped:
		return fmt.Errorf("an answer cannot drop an event: %w", gateway.ErrConflict)
	default:
		return fmt.Errorf("a decision without a state: %w", gateway.ErrConflict)
	}
	q, err := w.l.waiting(w.c, was.App, key) // a bundle may have been all that was remembered
	if err != nil {
		return err
	}
	out.Head = q.head()
	if d.State == gateway.EventSettled && len(d.Replies) > 0 {
		out.Messages = len(d.Replies)
		return w.l.reply(w.c, &was, d.Replies, w.now)
	}
	return nil
}

// again lets a row wait for its next round.
func (w *settleWrite) again(key int64, p gateway.Pending, d gateway.Decision) error {
	p.Tries, p.NextAt, p.Round, p.Blocked = d.Tries, fromNanos(nanos(d.NextAt)), p.Round+1, fromNanos(nanos(d.Blocked))
	_, err := w.c.exec("UPDATE pending SET tries = ?, next_at = ?, round = ?, blocked_at = ? WHERE app = ? AND c = ? AND lane = ? AND seq = ?",
		p.Tries, p.NextAt, p.Round, p.Blocked, p.App, key, int64(p.Lane), p.Seq)
	w.l.book.retried(key, &p)
	return err
}

// gone ends the waiting of a row.
func (w *settleWrite) gone(key int64, p *gateway.Pending, d gateway.Decision) error {
	if _, err := w.c.exec("DELETE FROM pending WHERE app = ? AND c = ? AND lane = ? AND seq = ?",
		p.App, key, int64(p.Lane), p.Seq); err != nil {
		return err
	}
	w.l.book.leaves(key, p)
	w.l.book.add(appCount(p.App, "pending"), -1)
	w.l.book.add(appCount(p.App, string(d.State)), 1)
	return w.rows.add(w.c, p.N, p.App, string(d.State), d.Reason, d.Tries, p.Round, p.Requeue, w.now)
}

// bury writes a dead letter for each of the rows, or for none.
func (w *settleWrite) bury(out *gateway.Settled, rows []gateway.Pending, d gateway.Decision) (err error) {
	if len(rows) == 1 {
		out.Dead, err = w.l.buryEvent(w.c, &rows[0], d, w.now)
		return err
	}
	counted := len(w.l.book.deltas)
	if _, err := w.c.exec("SAVEPOINT bundle"); err != nil {
		return err
	}
	for i := range rows {
		id, err := w.l.buryEvent(w.c, &rows[i], d, w.now)
		if err != nil {
			out.Dead, w.l.book.deltas = "", w.l.book.deltas[:counted]
			for j := range out.Also {
				out.Also[j].Dead = ""
			}
			if _, undo := w.c.exec("ROLLBACK TO bundle"); undo != nil {
				return undo
			}
			if _, undo := w.c.exec("RELEASE bundle"); undo != nil {
				return undo
			}
			return err
		}
		if i == 0 {
			out.Dead = id
		} else {
			out.Also[i-1].Dead = id
		}
	}
	_, err = w.c.exec("RELEASE bundle")
	return err
}

// triedDetail is how much is kept of an error, in bytes.
const triedDetail = 1024

// tried keeps a failed try, for those who look at the conversation.
func (w *settleWrite) tried(was *gateway.Pending, d *gateway.Decision) error {
	_, err := w.c.exec("INSERT OR REPLACE INTO try (n, app, requeue, try, at, reason, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
		was.N, was.App, was.Requeue, d.Tries, w.now, d.Reason, []byte(d.Detail[:min(len(d.Detail), triedDetail)]))
	return err
}

// emptied lets those go on that waited for a conversation to have nothing left.
func (w *settleWrite) emptied() error {
	for _, key := range w.left {
		if err := w.l.drained(w.c, key); err != nil {
			return err
		}
	}
	return nil
}

// reply puts the replies of one answer into the outbox as one task.
func (l *Ledger) reply(c *conn, was *gateway.Pending, replies []gateway.Reply, now time.Time) error {
	t, err := l.talkOf(c, was.Conv)
	if err != nil {
		return err
	}
	hold, err := held(c, was.Run)
	if err != nil {
		return err
	}
	due, err := l.dueIn(c, t.conv, now)
	if err != nil {
		return err
	}
	_, err = l.enqueue(c, t, &task{app: was.App, event: was.Delivery(), run: was.Run, due: due, hold: hold}, replies, now)
	return err
}

// task is what the messages of one task have in common.
type task struct {
	app, event, run string
	due, expires    time.Time
	hold            bool
	asked           *gateway.Submission // nil: replies to an event
}

// terms are priority, human, even_in_takeover and terms of a task's messages.
func (k *task) terms() (args []any, err error) {
	s := k.asked
	if s == nil {
		return []any{0, false, false, []byte{}}, nil
	}
	terms := []byte{}
	if t := (gateway.Terms{Window: s.Window, OnFailure: s.OnFailure, Callback: s.Callback, EndMoves: s.EndMoves}); t != (gateway.Terms{}) {
		terms, err = json.Marshal(t)
	}
	return []any{s.Priority, s.Human, s.EvenInTakeover, terms}, err
}

// enqueue writes the messages of a task and returns their ids. The first is the
// task's. While a colleague has the conversation they are held.
func (l *Ledger) enqueue(c *conn, t *talk, k *task, replies []gateway.Reply, now time.Time) ([]string, error) {
	state, reason := gateway.MessageWaiting, ""
	taken, err := l.taken(c, t)
	switch {
	case err != nil:
		return nil, err
	case k.hold:
		state = gateway.MessageHeld
	case taken && (k.asked == nil || !k.asked.Human && !k.asked.EvenInTakeover):
		state, reason = gateway.MessageHeld, gateway.ReasonTakeover
	}
	held, heldAt := state == gateway.MessageHeld, time.Time{}
	if held {
		heldAt = now
	}
	terms, err := k.terms()
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(replies))
	for i := range replies {
		r := &replies[i]
		rest, err := restOf(r)
		if err != nil {
			return nil, err
		}
		if ids[i], err = l.book.newID("ms_", now); err != nil {
			return nil, err
		}
		_, err = c.exec(`INSERT INTO message (id, task, part, parts, app, event, run, platform, account, conv, due_at, expires_at, state, open,
			reason, attempts, next_at, external_id, delivery, failed, unknown_until, held_at, type, text, reply, priority, human, even_in_takeover, terms)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '', '', x'', 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append([]any{ids[i], ids[0], i, len(replies), k.app, k.event, k.run, t.platform, t.account, t.conv, k.due, k.expires, string(state), !held,
				reason, heldAt, string(r.Type), []byte(r.Text), rest}, terms...)...)
		if err != nil {
			return nil, err
		}
	}
	l.book.add(countTaken, int64(len(replies)))
	l.book.add(prefixMessage+string(state), int64(len(replies)))
	return ids, nil
}

// CountBadAnswers counts answers that could not be read.
func (l *Ledger) CountBadAnswers(ctx context.Context, n int) error {
	return l.write(ctx, false, 0, func(*conn) error {
		l.book.add(prefixOther+"bad_answer", int64(n))
		return nil
	})
}
