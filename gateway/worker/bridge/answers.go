package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// errAnswered is the cause when the answer came by the other way.
var errAnswered = errors.New("answered") //nolint:gochecknoglobals // a sentinel error is a constant

// answerWait is for the broker's acknowledgement of an answer.
const answerWait = 5 * time.Second

// AnswerTo returns what takes the answer of the one delivery that a reply token is
// for; false when the token is not of this application. take returns nil when the
// answer is in CW_REPLY: it counts if it is the first of its delivery. Errors: one
// wrapping gateway.ErrBadAnswer names the field; gateway.ErrUnavailable when the
// broker did not confirm, then the bot posts again: a second copy is late.
func (b *Bridge) AnswerTo(token string) (take func(ctx context.Context, body []byte) error, ok bool) {
	t, ok := b.open(token)
	return func(ctx context.Context, body []byte) error { return b.answer(ctx, t, body) }, ok
}

func (b *Bridge) answer(ctx context.Context, t ticket, body []byte) error {
	subject, err := t.subject()
	if err != nil {
		return err // sealed by us, so this cannot be
	}
	a, err := gateway.ParseAnswerTo(t.delivery, body)
	if err != nil {
		return err
	}
	encoded, err := worker.Encode(a)
	if err != nil {
		return fmt.Errorf("%w: not the JSON of an answer", gateway.ErrBadAnswer)
	}
	b.mu.Lock()
	pub := b.pub
	b.mu.Unlock()
	if pub == nil {
		return fmt.Errorf("the broker is not open: %w", gateway.ErrUnavailable)
	}
	b.o.Boundary("bridge.answering")
	err = pub.Publish(ctx, answerWait, &nats.Msg{Subject: subject, Data: encoded})[0].Err
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: larger than the broker takes", gateway.ErrBadAnswer)
	case err != nil:
		return fmt.Errorf("%w: the answer is not confirmed", gateway.ErrUnavailable)
	}
	b.o.Boundary("bridge.answered")
	b.waiting.answered(t.delivery)
	b.log.Debug("bridge.answered", "conv", t.conv, "event", t.delivery, "verdict", string(a.Verdict))
	return nil
}

// waiting are the handlers at work, by delivery: the broker may hand one delivery to
// two of them after a freeze. Its methods are safe for concurrent use.
type waiting struct {
	mu   sync.Mutex
	open map[string]map[*waiter]bool
}

type waiter struct{ cancel context.CancelCauseFunc }

// begin registers a handler; its context ends with errAnswered. end takes it out.
func (w *waiting) begin(ctx context.Context, delivery string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &waiter{cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[delivery] == nil {
		w.open[delivery] = map[*waiter]bool{}
	}
	w.open[delivery][one] = true
	return ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.open[delivery], one); len(w.open[delivery]) == 0 {
			delete(w.open, delivery)
		}
		cancel(nil)
	}
}

// answered ends the handlers of a delivery: their answer is stored.
func (w *waiting) answered(delivery string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.open[delivery] {
		one.cancel(errAnswered)
	}
}
