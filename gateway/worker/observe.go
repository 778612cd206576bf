package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Observer is told of every call of the handler; a bot's metrics implement it. It
// is called by all goroutines that handle, and must not keep the event.
type Observer interface {
	// Began is called before the handler, Ended after it. ctx is the handler's.
	Began(ctx context.Context, ev *gateway.Event)
	Ended(ctx context.Context, ev *gateway.Event, h Handled)
}

// Handled is how one call of the handler ended.
type Handled struct {
	// Verdict is that of the answer which will be published, Replies how many it has.
	Verdict gateway.Verdict
	Replies int
	// Err is the handler's error, nil for done. It may hold what a customer wrote.
	Err  error
	Took time.Duration
}

// Observe tells o of every call of the handler.
func Observe(o Observer) Middleware {
	return func(h Handler) Handler {
		return func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			o.Began(ctx, ev)
			began := time.Now()
			replies, err := h(ctx, ev)
			a := settle(ctx, ev, replies, err)
			o.Ended(ctx, ev, Handled{Verdict: a.Verdict, Replies: len(a.Replies), Err: err, Took: time.Since(began)})
			return replies, err
		}
	}
}

// Log writes one line "event.handled" for every call of the handler: info for
// done, warning for anything else, with the stack of a panic. It writes ids,
// numbers and the verdict; never a text, a customer's name or number, or the words
// of an error, which the gateway keeps for the operator (causeway dead show).
func Log(log *slog.Logger) Middleware { return Observe(logger{log}) }

type logger struct{ log *slog.Logger }

func (logger) Began(context.Context, *gateway.Event) {}

func (l logger) Ended(ctx context.Context, ev *gateway.Event, h Handled) {
	level, info := slog.LevelInfo, Info(ctx)
	attrs := []slog.Attr{
		slog.String("event", ev.Delivery), slog.String("conv", ev.Conv), slog.Int64("seq", ev.Seq),
		slog.String("kind", string(ev.Kind)), slog.Int("try", info.Try), slog.String("verdict", string(h.Verdict)),
		slog.Int("replies", h.Replies), slog.Duration("took", h.Took),
	}
	if h.Verdict != gateway.VerdictDone && h.Verdict != verdictAnswered {
		level = slog.LevelWarn
	}
	if p := (*PanicError)(nil); errors.As(h.Err, &p) {
		level = slog.LevelError
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	l.log.LogAttrs(ctx, level, "event.handled", attrs...)
}

// Tracer begins the work on an event as a part of the trace that the gateway
// named, in the form of the header traceparent of W3C Trace Context ("" when it
// named none), and returns the context for the handler and what to call at its
// end with the handler's error. With OpenTelemetry it is
//
//	func begin(ctx context.Context, ev *gateway.Event, traceparent string) (context.Context, func(error)) {
//		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
//		ctx, span := otel.Tracer("bot").Start(ctx, "handle "+string(ev.Kind))
//		return ctx, func(error) { span.End() }
//	}
//
// The trace is the same in every try of the event.
type Tracer func(ctx context.Context, ev *gateway.Event, traceparent string) (context.Context, func(err error))

// Trace calls begin around the handler.
func Trace(begin Tracer) Middleware {
	return func(h Handler) Handler {
		return func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			ctx, end := begin(ctx, ev, Info(ctx).Traceparent)
			replies, err := h(ctx, ev)
			end(err)
			return replies, err
		}
	}
}
