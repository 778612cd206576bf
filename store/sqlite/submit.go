package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// reasonOperator is why a message is cancelled that an operator cancelled.
const reasonOperator = "by operator"

// Submitted finds what a key stands for; see store.SubmitLedger.
func (l *Ledger) Submitted(ctx context.Context, key string, digest []byte) (out gateway.Submitted, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		found, err := submitted(c, key, digest, &out)
		if err == nil && !found {
			err = fmt.Errorf("submission: %w", gateway.ErrNotFound)
		}
		return err
	})
	return out, err
}

// submitted fills out with what a key stands for, if anything.
func submitted(c *conn, key string, digest []byte, out *gateway.Submitted) (found bool, err error) {
	same, task := false, ""
	found, err = c.one("SELECT digest, task FROM submission WHERE key = ?",
		func(r row) { same, task = bytes.Equal(r.blob(0), digest), r.str(1) }, key)
	switch {
	case err != nil || !found:
		return false, err
	case !same:
		return false, fmt.Errorf("the key stands for another request: %w", gateway.ErrConflict)
	}
	first, err := messageByID(c, task)
	if err != nil {
		return false, err
	}
	rest, err := partsAfter(c, first)
	if err != nil {
		return false, err
	}
	*out = gateway.Submitted{ID: task, Conv: first.Conv, Account: first.Account, Known: true}
	var states []gateway.MessageState
	for _, m := range append([]message{*first}, rest...) {
		out.Messages = append(out.Messages, m.ID)
		states = append(states, m.State)
	}
	out.State = gateway.TaskState(states)
	return true, nil
}

// Submit makes a task of a request, durable; see store.SubmitLedger. Idempotency:
// the key, in the transaction that writes the messages.
func (l *Ledger) Submit(ctx context.Context, s *gateway.Submission, now time.Time) (gateway.Submitted, error) {
	var out gateway.Submitted
	if len(s.Replies) == 0 {
		return out, fmt.Errorf("a submission of nothing: %w", gateway.ErrConflict)
	}
	err := l.write(ctx, true, len(s.Replies), func(c *conn) error {
		out = gateway.Submitted{}
		if s.Key != "" {
			if known, err := submitted(c, s.Key, s.Digest, &out); err != nil || known {
				return err
			}
		}
		t, err := l.addressee(c, s, now)
		if err != nil {
			return err
		}
		due, err := l.dueIn(c, t.conv, now)
		if err != nil {
			return err
		}
		if s.DueAt.After(due) {
			due = s.DueAt
		}
		due = s.Window.Due(due)
		if s.Human && s.Takeover != nil {
			if err := l.take(c, t, s.By, now, s.Takeover(t.platform, t.account), now); err != nil {
				return err
			}
		}
		ids, err := l.enqueue(c, t, &task{due: due, expires: s.ExpiresAt, asked: s}, s.Replies, now)
		if err != nil {
			return err
		}
		first, err := messageByID(c, ids[0])
		if err != nil {
			return err
		}
		out = gateway.Submitted{ID: ids[0], Conv: t.conv, Account: t.account, State: first.State, Messages: ids}
		if s.Key != "" {
			if _, err := c.exec("INSERT INTO submission (key, digest, task, at) VALUES (?, ?, ?, ?)", s.Key, s.Digest, ids[0], now); err != nil {
				return err
			}
		}
		return audit(c, now, s.By, "send", ids[0])
	})
	if err != nil {
		return gateway.Submitted{}, err
	}
	return out, nil
}

// addressee finds the conversation of a submission or makes it. What the request
// says of a known conversation teaches nothing: names are learned from platforms.
func (l *Ledger) addressee(c *conn, s *gateway.Submission, now time.Time) (*talk, error) {
	members := s.Pool
	if len(members) == 0 {
		members = []string{s.Account}
	}
	if s.Conv != "" {
		t, err := l.talkOf(c, s.Conv)
		switch {
		case err != nil:
			return nil, err
		case t.platform != s.Platform || !slices.Contains(members, t.account):
			return nil, fmt.Errorf("conversation of this account: %w", gateway.ErrNotFound)
		case t.chat == gateway.ChatAccount:
			return nil, fmt.Errorf("nobody is in the conversation: %w", gateway.ErrConflict)
		}
		return l.root(c, t)
	}
	var found *talk
	for _, account := range members {
		t, err := l.talksWith(c, chatOf{s.Platform, account, now, &s.Chat})
		if err != nil {
			return nil, err
		}
		if t != nil && (found == nil || t.newestAt > found.newestAt) {
			found = t
		}
	}
	if found != nil {
		return found, nil
	}
	t, err := l.resolve(c, chatOf{s.Platform, members[0], now, &s.Chat})
	if err != nil {
		return nil, err
	}
	return t, l.learn(c, t, s.Chat.Identities, now, false)
}

// talksWith is the conversation of an account with somebody; nil for none. An
// identity that was given up is an error: it may be another person's by now.
func (l *Ledger) talksWith(c *conn, h chatOf) (*talk, error) {
	for i := range h.Identities {
		a, err := l.alias(c, h.key(&h.Identities[i]))
		if err != nil {
			return nil, err
		}
		if a != nil && a.retired {
			return nil, gateway.ErrRetired
		}
	}
	t, _, err := l.find(c, h)
	return t, err
}

// Message returns a message with its attempts, oldest first.
func (l *Ledger) Message(ctx context.Context, id string) (*gateway.Message, []gateway.Attempt, error) {
	var m *message
	var attempts []gateway.Attempt
	err := l.people.snapshot(ctx, func(c *conn) (err error) {
		attempts = nil
		if m, err = messageByID(c, id); err != nil {
			return err
		}
		if m.TaskState, err = taskState(c, m); err != nil {
			return err
		}
		return c.query(`SELECT id, message, n, started_at, void_after, ended_at, outcome, external_id, code, detail FROM attempt
			WHERE message = ? ORDER BY n`, func(r row) error {
			a := gateway.Attempt{ID: r.str(0), Message: r.str(1), N: int(r.int(2)), StartedAt: r.time(3), VoidAfter: r.time(4), EndedAt: r.time(5)}
			if kind := r.str(6); kind != "" {
				a.Outcome = &gateway.Outcome{Kind: gateway.OutcomeKind(kind), ExternalID: r.str(7), Code: r.str(8), Detail: string(r.blob(9))}
			}
			attempts = append(attempts, a)
			return nil
		}, id)
	})
	if err != nil {
		return nil, nil, err
	}
	return &m.Message, attempts, nil
}

// CancelMessage takes back a message that waits or is held, and the parts behind it,
// durable. No attempt of it is open, so it certainly does not leave any more. One that was
// to be sent once more may be there by the call before: unknown, not cancelled.
func (l *Ledger) CancelMessage(ctx context.Context, id, by string, now time.Time) (conv string, state gateway.MessageState, err error) {
	err = l.act(ctx, 1, func(c *conn) error {
		m, err := messageByID(c, id)
		if err != nil {
			return err
		}
		conv = m.Conv
		d := newDeed(l, c, &store.MessageChange{Do: store.DeedCancel}, now)
		if err := d.one(id); err != nil {
			return err
		}
		if d.skipped > 0 {
			return fmt.Errorf("the message is %s: %w", m.State, gateway.ErrConflict)
		}
		if m, err = messageByID(c, id); err != nil {
			return err
		}
		state = m.State
		return audit(c, now, by, string(store.DeedCancel), id)
	})
	if err != nil {
		return "", "", err
	}
	return conv, state, nil
}
