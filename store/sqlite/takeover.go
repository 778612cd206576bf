package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// A takeover is a row of its conversation, made and ended in the transaction that
// holds or lets go of its messages, by the one writer: what NextMessage gave out
// before is refused by BeginAttempt, since it is not waiting any more. It is in force
// as long as taken_until stands there, also past that time, until Judge has moved all
// that was held; so nothing overtakes it. taken_since is since when, and after a
// release, when that was: what a colleague wrote before it takes nothing.

// taken says whether a colleague has the conversation that t is part of.
func (l *Ledger) taken(c *conn, t *talk) (bool, error) {
	t, err := l.root(c, t)
	return err == nil && t.takenUntil > 0, err
}

// take gives a conversation to a colleague who wrote at at, and holds what waits.
// What is being sent stays.
func (l *Ledger) take(c *conn, t *talk, by string, at time.Time, rule gateway.Takeover, now time.Time) error {
	if at.After(now) { // the platform's clock is ahead
		at = now
	}
	until := at.Add(rule.For)
	if rule.For <= 0 || !until.After(now) {
		return nil
	}
	t, err := l.root(c, t)
	if err != nil || nanos(at) <= t.takenSince && t.takenUntil <= nanos(now) {
		return err
	}
	if t.takenUntil == 0 {
		t.takenSince, t.takenBy = nanos(at), ""
		l.book.add(prefixOther+"taken", 1)
		l.book.add(prefixOther+"takeovers", 1)
	}
	if by != "" {
		t.takenBy = by
	}
	t.takenUntil, t.takenThen = max(t.takenUntil, nanos(until)), rule.Then
	l.change(t)
	if err := storeTalk(c, t); err != nil {
		return err
	}
	if err := touch(c, t.c, at, true); err != nil {
		return err
	}
	return l.holdWaiting(c, t, now)
}

// takenBy takes a conversation over for an echo that a colleague wrote.
func (l *Ledger) takenBy(c *conn, e *gateway.Evidence, rule gateway.Takeover, now time.Time) error {
	t, err := l.talkOf(c, e.Conv)
	if err != nil {
		return err
	}
	by, err := colleague(c, e.N)
	if err != nil {
		return err
	}
	return l.take(c, t, by, e.At, rule, now)
}

// InTakeover says which conversations a colleague has now; see store.GateLedger.
func (l *Ledger) InTakeover(ctx context.Context, convs []string, now time.Time) (map[string]bool, error) {
	taken := make(map[string]bool)
	err := l.r.snapshot(ctx, func(c *conn) error {
		any, err := c.one("SELECT 1 FROM conversation WHERE taken_until > 0 AND taken_until > ? LIMIT 1", func(row) {}, now)
		if err != nil || !any { // nearly always
			return err
		}
		for _, conv := range convs {
			key, found, err := keyOf(c, conv)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			until, err := c.number(`WITH RECURSIVE part(c) AS (VALUES (?) UNION SELECT v.into_c FROM part JOIN conversation v ON v.c = part.c AND v.into_c >= 0)
				SELECT max(v.taken_until) FROM part JOIN conversation v ON v.c = part.c`, key)
			if err != nil {
				return err
			}
			if until > nanos(now) {
				taken[conv] = true
			}
		}
		return nil
	})
	return taken, err
}

// partText finds a conversation and all that became part of it.
const partText = `WITH RECURSIVE part(c) AS (VALUES (?) UNION SELECT u.c FROM part JOIN conversation u ON u.into_c = part.c AND u.into_c >= 0)
	SELECT v.conv FROM part JOIN conversation v ON v.c = part.c`

func partsOf(c *conn, key int64) (convs []string, err error) {
	err = c.query(partText, func(r row) error {
		convs = append(convs, r.str(0))
		return nil
	}, key)
	return convs, err
}

// holdWaiting holds what waits in a taken conversation and does not pass.
func (l *Ledger) holdWaiting(c *conn, t *talk, now time.Time) error {
	convs, err := partsOf(c, t.c)
	if err != nil {
		return err
	}
	var ms []message
	for _, conv := range convs {
		err := c.query("SELECT "+messageColumns+` FROM message WHERE conv = ? AND open = 1 AND state = 'waiting' AND human = 0
			AND even_in_takeover = 0 ORDER BY due_at, id`, func(r row) error {
			ms = append(ms, scanMessage(r))
			return nil
		}, conv)
		if err != nil {
			return err
		}
	}
	for i := range ms {
		if err := l.movedBy(c, &ms[i], gateway.MessageHeld, gateway.ReasonTakeover, now); err != nil {
			return err
		}
	}
	return nil
}

// mayBeHeld holds a message that is to wait for another try in a conversation which a
// colleague took meanwhile.
func (l *Ledger) mayBeHeld(c *conn, m *message) error {
	if m.State != gateway.MessageWaiting || m.Passes() {
		return nil
	}
	t, err := l.talkOf(c, m.Conv)
	if err != nil {
		return err
	}
	taken, err := l.taken(c, t)
	if taken {
		m.State, m.Reason = gateway.MessageHeld, gateway.ReasonTakeover
	}
	return err
}

// movedBy moves a message for the sake of a takeover.
func (l *Ledger) movedBy(c *conn, m *message, to gateway.MessageState, reason string, now time.Time) error {
	was := m.State
	m.State, m.Reason = to, reason
	if err := l.storeMessage(c, m, was); err != nil {
		return err
	}
	return l.tell(c, m, "takeover", "", now)
}

// takeoversAtOnce is how many that are over one transaction looks at.
const takeoversAtOnce = 16

// endTakeovers lets go of what was held in conversations whose time is over, at most
// limit messages. next is when the next one will be.
func (l *Ledger) endTakeovers(c *conn, now time.Time, limit int) (done int, woken []string, next time.Time, err error) {
	var keys []int64
	err = c.query("SELECT c FROM conversation WHERE taken_until > 0 AND taken_until <= ? ORDER BY taken_until LIMIT ?", func(r row) error {
		keys = append(keys, r.int(0))
		return nil
	}, now, takeoversAtOnce)
	for _, key := range keys {
		if err != nil || done >= limit {
			break
		}
		var t *talk
		if t, err = l.talk(c, key); err != nil {
			break
		}
		var n int
		var convs []string
		n, convs, err = l.letGo(c, t, now, limit-done)
		done, woken = done+max(n, 1), append(woken, convs...)
	}
	if err != nil {
		return 0, nil, next, err
	}
	at, err := c.number("SELECT min(taken_until) FROM conversation WHERE taken_until > 0")
	return done, woken, fromNanos(at), err
}

// letGo moves at most limit held messages of a conversation, and ends its takeover
// when none is left.
func (l *Ledger) letGo(c *conn, t *talk, now time.Time, limit int) (n int, woken []string, err error) {
	convs, err := partsOf(c, t.c)
	if err != nil {
		return 0, nil, err
	}
	for _, conv := range convs {
		var ms []message
		err := c.query("SELECT "+messageColumns+" FROM message WHERE conv = ? AND state = 'held' AND reason = 'takeover' ORDER BY row LIMIT ?", func(r row) error {
			ms = append(ms, scanMessage(r))
			return nil
		}, conv, limit-n)
		if err != nil {
			return 0, nil, err
		}
		for i := range ms {
			if err := l.letGoOne(c, t, &ms[i], now); err != nil {
				return 0, nil, err
			}
		}
		if n += len(ms); n >= limit {
			return n, append(woken, conv), nil
		}
		woken = append(woken, conv)
	}
	t.takenUntil, t.takenBy, t.takenThen = 0, "", ""
	l.book.add(prefixOther+"taken", -1)
	l.change(t)
	if err := storeTalk(c, t); err != nil {
		return 0, nil, err
	}
	return n, woken, touch(c, t.c, time.Time{}, true)
}

func (l *Ledger) letGoOne(c *conn, t *talk, m *message, now time.Time) error {
	if m.App != "" && t.takenThen != gateway.ThenSend {
		state, err := stopped(c, m)
		if err != nil {
			return err
		}
		return l.movedBy(c, m, state, gateway.ReasonTakeover, now)
	}
	if _, err := l.stirs(c, m.Conv); err != nil {
		return err
	}
	return l.movedBy(c, m, gateway.MessageWaiting, "", now)
}

// over ends a takeover now; Judge lets go of what was held.
func (l *Ledger) over(c *conn, t *talk, now time.Time) error {
	t.takenUntil, t.takenSince = nanos(now), nanos(now)
	l.change(t)
	return storeTalk(c, t)
}

// ReleaseConversation takes a conversation back from a colleague, durable; see
// store.AdminLedger.
func (l *Ledger) ReleaseConversation(ctx context.Context, conv string, then gateway.Then, by string, now time.Time) (held int, err error) {
	err = l.write(ctx, true, 1, func(c *conn) error {
		t, err := l.talkOf(c, conv)
		if err == nil {
			t, err = l.root(c, t)
		}
		switch {
		case err != nil:
			return err
		case t.takenUntil == 0:
			return fmt.Errorf("no colleague has the conversation: %w", gateway.ErrConflict)
		}
		if then != "" {
			t.takenThen = then
		}
		if err := l.over(c, t, now); err != nil {
			return err
		}
		convs, err := partsOf(c, t.c)
		if err != nil {
			return err
		}
		held = 0
		for _, conv := range convs {
			n, err := c.number("SELECT count(*) FROM message WHERE conv = ? AND state = 'held' AND reason = 'takeover'", conv)
			if err != nil {
				return err
			}
			held += int(n)
		}
		return audit(c, now, by, "release", t.conv)
	})
	return held, err
}

// colleague is who wrote an echo, where its event tells: a userid.
func colleague(c *conn, n int64) (by string, err error) {
	_, err = c.one("SELECT content FROM event WHERE n = ?", func(r row) {
		var says struct {
			From *gateway.Party `json:"from"`
		}
		if json.Unmarshal(r.blob(0), &says) != nil || says.From == nil {
			return
		}
		for _, id := range says.From.Identities {
			if id.Kind == "userid" {
				by = id.Spelling()
			}
		}
	}, n)
	return by, err
}

// mergeTaken lets a takeover of the younger conversation go on in the older one.
func (l *Ledger) mergeTaken(c *conn, from, to *talk, now time.Time) error {
	if from.takenUntil > 0 {
		if to.takenUntil > 0 {
			l.book.add(prefixOther+"taken", -1)
		}
		if from.takenUntil > to.takenUntil {
			to.takenUntil, to.takenSince, to.takenBy, to.takenThen = from.takenUntil, from.takenSince, from.takenBy, from.takenThen
			l.change(to)
		}
		from.takenUntil, from.takenBy, from.takenThen = 0, "", ""
		l.change(from)
		if err := errors.Join(storeTalk(c, from), storeTalk(c, to)); err != nil {
			return err
		}
	}
	if to.takenUntil == 0 {
		return nil
	}
	return l.holdWaiting(c, to, now)
}

// sessionOver takes a customer's conversation back when their session with a
// colleague ended: the customer is the robot's again. at is when that was.
func (w *relayWrite) sessionOver(it *gateway.ItemRow, at time.Time) error {
	if it.Note.Session != gateway.SessionEnded && it.Note.Session != gateway.SessionAssistant {
		return nil
	}
	for _, id := range it.Chat.Identities {
		if id.Kind != "session" {
			continue
		}
		a, err := w.l.alias(w.c, aliasKey{it.Event.Platform, it.Event.Account, gateway.ChatSingle, "external_userid", id.Value})
		if err != nil || a == nil {
			return err
		}
		t, err := w.l.talk(w.c, a.c)
		if err == nil {
			t, err = w.l.root(w.c, t)
		}
		if err != nil || t.takenUntil == 0 || nanos(at) < t.takenSince {
			return err
		}
		w.res.Ended++
		return w.l.over(w.c, t, w.now)
	}
	return nil
}

// handedOver takes a conversation back when a transfer of ours gave its session to
// the robot or ended it.
func (l *Ledger) handedOver(c *conn, m *message, now time.Time) error {
	to := m.Reply.Transfer
	if m.State != gateway.MessageAccepted || to == nil || to.To != gateway.SessionAssistant && to.To != gateway.SessionEnded {
		return nil
	}
	t, err := l.talkOf(c, m.Conv)
	if err == nil {
		t, err = l.root(c, t)
	}
	if err != nil || t.takenUntil == 0 {
		return err
	}
	return l.over(c, t, now)
}

// without are the words of all that are not in some.
func without(all, some []string) (out []string) {
	for _, s := range all {
		if !slices.Contains(some, s) {
			out = append(out, s)
		}
	}
	return out
}

// inTakeover is what a colleague's takeover does to an event that came just now: who
// is not offered it, and the content that says so to the others.
func (w *relayWrite) inTakeover(t *talk, it *gateway.ItemRow, content []byte, wanted []string) ([]byte, []string, error) {
	if t.takenUntil <= nanos(w.now) || !it.Event.Kind.Ordered() || it.Observed != "" || w.b.Run != "" {
		return content, wanted, nil
	}
	marked, err := gateway.MarkTaken(content, &gateway.Taken{By: t.takenBy, Since: fromNanos(t.takenSince), Until: fromNanos(t.takenUntil)})
	if len(wanted) == 0 {
		return marked, nil, err
	}
	return marked, without(wanted, it.SkipTaken), err
}

// skipTaken settles an event for those who do not want it of a taken conversation.
func (w *relayWrite) skipTaken(n int64, apps []string) error {
	for _, app := range apps {
		if _, err := w.c.exec(w.l.texts.settled.one, n, app, string(gateway.EventSettled), gateway.ReasonTakeover, 0, 0, 0, w.now); err != nil {
			return err
		}
		w.l.book.add(appCount(app, "wanted"), 1)
		w.l.book.add(appCount(app, "settled"), 1)
	}
	return nil
}
