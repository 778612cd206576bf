package storetest

import (
	"errors"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// submitOne writes first, in a conversation that is known by one of its ids, under a
// key that may have been used.
func (m *model) submitOne() {
	conv, ok := pick(m, m.lastSeq, func(int64) bool { return true })
	if !ok {
		return
	}
	s := submission("", fmt.Sprint("key ", m.r.IntN(60)), []string{"1", "2", "3"}[:1+m.r.IntN(3)]...)
	s.Chat, s.Conv, s.Digest = gateway.Chat{}, conv, fmt.Append(nil, conv, len(s.Replies))
	for m.into[conv] != "" {
		conv = m.into[conv]
	}
	out, err := m.l.Submit(m.ctx, s, m.now)
	if was, used := m.keys[s.Key]; used {
		switch {
		case was.digest != string(s.Digest):
			m.same("another request under a key", errors.Is(err, gateway.ErrConflict), true)
		default:
			m.must(err)
			m.same("the same request", [2]any{out.Known, out.ID}, [2]any{true, was.id})
		}
		return
	}
	m.must(err)
	m.keys[s.Key] = keyed{string(s.Digest), out.ID}
	m.same("submitted", [3]any{out.Known, out.Conv, len(out.Messages)}, [3]any{false, conv, len(s.Replies)})
	m.take(conv, s.Replies)
	list := m.out[conv][len(m.out[conv])-len(s.Replies):]
	for i := range list {
		list[i].id, list[i].task = out.Messages[i], -len(m.keys)
	}
}

// keyed is what a key stands for.
type keyed struct{ digest, id string }

// cancelOne takes back one of the messages whose ids are known, if it waits.
func (m *model) cancelOne() {
	conv, ok := pick(m, m.out, func(ms []*sent) bool { return len(ms) > 0 })
	if !ok {
		return
	}
	i := m.r.IntN(len(m.out[conv]))
	s := m.out[conv][i]
	if s.id == "" {
		return
	}
	got, state, err := m.l.CancelMessage(m.ctx, s.id, "ops", m.now)
	if s.state != gateway.MessageWaiting {
		m.same("cancelled out of turn", errors.Is(err, gateway.ErrConflict), true)
		return
	}
	m.must(err)
	m.same("conversation", got, conv)
	m.same("state", state, gateway.MessageCancelled)
	m.cancelled++
	for _, p := range m.out[conv][i:] {
		if p == s || p.task == s.task && p.open {
			p.state, p.open = gateway.MessageCancelled, false
		}
	}
}
