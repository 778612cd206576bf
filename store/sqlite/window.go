package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// heardBack is how many of a conversation's newest messages are looked at when those
// since the customer's last one are counted: no platform allows as many.
const heardBack = 16

// Heard is what is known of the customer's last message in a conversation, or in the
// one it became part of; see store.OutboxLedger. The row of the conversation may be
// behind its events (talk), so those count too.
func (l *Ledger) Heard(ctx context.Context, conv string) (h gateway.Heard, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		h = gateway.Heard{}
		key, found, err := keyOf(c, conv)
		if err == nil && !found {
			err = fmt.Errorf("conversation: %w", gateway.ErrNotFound)
		}
		if err != nil {
			return err
		}
		var at, behind int64
		chat := gateway.ChatAccount
		for into := key; into >= 0; {
			key, into = into, -1
			_, err := c.one("SELECT max(newest_at, heard_at), last_seq, chat, into_c FROM conversation WHERE c = ?", func(r row) {
				at, behind, chat, into = max(at, r.int(0)), r.int(1), gateway.ChatKind(r.str(2)), r.int(3)
			}, key)
			if err != nil {
				return err
			}
		}
		if chat != gateway.ChatSingle {
			return nil
		}
		newest, err := c.number("SELECT max(occurred_at) FROM event WHERE c = ? AND ord > ? AND kind = 'message'", key, behind)
		if err != nil {
			return err
		}
		h.At = fromNanos(max(at, newest))
		// Counted by our own clock: from when the last message came.
		var came time.Time
		_, err = c.one("SELECT received_at FROM event WHERE c = ? AND ord > 0 AND kind = 'message' ORDER BY ord DESC LIMIT 1",
			func(r row) { came = r.time(0) }, key)
		if err != nil || came.IsZero() {
			return err
		}
		return c.query("SELECT "+messageColumns+" FROM message WHERE conv = ? ORDER BY row DESC LIMIT ?", func(r row) error {
			m := scanMessage(r)
			switch {
			case m.DueAt.Before(came): // and so are nearly all before it
				return errStop
			case counts(&m):
				h.Sent++
			}
			return nil
		}, conv, heardBack)
	})
	return h, err
}

// counts says that a message counts among those after the customer's last one: it left,
// or may have, by itself.
func counts(m *message) bool {
	switch m.State {
	case gateway.MessageAccepted, gateway.MessageSending, gateway.MessageUnknown:
	default:
		return false
	}
	switch m.Reply.Type {
	case gateway.ReplyRead, gateway.ReplyRecall, gateway.ReplyTransfer, gateway.ReplyWelcome:
		return false
	default:
	}
	return m.Reply.Handle == nil
}

// insteadRest is how long after the template of a closed window no other one is sent.
const insteadRest = 24 * time.Hour

// Refuse ends a message that waits, without a call, durable; see store.OutboxLedger.
func (l *Ledger) Refuse(ctx context.Context, r gateway.Refusal) error {
	return l.write(ctx, true, 1, func(c *conn) error {
		m, err := messageByID(c, r.Message)
		if err != nil {
			return err
		}
		if m.State != gateway.MessageWaiting {
			return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
		}
		m.State, m.Reason = gateway.MessageRejected, r.Reason
		if err := l.buryMessage(c, m, gateway.DeadLetter{Kind: "message", Reason: r.Reason, Detail: r.Detail}, r.At); err != nil {
			return err
		}
		if err := l.storeMessage(c, m, gateway.MessageWaiting); err != nil {
			return err
		}
		if err := l.tell(c, m, "window", r.Reason, r.At); err != nil {
			return err
		}
		if !m.Reply.Type.Harmless() {
			if err := l.endParts(c, m, gateway.MessageCancelled, reasonRejected, r.At); err != nil {
				return err
			}
		}
		if r.Instead == nil {
			return nil
		}
		return l.instead(c, m, *r.Instead, r.At)
	})
}

// instead sends a template in place of a message that is refused, as a task of its own.
func (l *Ledger) instead(c *conn, m *message, template gateway.Reply, now time.Time) error {
	t, err := l.talkOf(c, m.Conv)
	if err == nil {
		t, err = l.root(c, t)
	}
	if err != nil || t.toldAt > 0 && nanos(now)-t.toldAt < int64(insteadRest) {
		return err
	}
	t.toldAt = nanos(now)
	l.change(t)
	if err := storeTalk(c, t); err != nil {
		return err
	}
	due, err := l.dueIn(c, t.conv, now)
	if err != nil {
		return err
	}
	_, err = l.enqueue(c, t, &task{app: m.App, event: m.Event, due: due}, []gateway.Reply{template}, now)
	return err
}

// believed is how late a message may come by the platform's time: Meta tries for seven
// days. What says that it is older was written at a time that nobody tells.
const believed = 8 * 24 * time.Hour

// heard keeps when the customer last did something: what they write is kept by count,
// unless its time cannot be true.
func (w *relayWrite) heard(p *gateway.RelayedPayload, t *talk, it *gateway.ItemRow) {
	at := nanos(happened(p, it))
	if it.Observed != gateway.ObservedHistory && nanos(p.ReceivedAt)-at > int64(believed) {
		at = nanos(p.ReceivedAt)
	} else if it.Event.Kind == gateway.KindMessage && it.Observed == "" {
		return
	}
	if !it.Heard || w.b.Run != "" || at <= t.heardAt {
		return
	}
	t.heardAt = at
	w.l.change(t)
	w.note(t)
}
