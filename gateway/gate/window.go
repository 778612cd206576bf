package gate

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// How much lies in the stream that no worker has yet.
const (
	windowLeast = 16                    // offers
	windowTime  = 10 * time.Millisecond // of the pace at which they are taken
	windowShare = 16                    // or a sixteenth of what workers have
	// The broker is asked again after windowSoon while workers take all there is, after
	// windowOften while they take something, and ever more seldom while they do not.
	windowSoon   = 5 * time.Millisecond
	windowOften  = 50 * time.Millisecond
	windowSeldom = 250 * time.Millisecond
)

// window bounds the offers that lie in the stream. The stream hands out in the order
// in which it was offered, the gate by how long an event waits; so what lies in the
// stream is little more than what keeps the workers busy, and a conversation whose
// turn comes does not stand behind thousands that were offered before it. All that lies
// there is what a conversation with much to do waits for at each of its turns: 31 ms beside
// others with handlers that do nothing while 25 ms worth of them lay there, and 19 with 10
// (5 % of 50,000 events in one conversation). An event that is settled makes room for the
// next at once, so as much as a few rounds of the gate (1 to 3 ms) keeps workers busy; with
// 4 ms worth, a tenth fewer events were settled in a second.
type window struct {
	limit int // of open offers
	asked time.Time
	again time.Duration
	taken uint64 // the broker's last sequence handed out, when asked
}

// room is how many offers may be made now; 0 means to look again after wait at the
// latest. It grows with what workers take, whose number nobody tells.
func (g *Gate) room(ctx context.Context) (n int, wait time.Duration) {
	if n = g.window.limit - len(g.opened); n > 0 {
		return n, 0
	}
	if wait = g.window.again - g.o.Now().Sub(g.window.asked); wait > 0 && wait <= windowSeldom {
		return 0, wait
	}
	state, err := g.o.Stream.GateState(ctx, g.o.App.Name)
	if err != nil { // the broker is away: an offer finds out, and rests
		return 1, 0
	}
	g.window.learn(&state, g.o.Now())
	if n = g.window.limit - len(g.opened); n > 0 {
		return n, 0
	}
	return 0, g.window.again
}

func (w *window) learn(s *gateway.GateState, now time.Time) {
	lying := max(int(s.Messages)-s.Unacked, 0)
	ahead := max(windowLeast, s.Unacked/windowShare)
	since := now.Sub(w.asked)
	switch {
	case s.Delivered > w.taken && since < time.Second:
		ahead = max(ahead, int(float64(s.Delivered-w.taken)*float64(windowTime)/float64(since)))
		w.again = windowOften
	default:
		w.again = min(max(2*w.again, windowOften), windowSeldom)
	}
	if lying < ahead/2 { // the workers may have room for more than there was
		w.again = windowSoon
	}
	w.limit, w.asked, w.taken = s.Unacked+ahead, now, s.Delivered
}
