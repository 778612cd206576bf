package egress

import (
	"errors"
	"sync"
	"time"
)

// Errors by which the guard refuses a write. They reach the caller as words.
//
//nolint:gochecknoglobals // sentinel errors are constants
var (
	errVoid   = errors.New("void")
	errStale  = errors.New("connection was closed by the peer while idle")
	errSealed = errors.New("call is over")
)

// guard watches the writes of one call. The connection asks begin before and
// tells wrote after every Write; Do ends it, and from then on every write is
// refused, so that what end says stays true.
type guard struct {
	now func() time.Time
	// mono is voidAfter on the monotonic clock, wall on the wall clock; both
	// zero when there is no limit.
	mono, wall time.Time

	mu       sync.Mutex
	attached bool // a connection of this package carries the call
	headers  bool // httptrace saw WroteHeaders
	writing  bool // a Write has begun and not returned
	bytes    int64
	voided   bool
	sealed   bool
}

func newGuard(now func() time.Time, voidAfter time.Time) *guard {
	g := &guard{now: now}
	if voidAfter.IsZero() {
		return g
	}
	t := now()
	g.wall = voidAfter.Round(0)
	// Where voidAfter came out of a store it has no monotonic part; then the
	// distance by the wall clock, taken now, is carried over.
	g.mono = t.Add(min(voidAfter.Sub(t), g.wall.Sub(t.Round(0))))
	return g
}

// left is how long writing may still begin; negative when it is over. ok is
// false when there is no limit.
func (g *guard) left() (left time.Duration, ok bool) {
	if g.wall.IsZero() {
		return 0, false
	}
	t := g.now()
	return min(g.mono.Sub(t), g.wall.Sub(t.Round(0))), true
}

func (g *guard) over() bool {
	left, ok := g.left()
	return ok && left <= 0
}

// attach says that a connection of this package carries the call from now on.
// The transport may give the call a second connection when nothing was written
// to the first; the header buffered for the first is then forgotten.
func (g *guard) attach(ours bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.attached = ours
	if g.bytes == 0 && !g.writing {
		g.headers = false
	}
}

func (g *guard) wroteHeaders() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.headers = true
}

// begin allows or refuses one Write. It is the last thing done before the
// socket's own Write.
func (g *guard) begin() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.sealed:
		return errSealed
	case g.over():
		g.voided = true
		return errVoid
	}
	g.writing = true
	return nil
}

func (g *guard) wrote(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writing = false
	g.bytes += int64(n)
}

// expire voids the call when its time is over and nothing was written; the
// caller then cancels it. A dial or handshake that hangs ends this way.
func (g *guard) expire() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writing || g.bytes > 0 || g.sealed || !g.over() {
		return false
	}
	g.voided = true
	return true
}

// end closes the guard: no byte is written after it returned. written is false
// only when certainly no byte of the request was.
func (g *guard) end() (written, voided bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sealed = true
	written = g.writing || g.bytes > 0 || (!g.attached && g.headers)
	return written, g.voided
}
