package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// Middleware wraps a Handler in another: it sees the event before, and the replies
// and the error after. Recover, Log, Observe and Trace are some.
type Middleware func(Handler) Handler

// Chain puts middleware around a handler; the first one is the outermost. A panic
// of h itself comes to all of them as an error, as by Recover.
func Chain(h Handler, use ...Middleware) Handler {
	h = Recover(h)
	for _, m := range slices.Backward(use) {
		h = m(h)
	}
	return h
}

// Use puts middleware around the handler that Run is given, the first one
// outermost; called again it adds further inside. It must be called before Run.
func (w *Worker) Use(use ...Middleware) { w.use = append(w.use, use...) }

// PanicError is the error of a handler that panicked, a failed try. It names the
// kind of the value and the place, and what the runtime said; never another value,
// which may hold what a customer wrote.
type PanicError struct {
	what, place string
	// Stack is where it happened, for the bot's own log.
	Stack []byte
}

func (e *PanicError) Error() string { return "panic: " + e.what + " at " + e.place }

// Recover makes a panic of the handler a *PanicError. Run and Chain do so by
// themselves; it is for middleware that wants the error further inside.
func Recover(h Handler) Handler {
	return func(ctx context.Context, ev *gateway.Event) (replies []gateway.Reply, err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			e := &PanicError{what: fmt.Sprintf("%T", v), place: panicPlace(), Stack: debug.Stack()}
			if r, ok := v.(runtime.Error); ok {
				e.what = r.Error()
			}
			replies, err = nil, e
		}()
		return h(ctx, ev)
	}
}

// panicPlace finds the function that panicked: the first one below the runtime's
// own on the stack of a deferred call.
func panicPlace() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicking := false; ; {
		f, more := frames.Next()
		if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		panicking = panicking || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}
