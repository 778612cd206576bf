package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

const parkedColumns = "n, kind, platform, account, conv, external_id, marker, status, at, deadline"

func scanParked(r row) (e gateway.Evidence, err error) {
	e = gateway.Evidence{N: r.int(0), Kind: gateway.Kind(r.str(1)), Platform: r.str(2), Account: r.str(3), Conv: r.str(4),
		ExternalID: r.str(5), Marker: r.str(6), At: r.time(8), Deadline: r.time(9)}
	if b := r.blob(7); len(b) > 0 {
		err = json.Unmarshal(b, &e.Status)
	}
	return e, err
}

// Judge decides what it can about parked evidence; see store.OutboxLedger. A row
// that stays is looked at again at its deadline, or when unpark says that
// something about it changed. Not durable: evidence comes out of the archive, and a takeover
// that is over is so still.
func (l *Ledger) Judge(ctx context.Context, now time.Time, limit int, rule func(platform, account string) gateway.Takeover) (out gateway.Judged, err error) {
	if quiet, next, err := l.quiet(ctx, now); err != nil || quiet {
		return gateway.Judged{Next: next}, err
	}
	err = l.write(ctx, false, limit/8, func(c *conn) error {
		out = gateway.Judged{}
		done, woken, over, err := l.endTakeovers(c, now, limit)
		if err != nil {
			return err
		}
		out.Done, out.Woken = done, woken
		var rows []gateway.Evidence
		err = c.query("SELECT "+parkedColumns+" FROM parked WHERE look_at <= ? ORDER BY look_at, n LIMIT ?", func(r row) error {
			e, err := scanParked(r)
			rows = append(rows, e)
			return err
		}, now, limit)
		if err != nil {
			return err
		}
		seen := make(map[string]bool)
		for i := range rows {
			judged, wake, err := l.judge(c, &rows[i], now, rule, &out)
			if err != nil {
				return err
			}
			if judged {
				out.Done++
			}
			if wake != "" && !seen[wake] {
				seen[wake] = true
				out.Woken = append(out.Woken, wake)
			}
		}
		at, err := c.number("SELECT min(look_at) FROM parked")
		out.Next = fromNanos(at)
		if err == nil && at == 0 { // either none is left, or one is due at once
			left, lerr := c.number("SELECT count(*) FROM (SELECT 1 FROM parked LIMIT 1)")
			if err = lerr; left > 0 {
				out.Next = now
			}
		}
		if !over.IsZero() && (out.Next.IsZero() || over.Before(out.Next)) {
			out.Next = over
		}
		return err
	})
	if err != nil {
		return gateway.Judged{}, err
	}
	return out, nil
}

// quiet says that there is nothing to judge, and when there will be. It asks beside the
// writer: the judge is told of every attempt that ends, and of nearly all there is nothing.
func (l *Ledger) quiet(ctx context.Context, now time.Time) (quiet bool, next time.Time, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		at, err := c.number("SELECT min(taken_until) FROM conversation WHERE taken_until > 0")
		if err != nil {
			return err
		}
		next = fromNanos(at)
		_, err = c.one("SELECT min(look_at) FROM parked", func(r row) {
			if r[0] == nil { // nothing is parked
				return
			}
			if look := time.Unix(0, r.int(0)); next.IsZero() || look.Before(next) { // 0 is at once
				next = look
			}
		})
		return err
	})
	return err == nil && (next.IsZero() || next.After(now)), next, err
}

// judge looks at one row. wake is a conversation whose head may have moved; one that a
// colleague took is put into out.
func (l *Ledger) judge(c *conn, e *gateway.Evidence, now time.Time, rule func(platform, account string) gateway.Takeover, out *gateway.Judged,
) (judged bool, wake string, err error) {
	m, err := messageOf(c, e)
	if err != nil {
		return false, "", err
	}
	over := !e.Deadline.After(now)
	switch {
	case m != nil:
		wake, err = l.proven(c, e, m, now)
		if err == nil {
			err = l.judged(c, e, gateway.JudgedOurs, m, now)
		}
		if wake == "" && e.Kind == gateway.KindEcho {
			wake = e.Conv // an attempt may wait for the judgement
		}
		if err == nil {
			err = failedLater(c, e, m, out)
		}
		return true, wake, err
	case e.Kind == gateway.KindStatus && over:
		return true, "", l.judged(c, e, gateway.JudgedForeign, nil, now)
	case e.Kind == gateway.KindEcho:
		sending, err := l.sending(c, e.Conv)
		if err != nil {
			return false, "", err
		}
		if !sending || over {
			j, err := unexplained(c, e)
			if err != nil {
				return false, "", err
			}
			if err := l.judged(c, e, j, nil, now); err != nil || j != gateway.JudgedHuman || rule == nil {
				return true, e.Conv, err
			}
			out.Taken = append(out.Taken, e.Conv)
			return true, e.Conv, l.takenBy(c, e, rule(e.Platform, e.Account), now)
		}
	}
	_, err = c.exec("UPDATE parked SET look_at = deadline WHERE n = ?", e.N)
	return false, "", err
}

// failedLater notes a status that says why one of our messages failed.
func failedLater(c *conn, e *gateway.Evidence, m *message, out *gateway.Judged) error {
	st := &e.Status
	if e.Kind != gateway.KindStatus || st.State != gateway.StatusFailed || len(st.Errors) == 0 || st.Errors[0].Code == 0 {
		return nil
	}
	began, err := c.number("SELECT max(started_at) FROM attempt WHERE message = ?", m.ID)
	if err != nil {
		return err
	}
	out.Failed = append(out.Failed, gateway.FailedLater{
		Platform: m.Platform, Account: m.Account, Conv: m.Conv, Code: st.Errors[0].Code, Began: fromNanos(began),
	})
	return nil
}

// unexplained is what an echo is that none of our messages explains: as its event
// says, else a colleague's.
func unexplained(c *conn, e *gateway.Evidence) (j gateway.Judgement, err error) {
	j = gateway.JudgedHuman
	_, err = c.one("SELECT content FROM event WHERE n = ?", func(r row) {
		var says struct {
			Echo gateway.Echo `json:"echo"`
		}
		if json.Unmarshal(r.blob(0), &says) == nil && says.Echo.Otherwise != "" {
			j = says.Echo.Otherwise
		}
	}, e.N)
	return j, err
}

// sending says whether an attempt to the customer of a conversation is open.
func (l *Ledger) sending(c *conn, conv string) (bool, error) {
	kin, err := l.kin(c, conv)
	for _, conv := range kin {
		n, err := c.number("SELECT count(*) FROM message WHERE conv = ? AND state = 'sending'", conv)
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, err
}

// messageOf finds the message a piece of evidence speaks of: by our marker, else
// by the platform's id within the account.
func messageOf(c *conn, e *gateway.Evidence) (*message, error) {
	if gateway.OurMarker(e.Marker) {
		m, err := messageByID(c, e.Marker)
		if err == nil && m.Account == e.Account && m.Platform == e.Platform {
			return m, nil
		}
		if err != nil && !errors.Is(err, gateway.ErrNotFound) {
			return nil, err
		}
	}
	if e.ExternalID == "" {
		return nil, nil
	}
	var m *message
	_, err := c.one("SELECT "+messageColumns+" FROM message WHERE account = ? AND external_id = ? AND external_id <> '' AND platform = ? LIMIT 1",
		func(r row) { x := scanMessage(r); m = &x }, e.Account, e.ExternalID, e.Platform)
	return m, err
}

// proven moves a message by evidence about it. While its attempt is open the
// platform's id is noted and the attempt's end does the rest.
func (l *Ledger) proven(c *conn, e *gateway.Evidence, m *message, now time.Time) (wake string, err error) {
	was, changed := m.State, false
	if m.ExternalID == "" && e.ExternalID != "" {
		m.ExternalID, changed = e.ExternalID, true
	}
	told := false
	if e.Kind == gateway.KindStatus {
		if err := keepReceipt(c, m.ID, e); err != nil {
			return "", err
		}
		m.Delivery, m.Failed, told = gateway.Forward(m.Delivery, m.Failed, &e.Status)
	}
	// A held one was sent before it was to be sent again: released, it would go twice.
	if was == gateway.MessageWaiting || was == gateway.MessageUnknown || was == gateway.MessageHeld && m.Attempts > 0 {
		m.State, m.Reason, told = gateway.MessageAccepted, "", true
		wake = m.Conv
	}
	if !changed && !told {
		return "", nil
	}
	if err := l.storeMessage(c, m, was); err != nil {
		return wake, err
	}
	if changed { // what named the message by this id alone can be judged now
		if _, err := c.exec("UPDATE parked SET look_at = 0 WHERE account = ? AND external_id = ? AND external_id <> '' AND n <> ?",
			m.Account, m.ExternalID, e.N); err != nil {
			return wake, err
		}
	}
	if !told {
		return wake, nil
	}
	return wake, l.tell(c, m, string(e.Kind), failedCode(m), now)
}

// keepReceipt keeps a status, once per state: of the message, or of the member of
// a group whom it names.
func keepReceipt(c *conn, message string, e *gateway.Evidence) error {
	st := &e.Status
	if st.Participant == nil {
		_, err := c.exec("INSERT INTO receipt (message, state, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", message, string(st.State), e.At)
		return err
	}
	problem := []byte{}
	if st.State == gateway.StatusFailed && len(st.Errors) > 0 {
		var err error
		if problem, err = json.Marshal(&st.Errors[0]); err != nil {
			return err
		}
	}
	_, err := c.exec("INSERT INTO member_receipt (message, member, state, at, problem) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		message, st.Participant.Kind+":"+st.Participant.Value, string(st.State), e.At, problem)
	return err
}

// failedCode is the platform's code of a failed message, for its change.
func failedCode(m *message) string {
	if m.Failed == nil || m.Failed.Code == 0 {
		return ""
	}
	return itoa(m.Failed.Code)
}

// judged takes a row out of the parked ones and records what became of it.
func (l *Ledger) judged(c *conn, e *gateway.Evidence, j gateway.Judgement, m *message, now time.Time) error {
	if _, err := c.exec("DELETE FROM parked WHERE n = ?", e.N); err != nil {
		return err
	}
	// What stays undecided is said by the event itself; its column has no word for it.
	if j != gateway.JudgedUndecided {
		if _, err := c.exec("UPDATE event SET judged = ? WHERE n = ?", string(j), e.N); err != nil {
			return err
		}
	}
	l.book.add(prefixOther+"parked", -1)
	l.book.add(prefixOther+string(e.Kind)+"_"+string(j), 1)
	if e.Kind != gateway.KindEcho {
		return nil
	}
	ch := gateway.Change{At: now, Platform: e.Platform, Account: e.Account, Conv: e.Conv, By: "echo", Echo: j, ExternalID: e.ExternalID}
	if m != nil {
		ch.Message, ch.Task, ch.Part, ch.App, ch.Event, ch.State, ch.Delivery = m.ID, m.Task, m.Part, m.App, m.Event, m.State, m.Delivery
	} else if j == gateway.JudgedHuman {
		t, err := l.talkOf(c, e.Conv)
		if err != nil {
			return err
		}
		if at := nanos(e.At); at > t.humanAt {
			t.humanAt = at
			l.change(t)
			if err := storeTalk(c, t); err != nil {
				return err
			}
			if err := touch(c, t.c, e.At, true); err != nil {
				return err
			}
		}
	}
	return l.changed(c, &ch)
}

// anyParked says whether any evidence is parked. Mostly there is none, which is
// remembered, so that the end of an attempt does not look for its own.
func (l *Ledger) anyParked(c *conn) (bool, error) {
	if !l.book.parked {
		return false, nil
	}
	n, err := c.number("SELECT count(*) FROM (SELECT 1 FROM parked LIMIT 1)")
	l.book.parked = err != nil || n > 0
	return l.book.parked, err
}

// unpark judges what waited for the end of an attempt: statuses and echoes that
// name the message at once, other echoes of the conversation at the next look.
func (l *Ledger) unpark(c *conn, m *message, now time.Time) error {
	if some, err := l.anyParked(c); err != nil || !some {
		return err
	}
	var rows []gateway.Evidence
	take := func(r row) error {
		e, err := scanParked(r)
		rows = append(rows, e)
		return err
	}
	if m.ExternalID != "" {
		err := c.query("SELECT "+parkedColumns+" FROM parked WHERE account = ? AND external_id = ? AND external_id <> '' ORDER BY n",
			take, m.Account, m.ExternalID)
		if err != nil {
			return err
		}
	}
	if err := c.query("SELECT "+parkedColumns+" FROM parked WHERE marker = ? AND marker <> '' ORDER BY n", take, m.ID); err != nil {
		return err
	}
	done := make(map[int64]bool, len(rows))
	for i := range rows {
		if done[rows[i].N] {
			continue
		}
		done[rows[i].N] = true
		if _, _, err := l.judge(c, &rows[i], now, nil, nil); err != nil {
			return err
		}
	}
	kin, err := l.kin(c, m.Conv)
	for _, conv := range kin {
		if _, err := c.exec("UPDATE parked SET look_at = 0 WHERE conv = ? AND kind = 'echo'", conv); err != nil {
			return err
		}
	}
	return err
}
