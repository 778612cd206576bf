package stream

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go"
)

const sendPrefix = "cw.send."

// poolPrefix is how a pool is named as a sender; in a subject it is a token.
const poolPrefix = "pool:"

// SendSubject is where messages are asked for by request: cw.send.<account>, or
// cw.send.pool.<name> for a pool. Who may publish there can write to any customer of
// the account.
func SendSubject(sender string) string {
	if pool, ok := strings.CutPrefix(sender, poolPrefix); ok {
		return sendPrefix + "pool." + pool
	}
	return sendPrefix + sender
}

// senderOf is the sender of a SendSubject.
func senderOf(subject string) string {
	sender := strings.TrimPrefix(subject, sendPrefix)
	if pool, ok := strings.CutPrefix(sender, "pool."); ok {
		return poolPrefix + pool
	}
	return sender
}

// ServeSends answers requests to send until ctx ends, at most parallel at once: fn is
// given the sender and the request's body, and returns the answer once the messages are
// on disk. A request without a reply subject is carried out too; nobody is told.
func (s *Streams) ServeSends(ctx context.Context, parallel int, fn func(ctx context.Context, sender string, body []byte) (answer []byte)) error {
	return s.serve(ctx, "requests to send", sendPrefix+">", parallel, func(ctx context.Context, m *nats.Msg) {
		answer := fn(ctx, senderOf(m.Subject), m.Data)
		if m.Reply != "" {
			_ = m.Respond(answer) // when the connection is gone, the caller asks again with its key
		}
	})
}
