package main

import (
	"context"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

func (m *memoryAPI) FindMessages(_ context.Context, q store.MessageQuery) (out store.MessagePage, err error) {
	err = m.enter()
	defer m.mu.Unlock()
	for _, msg := range m.messages {
		if q.State == "" || msg.State == q.State {
			out.Messages = append(out.Messages, msg)
		}
	}
	if q.Account != "" {
		out.Next = "7"
	}
	return out, err
}

func (m *memoryAPI) ChangeMessages(_ context.Context, r admin.ChangeRequest, by string) (out admin.Changed, err error) {
	err = m.enter()
	defer m.mu.Unlock()
	if len(r.Messages) > 0 && r.Messages[0] != sampleMessage {
		return admin.Changed{Skipped: 1}, err
	}
	out = admin.Changed{Matched: 120, Changed: 118, Skipped: 2, Sample: m.messages}
	if r.DryRun {
		out.Changed, out.Skipped = 0, 0
		return out, err
	}
	m.did("%s %v %+v at %s by %s over %s priority %d by %s", r.Do, r.Messages, r.Query.Account+r.Query.Key, instant(r.At), r.By, r.Over, r.Priority, by)
	return out, err
}

func (m *memoryAPI) ResolveMessage(_ context.Context, r store.Resolve, by string) error {
	err := m.enter()
	defer m.mu.Unlock()
	if r.Message != sampleMessage {
		return gateway.ErrConflict
	}
	m.did("resolved %s again %v rest %v by %s", r.Message, r.Again, r.Rest, by)
	return err
}

func (m *memoryAPI) Submit(_ context.Context, s *gateway.Submission) (gateway.Submitted, error) {
	err := m.enter()
	defer m.mu.Unlock()
	m.submitted = s
	m.did("sent %d to %q %v of %s by %s", len(s.Replies), s.Conv, s.Chat.Identities, s.Account, s.By)
	return gateway.Submitted{ID: sampleMessage, Conv: sampleConv, State: gateway.MessageWaiting, Messages: []string{sampleMessage}}, err
}

func (m *memoryAPI) Message(_ context.Context, id string) (*gateway.Message, []gateway.Attempt, error) {
	err := m.enter()
	defer m.mu.Unlock()
	for i := range m.messages {
		if m.messages[i].ID == id {
			return &m.messages[i], m.attempts, err
		}
	}
	return nil, nil, gateway.ErrNotFound
}

func (m *memoryAPI) Receipts(_ context.Context, id string) (out gateway.Receipts, err error) {
	err = m.enter()
	defer m.mu.Unlock()
	if id == sampleMessage {
		out = m.receipts
	}
	return out, err
}

func (m *memoryAPI) CancelMessage(_ context.Context, id, by string) (gateway.MessageState, error) {
	err := m.enter()
	defer m.mu.Unlock()
	if id != sampleMessage {
		return "", gateway.ErrConflict
	}
	m.did("cancelled %s by %s", id, by)
	return gateway.MessageCancelled, err
}
