package stream

import (
	"context"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"
)

// waitingRequests is how many requests of a kind wait for their turn.
const waitingRequests = 4096

// inboxes is what the reply subject of a request begins with. The gateway may publish
// anywhere, and who asks names the subject of the answer: with any other one a worker of
// one application could fill the gates of another, or speak to the broker in our name.
const inboxes = "_INBOX"

// serve answers requests on a subject until ctx ends, at most parallel at once. What
// waits while more is asked for than can be answered is dropped, and its caller's
// patience ends. What does not want its answer in an inbox is not looked at.
func (s *Streams) serve(ctx context.Context, what, subject string, parallel int, answer func(ctx context.Context, m *nats.Msg)) error {
	in := make(chan *nats.Msg, waitingRequests)
	sub, err := s.nc.ChanSubscribe(subject, in)
	if err != nil {
		return unavailable(what, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var answering sync.WaitGroup
	defer answering.Wait()
	for range parallel {
		answering.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case m := <-in:
					if m.Reply != "" && !strings.HasPrefix(m.Reply, inboxes) {
						s.log.Warn("request.refused", zap.String("subject", m.Subject), zap.String("why", "its answer would not go to an inbox"))
						continue
					}
					answer(ctx, m)
				}
			}
		})
	}
	<-ctx.Done()
	return ctx.Err()
}
