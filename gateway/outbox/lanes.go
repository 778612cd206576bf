package outbox

import (
	"container/heap"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// lanes keeps which conversations are at work, waiting and due. It belongs to the
// sender's goroutine. What is due later costs nothing before: there may be many
// conversations with messages for next week.
type lanes struct {
	fresh []string // queued, not in line yet, or to be ranked anew there
	lines lines
	busy  map[string]bool
	again map[string]bool // queued, or woken while busy
	due   map[string]*alarm
	times alarms // the same ones, the next one first
	done  chan rested
}

func newLanes(concurrency int) *lanes {
	return &lanes{busy: map[string]bool{}, again: map[string]bool{}, due: map[string]*alarm{}, lines: newLines(),
		done: make(chan rested, concurrency)}
}

func (l *lanes) offer(conv string) {
	if a := l.due[conv]; a != nil {
		delete(l.due, conv)
		heap.Remove(&l.times, a.place)
	}
	if l.again[conv] {
		if _, stands := l.lines.stands[conv]; stands { // by what it had then
			l.fresh = append(l.fresh, conv)
		}
		return
	}
	l.again[conv] = true
	if !l.busy[conv] {
		l.fresh = append(l.fresh, conv)
	}
}

// rankedAtOnce bounds how many conversations are ranked between two looks around.
const rankedAtOnce = 1000

// lineUp puts new ones into their lines. rank says where; it is not asked while there is
// room for all, since nobody goes before another then.
func (l *lanes) lineUp(room int, rank func(convs []string) map[string]gateway.Rank) {
	convs := l.fresh[:min(len(l.fresh), rankedAtOnce)]
	var ranks map[string]gateway.Rank
	if len(l.busy)+len(l.lines.stands)+len(l.fresh) > room {
		ranks = rank(convs)
	}
	for _, c := range convs {
		if !l.again[c] || l.busy[c] {
			continue // was to be ranked anew, and had its turn before
		}
		r, ranked := ranks[c]
		if _, stands := l.lines.stands[c]; ranked || !stands {
			l.lines.add(c, r)
		}
	}
	if l.fresh = l.fresh[len(convs):]; len(l.fresh) == 0 {
		l.fresh = nil // its array goes
	}
}

// pop is the next one to work on; "" when nobody waits.
func (l *lanes) pop() string {
	conv := l.lines.next()
	if conv != "" {
		delete(l.again, conv)
		l.busy[conv] = true
	}
	return conv
}

func (l *lanes) finish(r rested) {
	delete(l.busy, r.conv)
	switch {
	case l.again[r.conv]:
		l.fresh = append(l.fresh, r.conv)
	case !r.again.IsZero():
		l.later(r.conv, r.again)
	}
}

// later notes when it is time for a conversation that is neither queued nor due yet.
func (l *lanes) later(conv string, at time.Time) {
	a := &alarm{at: at, conv: conv}
	l.due[conv] = a
	heap.Push(&l.times, a)
}

// longestSleep bounds the wait for what is due: the clock may be set forward.
const longestSleep = time.Minute

// ripe queues what is due and returns how long until the next.
func (l *lanes) ripe(now time.Time) time.Duration {
	for len(l.times) > 0 {
		next := l.times[0]
		if d := next.at.Sub(now); d > 0 {
			return min(d, longestSleep)
		}
		l.offer(next.conv)
	}
	return longestSleep
}

func (l *lanes) drain() {
	for len(l.busy) > 0 {
		delete(l.busy, (<-l.done).conv)
	}
}

// alarm is when a conversation is to be looked at.
type alarm struct {
	at    time.Time
	conv  string
	place int // in the heap
}

// alarms is a heap, the next one first. Its methods are for container/heap.
type alarms []*alarm

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push is for container/heap.
func (a *alarms) Push(x any) {
	if n, ok := x.(*alarm); ok {
		n.place = len(*a)
		*a = append(*a, n)
	}
}

// Pop is for container/heap.
func (a *alarms) Pop() any {
	last := len(*a) - 1
	n := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return n
}
