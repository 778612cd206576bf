package gateway

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Collect lets an application be handed what somebody writes in several messages
// ("hi", "I have a question", "about order 12") as one delivery with one answer: a
// bundle. Off by default.
//
// A bundle begins with the head of a conversation and holds the messages that stand
// behind it, in the order of seq and without a gap. It is offered when the
// conversation was quiet for Wait, or when its first event has waited Longest, or at
// once when nothing can be added: it holds Max events or CollectBytes, or something
// follows that does not belong into it. That is what is no message (a change, a state,
// a notice) and what was offered or requeued before; those are offered alone, in their
// place, as are replays.
//
// What belongs together is written down before it is offered, and stays so in every
// try: an answer settles the events that its delivery carried, never one that came
// afterwards. All of them get the same verdict and the same number of tries; each is
// counted, and is a dead letter, by itself. What was requeued goes alone.
type Collect struct {
	// Wait is for how long nothing more must have come; 0 means that nothing is
	// collected.
	Wait time.Duration
	// Longest is how long the first event waits at most.
	Longest time.Duration
	// Max is how many events a bundle holds at most.
	Max int
}

// CollectBytes is how much the events of a bundle hold together, as recorded; one that
// is larger by itself goes alone. Half of what every broker must take.
const CollectBytes = 512 << 10

// On says that the application collects.
func (c Collect) On() bool { return c.Wait > 0 }

// Collectable says that a row may become part of a bundle: a live message that was
// never offered. Row must be filled in.
func (p *Pending) Collectable() bool {
	return p.Lead == 0 && p.Lane == LaneLive && p.Round == 0 && p.Tries == 0 && p.Requeue == 0 && p.Row != nil && p.Row.Kind == KindMessage
}

// Due is when a bundle is offered that may still grow, by when its first and its last
// event came. An event from a time ahead of the clock by more than Wait is not waited
// for: the clock went back.
func (c Collect) Due(first, last, now time.Time) time.Time {
	if last.Sub(now) > c.Wait {
		return now
	}
	at := last.Add(c.Wait)
	if end := first.Add(c.Longest); end.Before(at) {
		return end
	}
	return at
}

// Bundle says how many of the rows that wait in a conversation, from its head on and
// in order, are offered together, at least 1, and when: at once where due is not after
// now. Of rows that are more than Max, those behind do not matter.
func (c Collect) Bundle(rows []Pending, now time.Time) (n int, due time.Time) {
	if len(rows) == 0 {
		return 0, now
	}
	if !rows[0].Collectable() {
		return 1, now
	}
	// What comes stands before replays, so these end nothing.
	if i := slices.IndexFunc(rows, func(p Pending) bool { return p.Lane == LaneReplay }); i > 0 {
		rows = rows[:i]
	}
	for bytes := 0; n < len(rows) && n < c.Max && rows[n].Collectable(); n++ {
		if bytes += len(rows[n].Row.Content); n > 0 && bytes > CollectBytes {
			break
		}
	}
	if n < len(rows) || n >= c.Max { // nothing can be added
		return max(n, 1), now
	}
	return n, c.Due(rows[0].Row.ReceivedAt, rows[n-1].Row.ReceivedAt, now)
}

// Bundle is what the ledger says about a head that is to be offered.
type Bundle struct {
	// Rows are what is offered together, with their events; the first is the head,
	// the last one gives the delivery its name. Written down.
	Rows []Pending
	// NotBefore is set, and Rows empty, while more may come; Waiting is how many there
	// are so far.
	NotBefore time.Time
	Waiting   int
	// Moved: the conversation has another head, or none.
	Moved bool
	Head  *Pending
}

// bundled names a bundle by its last event and the seq of its first one.
func bundled(last string, first int64) string {
	return last + bundleMark + strconv.FormatInt(first, 10)
}

const bundleMark = ".c"

// IsBundle says whether a delivery id is that of a bundle.
func IsBundle(id string) bool {
	_, rest, _ := strings.Cut(id, ".")
	return strings.HasPrefix(rest, bundleMark[1:])
}

// ReasonCollected is why an event is settled that was answered together with a later
// one of its conversation.
const ReasonCollected = "collected"

// All are the events of a delivery, in order: those that were collected before this
// one, and this one.
func (e *Event) All() []*Event {
	return append(append(make([]*Event, 0, len(e.Collected)+1), e.Collected...), e)
}

// AllText is what was written in all of them, a line each; what has no text is left
// out.
func (e *Event) AllText() string {
	var lines []string
	for _, one := range e.All() {
		if one.Text != "" {
			lines = append(lines, one.Text)
		}
	}
	return strings.Join(lines, "\n")
}
