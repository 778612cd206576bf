package stream

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
)

// waitingRequests is how many requests of a kind wait for their turn.
const waitingRequests = 4096

// serve answers requests on a subject until ctx ends, at most parallel at once. What
// waits while more is asked for than can be answered is dropped, and its caller's
// patience ends.
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
					answer(ctx, m)
				}
			}
		})
	}
	<-ctx.Done()
	return ctx.Err()
}
