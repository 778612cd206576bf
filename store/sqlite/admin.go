package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// PayloadState is what the ledger knows of a payload. One without a state row
// is pending: the relay has not come to its end.
func (l *Ledger) PayloadState(ctx context.Context, pos int64) (store.PayloadStatus, error) {
	s := store.PayloadStatus{State: gateway.PayloadPending}
	err := l.r.snapshot(ctx, func(c *conn) error {
		_, err := c.one("SELECT state, reason, detail, key_fp FROM payload WHERE pos = ?", func(r row) {
			s.State, s.Reason, s.Detail, s.KeyFP = gateway.PayloadState(r.str(0)), r.str(1), r.str(2), r.str(3)
		}, pos)
		if err != nil {
			return err
		}
		return c.query(`SELECT i.idx, i.state, i.reason, e.id, v.conv, max(e.ord, 0), e.kind
			FROM item i LEFT JOIN event e ON e.n = i.n LEFT JOIN conversation v ON v.c = e.c WHERE i.pos = ? ORDER BY i.idx`, func(r row) error {
			s.Items = append(s.Items, store.ItemStatus{Index: int(r.int(0)), State: gateway.ItemState(r.str(1)), Reason: r.str(2),
				Event: eventID(r[3]), Conv: r.str(4), Seq: r.int(5), Kind: gateway.Kind(r.str(6))})
			return nil
		}, pos)
	})
	return s, err
}

// PayloadStates are the states of payloads that the relay is done with.
func (l *Ledger) PayloadStates(ctx context.Context, pos []int64) (map[int64]gateway.PayloadState, error) {
	out := make(map[int64]gateway.PayloadState, len(pos))
	err := l.r.snapshot(ctx, func(c *conn) error {
		for _, at := range pos {
			if _, err := c.one("SELECT state FROM payload WHERE pos = ?", func(r row) { out[at] = gateway.PayloadState(r.str(0)) }, at); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Sealed lists positions of sealed payloads; an empty endpoint means all.
func (l *Ledger) Sealed(ctx context.Context, endpoint string, after int64, limit int) ([]int64, error) {
	q, args := "SELECT pos FROM payload WHERE state = 'sealed' AND endpoint = ? AND pos > ? ORDER BY pos LIMIT ?", []any{endpoint, after, limitOf(limit)}
	if endpoint == "" {
		q, args = "SELECT pos FROM payload INDEXED BY payload_sealed WHERE state = 'sealed' AND pos > ? ORDER BY pos LIMIT ?", args[1:]
	}
	return l.positions(ctx, q, args...)
}

// ConversationPayloads lists positions of the payloads that hold events of a
// conversation, or of what became part of it.
func (l *Ledger) ConversationPayloads(ctx context.Context, conv string, after int64, limit int) ([]int64, error) {
	return l.positions(ctx, `WITH RECURSIVE part(c) AS (SELECT c FROM conversation WHERE c >= ? AND c < ? AND conv = ?
		UNION SELECT u.c FROM part JOIN conversation u ON u.into_c = part.c AND u.into_c >= 0)
		SELECT DISTINCT pos FROM event WHERE c IN (SELECT c FROM part) AND pos > ? ORDER BY pos LIMIT ?`,
		convKey(conv), convKey(conv)+convKeys, conv, after, limitOf(limit))
}

func (l *Ledger) positions(ctx context.Context, q string, args ...any) (out []int64, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query(q, func(r row) error {
			out = append(out, r.int(0))
			return nil
		}, args...)
	})
	return out, err
}

// Audit records a deed of an admin, durable.
func (l *Ledger) Audit(ctx context.Context, e gateway.AuditEntry) error {
	return l.write(ctx, true, 0, func(c *conn) error { return auditMany(c, &e) })
}

// AuditLog lists what admins did, newest first.
func (l *Ledger) AuditLog(ctx context.Context, limit int) (out []gateway.AuditEntry, err error) {
	err = l.people.read(ctx, func(c *conn) error {
		return c.query("SELECT at, by, what, target, count, note FROM audit ORDER BY n DESC LIMIT ?", func(r row) error {
			out = append(out, gateway.AuditEntry{At: r.time(0), By: r.str(1), What: r.str(2), Target: r.str(3), Count: r.int(4), Note: string(r.blob(5))})
			return nil
		}, limitOf(limit))
	})
	return out, err
}

// FindConversation resolves an identity as the relay does, single chats first.
func (l *Ledger) FindConversation(ctx context.Context, platform, account string, id gateway.Identity) (conv string, err error) {
	err = l.people.read(ctx, func(c *conn) error {
		found, err := c.one(`SELECT v.conv FROM alias a JOIN conversation v ON v.c = a.c
			WHERE a.platform = ? AND a.account = ? AND a.chat IN ('single', 'group', 'account')
			AND a.kind = ? AND a.value = ? ORDER BY CASE a.chat WHEN 'single' THEN 0 WHEN 'group' THEN 1 ELSE 2 END LIMIT 1`,
			func(r row) { conv = r.str(0) }, platform, account, id.Kind, []byte(id.Value))
		if err == nil && !found {
			err = fmt.Errorf("conversation: %w", gateway.ErrNotFound)
		}
		return err
	})
	return conv, err
}

// Messages lists messages in a state, newest first.
func (l *Ledger) Messages(ctx context.Context, state gateway.MessageState, limit int) (out []gateway.Message, err error) {
	// The texts name the indexes' conditions, so that each state has a short way.
	from, where := "message", "state = ? AND state <> 'waiting' AND state <> 'sending' AND state <> 'accepted'"
	switch state {
	case gateway.MessageAccepted:
		where = "state = ?"
	case gateway.MessageWaiting, gateway.MessageSending:
		from, where = "message INDEXED BY message_due", "open = 1 AND state = ?" // or it walks back over all that have left
	case gateway.MessageRejected, gateway.MessageUnknown, gateway.MessageExpired, gateway.MessageCancelled, gateway.MessageHeld,
		gateway.TaskPartial:
	}
	err = l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT "+messageColumns+" FROM "+from+" WHERE "+where+" ORDER BY row DESC LIMIT ?", func(r row) error {
			out = append(out, scanMessage(r).Message)
			return nil
		}, string(state), limitOf(limit))
	})
	return out, err
}

// ReleaseRun lets the held replies of a replay go, in slices; the first of them
// records the deed. Replies made later are not held.
func (l *Ledger) ReleaseRun(ctx context.Context, run, by string, now time.Time) (convs []string, err error) {
	err = l.write(ctx, true, 1, func(c *conn) error {
		n, err := c.exec("UPDATE run SET released_at = ? WHERE id = ?", now, run)
		if err == nil && n == 0 {
			err = fmt.Errorf("run: %w", gateway.ErrNotFound)
		}
		if err != nil {
			return err
		}
		return audit(c, now, by, "release", run)
	})
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	size := newSlicer()
	for after := int64(0); ; {
		var slice []string
		var last int64
		over := false
		made, err := l.writeSlice(ctx, size.most, func(c *conn) (err error) {
			size.start()
			slice, last, over, err = l.release(c, run, after, size, now)
			return err
		})
		if !made {
			return convs, err
		}
		size.ended()
		for _, conv := range slice {
			if !seen[conv] {
				seen[conv] = true
				convs = append(convs, conv)
			}
		}
		if over || err != nil {
			return convs, err
		}
		after = last
	}
}

// release lets one slice of a run's messages go and returns their conversations. over:
// there are no more.
func (l *Ledger) release(c *conn, run string, after int64, size *slicer, now time.Time) (convs []string, last int64, over bool, err error) {
	var ms []message
	var rows []int64
	last = after
	err = c.query("SELECT "+messageColumns+`, row FROM message WHERE state = 'held' AND state <> 'waiting' AND state <> 'sending' AND state <> 'accepted'
		AND row > ? AND run = ? ORDER BY row LIMIT ?`, func(r row) error {
		ms = append(ms, scanMessage(r))
		rows = append(rows, r.int(messageRest))
		return nil
	}, after, run, size.most)
	if err != nil {
		return nil, 0, false, err
	}
	for i := range ms {
		m := &ms[i]
		if _, err := l.stirs(c, m.Conv); err != nil {
			return nil, 0, false, err
		}
		m.State, m.DueAt = gateway.MessageWaiting, now
		if err := l.storeMessage(c, m, gateway.MessageHeld); err != nil {
			return nil, 0, false, err
		}
		if err := l.tell(c, m, "operator", "", now); err != nil {
			return nil, 0, false, err
		}
		convs, last = append(convs, m.Conv), rows[i]
		if size.full(i+1) && i+1 < len(ms) {
			return convs, last, false, nil
		}
	}
	return convs, last, len(ms) < size.most, nil
}

// Stuck describes what waits and since when.
func (l *Ledger) Stuck(ctx context.Context, _ time.Time) (out []store.StuckThing, err error) {
	add := func(what string) func(row) error {
		return func(r row) error {
			if r.int(1) > 0 {
				out = append(out, store.StuckThing{What: what, Name: r.str(0), Count: r.int(1), Since: r.time(2)})
			}
			return nil
		}
	}
	for _, q := range []struct{ what, text string }{
		{"pending", `SELECT p.app, p.waiting, e.received_at FROM
			(SELECT app, count(*) AS waiting, min(n) AS first FROM pending GROUP BY app) p JOIN event e ON e.n = p.first ORDER BY p.app`},
		{"blocked", "SELECT app, count(*), min(blocked_at) FROM pending WHERE blocked_at > 0 GROUP BY app"},
		{"unanswered", "SELECT app, count(*), min(at) FROM settled WHERE reason = 'unanswered' GROUP BY app"},
		{"unknown", `SELECT m.account, count(*), min(a.ended_at) FROM message m JOIN attempt a ON a.message = m.id AND a.n = m.attempts
			WHERE m.state = 'unknown' AND m.state <> 'waiting' AND m.state <> 'sending' AND m.state <> 'accepted' AND m.open = 1 GROUP BY m.account`},
		{"dead", "SELECT kind, count(*), min(at) FROM dead WHERE state = 'open' GROUP BY kind"},
		{"not buried", "SELECT iif(item < 0, 'payload', 'item'), count(*), min(since) FROM unburied GROUP BY 1"},
		{"sealed", "SELECT endpoint, count(*), min(received_at) FROM payload WHERE state = 'sealed' GROUP BY endpoint"},
		{"merging", "SELECT conv, count(*), min(merged_at) FROM conversation WHERE draining = 1"},
		{"held", `SELECT run, count(*), min(nullif(held_at, 0)) FROM message WHERE state = 'held' AND reason <> 'takeover'
			AND state <> 'waiting' AND state <> 'sending' AND state <> 'accepted' GROUP BY run`},
		{"taken", "SELECT account, count(*), min(taken_since) FROM conversation WHERE taken_until > 0 GROUP BY account"},
		{"held for a colleague", "SELECT account, count(*), min(nullif(held_at, 0)) FROM message WHERE state = 'held' AND reason = 'takeover' GROUP BY account"},
	} {
		if err := l.r.read(ctx, func(c *conn) error { return c.query(q.text, add(q.what)) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}
