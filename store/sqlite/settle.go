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
	if was == nil || s.Answer.Outdated(was) {
		out.Late, out.Head = true, q.head()
		return w.late(s.App, event, run)
	}
	return w.carryOut(out, key, *was, q, decide(was, &s.Answer))
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

// carryOut does what was decided about a pending event and fills out. q is what
// waits in its conversation.
func (w *settleWrite) carryOut(out *gateway.Settled, key int64, was gateway.Pending, q *waiting, d gateway.Decision) (err error) {
	if d.State == gateway.EventDead {
		if out.Dead, err = w.l.buryEvent(w.c, &was, d, w.now); w.l.notBuried(err) {
			d = gateway.Decision{State: gateway.EventPending, Reason: gateway.ReasonNotBuried, Tries: was.Tries, NextAt: w.now.Add(unburied), Blocked: was.Blocked, Detail: d.Detail}
		} else if err != nil {
			return err
		}
	}
	out.Was, out.Decision = was, d
	if spent := d.Tries - was.Tries; spent > 0 {
		w.l.book.add(seenCount(was.App, "tries"), int64(spent))
	}
	switch d.State {
	case gateway.EventPending:
		p := was
		p.Tries, p.NextAt, p.Round, p.Blocked = d.Tries, fromNanos(nanos(d.NextAt)), was.Round+1, fromNanos(nanos(d.Blocked))
		_, err = w.c.exec("UPDATE pending SET tries = ?, next_at = ?, round = ?, blocked_at = ? WHERE app = ? AND c = ? AND lane = ? AND seq = ?",
			p.Tries, p.NextAt, p.Round, p.Blocked, p.App, key, int64(p.Lane), p.Seq)
		w.l.book.retried(key, &p)
		out.Head = q.head()
		return err
	case gateway.EventSettled, gateway.EventDead:
	case gateway.EventDropped:
		return fmt.Errorf("an answer cannot drop an event: %w", gateway.ErrConflict)
	default:
		return fmt.Errorf("a decision without a state: %w", gateway.ErrConflict)
	}
	if _, err := w.c.exec("DELETE FROM pending WHERE app = ? AND c = ? AND lane = ? AND seq = ?",
		was.App, key, int64(was.Lane), was.Seq); err != nil {
		return err
	}
	w.l.book.leaves(key, &was)
	out.Head = q.head()
	if w.l.book.drains.Load() > 0 {
		w.left = append(w.left, key)
	}
	if err := w.rows.add(w.c, was.N, was.App, string(d.State), d.Reason, d.Tries, was.Round, was.Requeue, w.now); err != nil {
		return err
	}
	w.l.book.add(appCount(was.App, "pending"), -1)
	w.l.book.add(appCount(was.App, string(d.State)), 1)
	if d.State == gateway.EventSettled && len(d.Replies) > 0 {
		out.Messages = len(d.Replies)
		return w.l.reply(w.c, &was, d.Replies, w.now)
	}
	return nil
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
	if t := (gateway.Terms{Window: s.Window, OnFailure: s.OnFailure, Callback: s.Callback}); t != (gateway.Terms{}) {
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
	held := state == gateway.MessageHeld
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
			reason, attempts, next_at, external_id, delivery, failed, unknown_until, type, text, reply, priority, human, even_in_takeover, terms)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '', '', x'', 0, ?, ?, ?, ?, ?, ?, ?)`,
			append([]any{ids[i], ids[0], i, len(replies), k.app, k.event, k.run, t.platform, t.account, t.conv, k.due, k.expires, string(state), !held,
				reason, string(r.Type), []byte(r.Text), rest}, terms...)...)
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
