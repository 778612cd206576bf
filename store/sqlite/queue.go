package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// Ranks says where conversations stand; see store.QueueLedger.
func (l *Ledger) Ranks(ctx context.Context, convs []string, now time.Time) (map[string]gateway.Rank, error) {
	out := make(map[string]gateway.Rank, len(convs))
	err := l.r.read(ctx, func(c *conn) error {
		for _, conv := range convs {
			_, err := c.one("SELECT account, priority FROM message WHERE conv = ? AND open = 1 AND due_at <= ? ORDER BY priority LIMIT 1",
				func(r row) { out[conv] = gateway.Rank{Account: r.str(0), Priority: int(r.int(1))} }, conv, now)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Postpone moves a message that did not leave in its window, with the parts behind it.
func (l *Ledger) Postpone(ctx context.Context, id string, due time.Time) error {
	return l.write(ctx, false, 1, func(c *conn) error {
		m, err := messageByID(c, id)
		if err != nil {
			return err
		}
		if m.State != gateway.MessageWaiting {
			return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
		}
		rest, err := partsAfter(c, m)
		if err != nil {
			return err
		}
		_, err = l.retime(c, append([]message{*m}, rest...), due)
		return err
	})
}

// Resend lets an unknown message be sent once more; see store.QueueLedger. It keeps its
// place, so nothing overtakes it, and the parts behind it wait still.
func (l *Ledger) Resend(ctx context.Context, id string, now time.Time) error {
	return l.write(ctx, false, 1, func(c *conn) error {
		m, err := messageByID(c, id)
		if err != nil {
			return err
		}
		if m.State != gateway.MessageUnknown || !m.open {
			return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
		}
		n, err := c.number("SELECT count(*) FROM attempt WHERE message = ? AND outcome = 'unknown'", m.ID)
		if err != nil {
			return err
		}
		if n > 1 {
			return fmt.Errorf("the message was sent again before: %w", gateway.ErrConflict)
		}
		m.State, m.Reason, m.NextAt, m.UnknownUntil, m.Spared = gateway.MessageWaiting, "", time.Time{}, time.Time{}, m.Attempts
		if err := l.storeMessage(c, m, gateway.MessageUnknown); err != nil {
			return err
		}
		return l.tell(c, m, "policy", "", now)
	})
}

// Unproven says whether a message may have arrived; see store.QueueLedger.
func (l *Ledger) Unproven(ctx context.Context, id string) (unproven bool, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		n, err := c.number(`SELECT count(*) FROM message m JOIN attempt a ON a.message = m.id
			WHERE m.id = ? AND m.external_id = '' AND m.delivery = '' AND a.outcome = 'unknown'`, id)
		unproven = n > 0
		return err
	})
	return unproven, err
}

// taskOf are all parts of m's task, in order, m included.
func taskOf(c *conn, m *message) (parts []message, err error) {
	if m.Parts == 1 {
		return []message{*m}, nil
	}
	err = c.query("SELECT "+messageColumns+" FROM message WHERE id >= ? AND task = ? ORDER BY id LIMIT ?", func(r row) error {
		parts = append(parts, scanMessage(r))
		return nil
	}, m.Task, m.Task, m.Parts)
	return parts, err
}

// changeTime is how long one change of more than sliceFew works: usually it takes a
// third of it.
const changeTime = 20 * time.Millisecond

// ChangeMessages does one thing to some messages; see store.QueueLedger. A message that
// the sender begins at the same moment is either sending, and skipped, or changed, and
// its attempt is refused: both are written by one writer.
func (l *Ledger) ChangeMessages(ctx context.Context, ch store.MessageChange, by string, now time.Time) (store.MessagesChanged, error) {
	var out store.MessagesChanged
	if n := len(ch.Messages); n > store.MaxChange || ch.Do == store.DeedReschedule && len(ch.At) != n && ch.By == 0 {
		return out, fmt.Errorf("a change of too many messages, or without their times: %w", gateway.ErrConflict)
	}
	err := l.act(ctx, len(ch.Messages), func(c *conn) error {
		d := newDeed(l, c, &ch, now)
		taken, begun := 0, time.Now() // the machine's own work
		for i, id := range ch.Messages {
			if len(d.done) >= store.MaxChange || i >= sliceFew && !d.done[id] && time.Since(begun) > changeTime {
				break
			}
			taken++
			if len(ch.At) > 0 {
				d.at = ch.At[i]
			}
			if err := d.one(id); err != nil {
				return err
			}
		}
		out = store.MessagesChanged{Changed: len(d.done), Skipped: d.skipped, Taken: taken}
		for conv := range d.convs {
			out.Convs = append(out.Convs, conv)
		}
		slices.Sort(out.Convs)
		if len(d.done) == 0 {
			return nil
		}
		target := ch.Messages[0]
		if n := len(d.done); n > 1 {
			target = fmt.Sprintf("%d messages, %s to %s", n, target, ch.Messages[taken-1])
		}
		return audit(c, now, by, string(ch.Do), target)
	})
	if err != nil {
		return store.MessagesChanged{}, err
	}
	return out, nil
}

// deed is a change at work.
type deed struct {
	l        *Ledger
	c        *conn
	do       store.MessageDeed
	at       time.Time
	by       time.Duration
	move     int64
	priority int
	now      time.Time

	convs   map[string]bool
	done    map[string]bool // messages
	skipped int
}

func newDeed(l *Ledger, c *conn, ch *store.MessageChange, now time.Time) *deed {
	return &deed{l: l, c: c, do: ch.Do, by: ch.By, move: ch.Move, priority: ch.Priority, now: now, convs: map[string]bool{}, done: map[string]bool{}}
}

func (d *deed) one(id string) error {
	if d.done[id] {
		return nil // went along with another part
	}
	m, err := messageByID(d.c, id)
	if err != nil {
		if isNotFound(err) {
			d.skipped++
			return nil
		}
		return err
	}
	parts, err := taskOf(d.c, m)
	if err != nil {
		return err
	}
	before := len(d.done)
	switch d.do {
	case store.DeedCancel:
		err = d.each(parts[m.Part:], m, d.cancel, gateway.MessageWaiting, gateway.MessageHeld)
	case store.DeedHold:
		err = d.each(parts[m.Part:], m, d.hold, gateway.MessageWaiting)
	case store.DeedRelease:
		err = d.release(parts, m)
	case store.DeedPriority:
		err = d.each([]message{*m}, m, d.rank, gateway.MessageWaiting, gateway.MessageHeld)
	case store.DeedReschedule:
		var done bool
		if done, err = d.reschedule(parts, m); done {
			return err
		}
	default:
		err = fmt.Errorf("a deed of no known kind: %w", gateway.ErrConflict)
	}
	if len(d.done) == before {
		d.skipped++
	} else {
		d.convs[m.Conv] = true
	}
	return err
}

// each does something to the parts that are in one of the states, if m is.
func (d *deed) each(parts []message, m *message, do func(p *message) error, in ...gateway.MessageState) error {
	if !slices.Contains(in, m.State) {
		return nil
	}
	for i := range parts {
		p := &parts[i]
		if !slices.Contains(in, p.State) {
			continue
		}
		was := p.State
		if err := do(p); err != nil {
			return err
		}
		if err := d.l.storeMessage(d.c, p, was); err != nil {
			return err
		}
		d.done[p.ID] = true
		if p.State == was {
			continue
		}
		if err := d.l.tell(d.c, p, "operator", "", d.now); err != nil {
			return err
		}
	}
	return nil
}

func (d *deed) cancel(p *message) (err error) {
	p.Reason = reasonOperator
	p.State, err = stopped(d.c, p)
	return err
}

func (d *deed) hold(p *message) error {
	p.State, p.Reason = gateway.MessageHeld, reasonOperator
	return nil
}

func (d *deed) rank(p *message) error {
	delete(d.l.book.flying, p.ID)
	_, err := d.c.exec("UPDATE message SET priority = ? WHERE id = ?", d.priority, p.ID)
	return err
}

// release lets a task's held parts wait again. What a replay holds has no reason and is
// released with its run.
func (d *deed) release(parts []message, m *message) error {
	if m.State != gateway.MessageHeld || m.Reason == "" {
		return nil
	}
	if _, err := d.l.stirs(d.c, m.Conv); err != nil {
		return err
	}
	// Each change is due a little after those before it, so that what is released together
	// leaves in the order in which it is named. A part is never due before one in front of
	// it that waits for later.
	due := m.Window.Due(d.now).Add(time.Duration(len(d.done)))
	for i := range parts {
		if p := &parts[i]; p.State == gateway.MessageWaiting {
			due = later(due, p.DueAt)
		} else if p.State == gateway.MessageHeld {
			p.DueAt = later(due, p.DueAt)
			due = p.DueAt
		}
	}
	return d.each(parts, m, func(p *message) error {
		p.State, p.Reason = gateway.MessageWaiting, ""
		return nil
	}, gateway.MessageHeld)
}

// reasonUnknown is why the parts behind an unknown one are cancelled.
const reasonUnknown = "after unknown"

// ResolveMessage settles an unknown message by a person's word; see store.QueueLedger.
// What is sent again is due now, since it may long have been too old, and its parts
// with it.
func (l *Ledger) ResolveMessage(ctx context.Context, r store.Resolve, by string, now time.Time) (conv string, err error) {
	err = l.act(ctx, 1, func(c *conn) error {
		m, err := messageByID(c, r.Message)
		if err != nil {
			return err
		}
		if m.State != gateway.MessageUnknown {
			return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
		}
		conv = m.Conv
		parts, err := taskOf(c, m)
		if err != nil {
			return err
		}
		if _, err := l.stirs(c, m.Conv); err != nil {
			return err
		}
		what := "resolve as sent"
		m.State, m.Reason, m.UnknownUntil = gateway.MessageAccepted, reasonOperator, time.Time{}
		if r.Again {
			what = "resolve by sending again"
			m.State, m.Reason, m.NextAt, m.Spared, m.DueAt = gateway.MessageWaiting, "", time.Time{}, m.Attempts, m.Window.Due(now)
		}
		if err := l.storeMessage(c, m, gateway.MessageUnknown); err != nil {
			return err
		}
		if err := l.tell(c, m, "operator", "", now); err != nil {
			return err
		}
		if err := l.revive(c, m, parts[m.Part+1:], r.Rest, now); err != nil {
			return err
		}
		return audit(c, now, by, what, m.ID)
	})
	if err != nil {
		return "", err
	}
	return conv, nil
}

// revive lets the parts behind a resolved message wait: those that still do are due with
// it, and with rest also those that were cancelled for its sake.
func (l *Ledger) revive(c *conn, m *message, parts []message, rest bool, now time.Time) error {
	for i := range parts {
		p := &parts[i]
		was := p.State
		back := rest && was == gateway.MessageCancelled && p.Reason == reasonUnknown
		if was != gateway.MessageWaiting && !back {
			continue
		}
		if due := m.Window.Due(now); back || m.State == gateway.MessageWaiting {
			p.DueAt = due
		}
		p.State, p.Reason = gateway.MessageWaiting, ""
		if err := l.storeMessage(c, p, was); err != nil {
			return err
		}
		if !back {
			continue
		}
		if err := l.tell(c, p, "operator", "", now); err != nil {
			return err
		}
	}
	return nil
}
