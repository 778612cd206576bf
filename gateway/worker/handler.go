package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Handler answers one event. ctx ends when the application's handler_max has
// passed or the worker stops; Info tells more about the delivery. It is called
// by Concurrency goroutines at a time, never twice at once for one conversation.
type Handler func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error)

// ending is an error that says how the delivery ends.
type ending struct {
	verdict gateway.Verdict
	after   time.Duration
	err     error
}

func (e *ending) Error() string {
	if e.err == nil {
		return string(e.verdict)
	}
	return e.err.Error()
}

func (e *ending) Unwrap() error { return e.err }

// Retry asks for the next try not before after; 0 leaves it to the
// application's delays. It spends a try.
func Retry(err error, after time.Duration) error {
	return &ending{verdict: gateway.VerdictRetry, after: after, err: err}
}

// Dead gives the event up: it becomes a dead letter at once.
func Dead(err error) error { return &ending{verdict: gateway.VerdictDead, err: err} }

// Handback gives the event to another worker, or to this one later, without
// spending a try.
func Handback(after time.Duration) error {
	return &ending{verdict: gateway.VerdictHandback, after: after}
}

// verdictAnswered is no verdict of an answer: there is one already.
const verdictAnswered gateway.Verdict = "answered"

// Answered says that the answer of this delivery is in CW_REPLY already, published
// by the handler itself or by somebody it waited for and confirmed by the broker: it
// is acknowledged and nothing is published. The bridge, whose answers come by another
// way than its handler's end, returns it.
func Answered() error { return &ending{verdict: verdictAnswered} }

// ErrHandlerMax is the cause of a handler's ended context when it worked longer
// than the application allows.
var ErrHandlerMax = errors.New("handler worked longer than handler_max") //nolint:gochecknoglobals // a sentinel error is a constant

// ErrTooLate is the cause of a handler's ended context when the code ended that
// came with its event.
var ErrTooLate = errors.New("the code that came with the event has ended") //nolint:gochecknoglobals // a sentinel error is a constant

// errNoPlace: an event was fetched ahead, and the handlers before it took long.
var errNoPlace = errors.New("no handler was free in time") //nolint:gochecknoglobals // a sentinel error is a constant

// errStopping is the cause when the worker stops and the grace is over.
var errStopping = errors.New("worker is stopping") //nolint:gochecknoglobals // a sentinel error is a constant

// Answer calls the handler as Run does and makes the answer of what it returns:
// an error or a panic is a retry, replies that the gateway would refuse are a
// retry that says why. Used by Run and by tests of bots.
func Answer(ctx context.Context, h Handler, ev *gateway.Event) gateway.Answer {
	replies, err := Recover(h)(ctx, ev)
	return settle(ctx, ev, replies, err)
}

// settle makes the answer of what a handler returned.
func settle(ctx context.Context, ev *gateway.Event, replies []gateway.Reply, err error) gateway.Answer {
	a := gateway.Answer{Event: ev.Delivery, Verdict: gateway.VerdictDone, Replies: []gateway.Reply{}}
	var end *ending
	switch {
	case err == nil:
		if err := checkReplies(replies); err != nil {
			a.Verdict, a.Error = gateway.VerdictRetry, err.Error()
		} else if len(replies) > 0 {
			a.Replies = replies
		}
	case errors.As(err, &end):
		a.Verdict, a.AfterMS = end.verdict, clampMS(end.after)
		if end.err != nil {
			a.Error = end.err.Error()
		}
	case errors.Is(context.Cause(ctx), errStopping):
		a.Verdict, a.Error = gateway.VerdictHandback, errStopping.Error()
	case errors.Is(context.Cause(ctx), ErrTooLate):
		a.Verdict, a.Error = gateway.VerdictDead, ErrTooLate.Error()
	case errors.Is(context.Cause(ctx), ErrHandlerMax):
		a.Verdict, a.Error = gateway.VerdictRetry, ErrHandlerMax.Error()
	default:
		a.Verdict, a.Error = gateway.VerdictRetry, err.Error()
	}
	return a
}

// checkReplies refuses what gateway.ParseAnswer would refuse, so that a wrong
// reply is a failed try with a reason and not a silent one.
func checkReplies(replies []gateway.Reply) error {
	if len(replies) > gateway.MaxReplies {
		return fmt.Errorf("%d replies, at most %d are possible", len(replies), gateway.MaxReplies)
	}
	for i := range replies {
		if err := gateway.CheckReply(&replies[i]); err != nil {
			return fmt.Errorf("replies[%d].%w", i, err)
		}
	}
	return nil
}

func clampMS(d time.Duration) int64 {
	return min(max(d, 0), 24*time.Hour).Milliseconds()
}

// Delivery says which delivery of an event this is.
type Delivery struct {
	// ID names what the answer answers: the same in every delivery of the
	// event, another one in a replay or after a requeue.
	ID string
	// Try counts from 1 and grows with failed tries; Round with every offer;
	// Delivered is how often the broker handed this offer out.
	Try, Round, Delivered int
	// Deadline is when the code ends that came with the event (Content.Handle of
	// kind welcome), and with it the handler's context; zero for most events. What
	// is answered later counts for nothing.
	Deadline time.Time
	// Body is the event as it was published, Header its headers (ce-id,
	// Cw-Seq and the others of package stream), for handlers that pass it on. Neither is to
	// be changed.
	Body   []byte
	Header map[string][]string
	// Traceparent is the trace that the gateway named (W3C Trace Context); the same
	// trace in every try of the event.
	Traceparent string
}

type deliveryKey struct{}

// WithDelivery gives a context what Info returns, for tests that call a handler
// themselves.
func WithDelivery(ctx context.Context, d Delivery) context.Context {
	return context.WithValue(ctx, deliveryKey{}, d)
}

// Info returns what is known of the delivery a handler works on; the zero value
// outside of Run.
func Info(ctx context.Context) Delivery {
	d, _ := ctx.Value(deliveryKey{}).(Delivery)
	return d
}
