package stream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"
)

// Revive makes an application's consumer anew, so that every offer in the stream
// is handed out again. It is for offers that the consumer takes for acked
// although they are there: a stream that lost its end on a full disk gives the
// same sequences out again, and the consumer, which kept its own state, never
// hands those out (seen on nats-server 2.15.2). Workers ask again by themselves.
func (s *Streams) Revive(ctx context.Context, app string) error {
	name := ReadyName(app)
	if err := s.need(ctx, name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	if err := s.js.DeleteConsumer(ctx, name, app); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return s.check(name, err)
	}
	s.log.Warn("gate.revived", zap.String("app", app))
	return s.Ensure(ctx)
}
