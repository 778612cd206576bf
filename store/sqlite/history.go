package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// Conversation is what an operator sees of one conversation: its newest events
// and messages, at most limit of each, oldest first, and no text.
func (l *Ledger) Conversation(ctx context.Context, conv string, limit int) (*gateway.Conversation, error) {
	out := &gateway.Conversation{Conv: conv, Events: []gateway.ConversationEvent{}, Messages: []gateway.ConversationMessage{}}
	limit = limitOf(limit)
	err := l.people.snapshot(ctx, func(c *conn) error {
		key, found, err := keyOf(c, conv)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("conversation: %w", gateway.ErrNotFound)
		}
		_, err = c.one(`SELECT platform, account, chat,
			max(last_seq, coalesce((SELECT max(ord) FROM event WHERE c = conversation.c), 0)), last_human_at
			FROM conversation WHERE c = ?`, func(r row) {
			out.Platform, out.Account, out.Chat, out.LastSeq = r.str(0), r.str(1), gateway.ChatKind(r.str(2)), r.int(3)
			if at := r.time(4); !at.IsZero() {
				out.LastHumanAt = &at
			}
		}, key)
		if err != nil {
			return err
		}
		if out.Identities, err = identities(c, key); err != nil {
			return err
		}
		state, _, err := stateOf(c, key)
		if err != nil {
			return err
		}
		if state.Rev > 0 || state.Owner != "" {
			out.State = &state
		}
		if err := conversationMerges(c, out, key); err != nil {
			return err
		}
		if err := conversationEvents(c, out, key, limit); err != nil {
			return err
		}
		return conversationMessages(c, out, limit)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func conversationMerges(c *conn, out *gateway.Conversation, key int64) error {
	_, err := c.one("SELECT v.conv FROM conversation u JOIN conversation v ON v.c = u.into_c WHERE u.c = ? AND u.into_c >= 0",
		func(r row) { out.MergedInto = r.str(0) }, key)
	if err != nil {
		return err
	}
	return c.query("SELECT conv, merged_at, draining FROM conversation WHERE into_c = ? AND into_c >= 0 ORDER BY merged_at DESC, c", func(r row) error {
		out.Merged = append(out.Merged, gateway.MergedConversation{Conv: r.str(0), At: r.time(1), Draining: r.int(2) == 1})
		return nil
	}, key)
}

// newestEvents are the newest of a conversation, oldest first. A seq grows with n, and
// what has none has -n: so the newest of each kind stand at an end of event_conv, and a
// conversation with very many events is not sorted.
const newestEvents = `SELECT n, id, run, ord, kind, origin, received_at, judged, content, occurred_at FROM event WHERE n IN (
	SELECT n FROM (
		SELECT n FROM (SELECT n FROM event WHERE c = ? AND ord > 0 ORDER BY ord DESC LIMIT ?)
		UNION ALL SELECT n FROM (SELECT n FROM event WHERE c = ? AND ord < 0 ORDER BY ord LIMIT ?)
	) ORDER BY n DESC LIMIT ?) ORDER BY n`

func conversationEvents(c *conn, out *gateway.Conversation, key int64, limit int) error {
	var ns []int64
	err := c.query(newestEvents, func(r row) error {
		ns = append(ns, r.int(0))
		says := contentOf(r.blob(8))
		out.Events = append(out.Events, gateway.ConversationEvent{Event: eventID(r[1]), Run: r.str(2), Seq: max(r.int(3), 0),
			Kind: gateway.Kind(r.str(4)), Origin: gateway.Origin(r.str(5)), ReceivedAt: r.time(6), Echo: gateway.Judgement(r.str(7)),
			Type: says.Type, Observed: says.Observed, Superseded: says.Superseded})
		if at := r.time(9); !at.IsZero() {
			out.Events[len(out.Events)-1].OccurredAt = &at
		}
		if e := &out.Events[len(out.Events)-1]; e.Echo == "" && says.Echo.Otherwise == gateway.JudgedUndecided {
			e.Echo = gateway.JudgedUndecided
		}
		return nil
	}, key, limit, key, limit, limit)
	if err != nil {
		return err
	}
	for i, n := range ns {
		e := &out.Events[i]
		set := func(r row) error {
			if e.States == nil {
				e.States, e.Verdicts = make(map[string]gateway.EventState), make(map[string]gateway.EventVerdict)
			}
			e.States[r.str(0)] = gateway.EventState(r.str(1))
			e.Verdicts[r.str(0)] = gateway.EventVerdict{Reason: r.str(2), Tries: int(r.int(3)), At: r.time(4)}
			return nil
		}
		if err := c.query("SELECT app, state, reason, tries, at FROM settled WHERE n = ?", set, n); err != nil {
			return err
		}
		err := c.query("SELECT app, try, at, reason, detail FROM try WHERE n = ? ORDER BY at, app, requeue, try", func(r row) error {
			e.Tries = append(e.Tries, gateway.EventTry{App: r.str(0), Try: int(r.int(1)), At: r.time(2), Reason: r.str(3), Error: string(r.blob(4))})
			return nil
		}, n)
		if err != nil {
			return err
		}
	}
	return pendingStates(c, out, key, ns)
}

// pendingStates adds what still waits: pending rows have the application first
// in their key, so each application of the ledger is asked.
func pendingStates(c *conn, out *gateway.Conversation, key int64, ns []int64) error {
	at := make(map[int64]int, len(ns))
	for i, n := range ns {
		at[n] = i
	}
	apps, err := pendingApps(c)
	if err != nil {
		return err
	}
	for _, app := range apps {
		err = c.query("SELECT n, blocked_at > 0, tries, next_at FROM pending WHERE app = ? AND c = ?", func(r row) error {
			if i, ok := at[r.int(0)]; ok {
				e := &out.Events[i]
				if e.Waits == nil {
					e.Waits = make(map[string]gateway.EventWait)
				}
				wait := gateway.EventWait{Tries: int(r.int(2))}
				if next := r.time(3); !next.IsZero() {
					wait.NextAt = &next
				}
				e.Waits[app] = wait
				if e.States == nil {
					e.States = make(map[string]gateway.EventState)
				}
				if e.States[app] = gateway.EventPending; r.int(1) == 1 {
					e.States[app] = gateway.EventBlocked
				}
			}
			return nil
		}, app, key)
		if err != nil {
			return err
		}
	}
	return nil
}

func conversationMessages(c *conn, out *gateway.Conversation, limit int) error {
	err := c.query("SELECT * FROM (SELECT "+messageColumns+", row FROM message WHERE conv = ? ORDER BY row DESC LIMIT ?) ORDER BY row",
		func(r row) error {
			m := scanMessage(r)
			out.Messages = append(out.Messages, gateway.ConversationMessage{Message: m.ID, Event: m.Event, Part: m.Part, Type: m.Reply.Type, State: m.State,
				Reason: m.Reason, Delivery: m.Delivery, Failed: m.Failed, Attempts: m.Attempts, DueAt: m.DueAt})
			return nil
		}, out.Conv, limit)
	if err != nil {
		return err
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		err := c.query("SELECT started_at, ended_at, outcome, code FROM attempt WHERE message = ? ORDER BY n", func(r row) error {
			call := gateway.MessageCall{StartedAt: r.time(0), Outcome: gateway.OutcomeKind(r.str(2)), Code: r.str(3)}
			if at := r.time(1); !at.IsZero() {
				call.EndedAt = &at
			}
			m.Calls = append(m.Calls, call)
			return nil
		}, m.Message)
		if err != nil {
			return err
		}
		if m.Statuses, err = statusesOf(c, m.Message); err != nil {
			return err
		}
		if out.Chat == gateway.ChatGroup {
			if m.Members, err = memberReceipts(c, m.Message); err != nil {
				return err
			}
		}
	}
	return nil
}

// Receipts is what the platform told of a message; see store.SubmitLedger.
func (l *Ledger) Receipts(ctx context.Context, id string) (out gateway.Receipts, err error) {
	err = l.people.snapshot(ctx, func(c *conn) error {
		if out.Statuses, err = statusesOf(c, id); err != nil {
			return err
		}
		out.Members, err = memberReceipts(c, id)
		return err
	})
	return out, err
}

// statusesOf are the statuses of a message as a whole.
func statusesOf(c *conn, message string) (out []gateway.SeenStatus, err error) {
	err = c.query("SELECT state, at FROM receipt WHERE message = ?", func(r row) error {
		out = append(out, gateway.SeenStatus{State: gateway.StatusState(r.str(0)), At: r.time(1)})
		return nil
	}, message)
	// Platforms tell whole seconds, in which a message is often sent, delivered and read.
	place := func(s gateway.StatusState) int {
		if s == gateway.StatusFailed { // it has no rank: the end of a way
			return math.MaxInt
		}
		return s.Rank()
	}
	slices.SortFunc(out, func(a, b gateway.SeenStatus) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(place(a.State), place(b.State)))
	})
	return out, err
}

// memberReceipts is how far a message to a group got with each member.
func memberReceipts(c *conn, message string) (out []gateway.MemberReceipt, err error) {
	err = c.query("SELECT member, state, at, problem FROM member_receipt WHERE message = ? ORDER BY member, at, state", func(r row) error {
		kind, value, _ := strings.Cut(r.str(0), ":")
		if n := len(out); n == 0 || out[n-1].Member.Kind != kind || out[n-1].Member.Value != value {
			out = append(out, gateway.MemberReceipt{Member: gateway.Identity{Kind: kind, Value: value}})
		}
		m := &out[len(out)-1]
		if b := r.blob(3); len(b) > 0 {
			var p gateway.Problem
			if err := json.Unmarshal(b, &p); err != nil {
				return err
			}
			m.Failed = &p
		} else if gateway.StatusState(r.str(1)) == gateway.StatusFailed {
			m.Failed = &gateway.Problem{}
		}
		if s := gateway.StatusState(r.str(1)); s.Rank() > m.Delivery.Rank() || m.At.IsZero() {
			m.At = r.time(2)
			if s != gateway.StatusFailed {
				m.Delivery = s
			}
		}
		return nil
	}, message)
	return out, err
}

// listed is what a line of a history shows of an event's content.
type listed struct {
	Type       string           `json:"type"`
	Observed   gateway.Observed `json:"observed"`
	Superseded string           `json:"superseded"`
	Echo       gateway.Echo     `json:"echo"`
}

// contentOf reads it; nothing when it cannot be read, so that one odd row does not
// hide a history.
func contentOf(content []byte) (l listed) {
	if json.Unmarshal(content, &l) != nil {
		return listed{}
	}
	return l
}
