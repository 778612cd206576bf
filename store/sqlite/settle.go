package sqlite

import (
	"context"
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
	err := l.write(ctx, true, len(answers), func(c *conn) error {
		out = make([]gateway.Settled, len(answers))
		for i := range answers {
			if err := l.settle(c, &out[i], &answers[i], decide, now); err != nil {
				return err
			}
			if err := withRow(c, out[i].Head); err != nil {
				return err
			}
		}
		return setPlace(c, "taken", nanos(at.Created), int64(at.Seq))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (l *Ledger) settle(c *conn, out *gateway.Settled, s *gateway.Settlement,
	decide func(*gateway.Pending, *gateway.Answer) gateway.Decision, now time.Time,
) error {
	out.App, out.Conv = s.App, s.Conv
	event, run := gateway.SplitDeliveryID(s.Answer.Event)
	heads, err := headsOf(c, s.App, s.Conv)
	if err != nil {
		return err
	}
	var was *gateway.Pending
	for i := range heads {
		if heads[i].Event == event && heads[i].Run == run {
			was = &heads[i]
			break
		}
	}
	if was == nil && len(heads) == 2 { // it may stand further back
		_, err := c.one("SELECT "+pendingColumns+" FROM pending WHERE app = ? AND conv = ? AND event = ? AND run = ?",
			func(r row) { q := scanPending(r); was = &q }, s.App, s.Conv, event, run)
		if err != nil {
			return err
		}
	}
	if was == nil {
		out.Late = true
		if len(heads) > 0 {
			out.Head = &heads[0]
		}
		return l.late(c, s.App, event, run)
	}
	return l.carryOut(c, out, was, heads, decide(was, &s.Answer), now)
}

// late counts an answer that nothing waits for, and an overrun when the event
// had been taken from its handler by the watchdog.
func (l *Ledger) late(c *conn, app, event, run string) error {
	l.book.add(prefixOther+"late", 1)
	var reason string
	_, err := c.one("SELECT s.reason FROM event e JOIN settled s ON s.n = e.n AND s.app = ? WHERE e.id = ? AND e.run = ?",
		func(r row) { reason = r.str(0) }, app, event, run)
	if reason == gateway.ReasonWatchdog {
		l.book.add(prefixOther+"overrun", 1)
	}
	return err
}

// carryOut does what was decided about a pending event and fills out. heads are
// the first rows of its conversation as they were before.
func (l *Ledger) carryOut(c *conn, out *gateway.Settled, was *gateway.Pending, heads []gateway.Pending, d gateway.Decision, now time.Time) (err error) {
	out.Was, out.Decision = *was, d
	isHead := len(heads) > 0 && samePlace(&heads[0], was)
	if !isHead && len(heads) > 0 {
		out.Head = &heads[0]
	}
	switch d.State {
	case gateway.EventPending:
		p := *was
		p.Tries, p.NextAt, p.Round = d.Tries, d.NextAt, was.Round+1
		if isHead {
			out.Head = &p
		}
		_, err = c.exec("UPDATE pending SET tries = ?, next_at = ?, round = ? WHERE app = ? AND conv = ? AND lane = ? AND seq = ?",
			p.Tries, p.NextAt, p.Round, p.App, p.Conv, int64(p.Lane), p.Seq)
		return err
	case gateway.EventSettled, gateway.EventDead:
	case gateway.EventDropped:
		return fmt.Errorf("an answer cannot drop an event: %w", gateway.ErrConflict)
	default:
		return fmt.Errorf("a decision without a state: %w", gateway.ErrConflict)
	}
	if isHead && len(heads) > 1 {
		out.Head = &heads[1]
	}
	if _, err := c.exec("DELETE FROM pending WHERE app = ? AND conv = ? AND lane = ? AND seq = ?",
		was.App, was.Conv, int64(was.Lane), was.Seq); err != nil {
		return err
	}
	if _, err := c.exec("INSERT INTO settled (n, app, state, reason, tries, round, requeue, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		was.N, was.App, string(d.State), d.Reason, d.Tries, was.Round, was.Requeue, now); err != nil {
		return err
	}
	l.book.add(appCount(was.App, "pending"), -1)
	l.book.add(appCount(was.App, string(d.State)), 1)
	if d.State == gateway.EventDead {
		out.Dead, err = l.buryEvent(c, was, d, now)
		return err
	}
	if len(d.Replies) > 0 {
		out.Messages = len(d.Replies)
		return l.reply(c, was, d.Replies, now)
	}
	return nil
}

// reply puts the replies of one answer into the outbox as one task.
func (l *Ledger) reply(c *conn, was *gateway.Pending, replies []gateway.Reply, now time.Time) error {
	t, err := l.talk(c, was.Conv)
	if err != nil {
		return err
	}
	hold, err := held(c, was.Run)
	if err != nil {
		return err
	}
	state := gateway.MessageWaiting
	if hold {
		state = gateway.MessageHeld
	}
	task, due := "", l.book.due(now)
	for i, r := range replies {
		id, err := l.book.newID("ms_", now)
		if err != nil {
			return err
		}
		if i == 0 {
			task = id
		}
		_, err = c.exec(`INSERT INTO message (id, task, part, parts, app, event, run, platform, account, conv, due_at, state, open,
			reason, attempts, next_at, external_id, delivery, failed, unknown_until, type, text)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, 0, '', '', x'', 0, ?, ?)`,
			id, task, i, len(replies), was.App, was.Delivery(), was.Run, t.platform, t.account, t.conv, due, string(state), !hold,
			r.Type, []byte(r.Text))
		if err != nil {
			return err
		}
	}
	l.book.add(countTaken, int64(len(replies)))
	l.book.add(prefixMessage+string(state), int64(len(replies)))
	return nil
}

// CountBadAnswers counts answers that could not be read.
func (l *Ledger) CountBadAnswers(ctx context.Context, n int) error {
	return l.write(ctx, false, 0, func(*conn) error {
		l.book.add(prefixOther+"bad_answer", int64(n))
		return nil
	})
}
