package gate

import (
	"container/heap"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// before is the order of pending rows of one conversation.
func before(a, b *gateway.Pending) bool {
	if a.Lane != b.Lane {
		return a.Lane < b.Lane
	}
	return a.Seq < b.Seq
}

// added takes a new pending row: it becomes the head of a conversation that had
// none, or of one whose head is a replay that was not offered yet; otherwise it
// is remembered when it is the first behind the head.
func (g *Gate) added(row *gateway.Pending) { g.enter(row, false) }

// enter is added for a row that may have others behind it.
func (g *Gate) enter(row *gateway.Pending, more bool) {
	received, fits := g.o.Now(), row.Collectable()
	if row.Row != nil {
		received = row.Row.ReceivedAt
	}
	if len(g.places) > keepRows {
		r := *row
		r.Row, row = nil, &r
	}
	p := g.places[row.Conv]
	if p == nil {
		p = &place{conv: row.Conv, head: *row, index: -1, ask: more}
		g.places[row.Conv] = p
		g.schedule(p)
		return
	}
	same := p.head.Lane == row.Lane && p.head.Seq == row.Seq
	switch {
	case same && row.Round > p.head.Round: // requeued while we knew it
		g.replace(p, *row)
	case same, slices.Contains(p.members, row.N) && row.Requeue == 0:
	case before(row, &p.head) && p.state != placeOpen:
		old := p.head
		p.next = first(p.next, &old)
		g.replace(p, *row)
	default:
		r := *row
		p.next = first(p.next, &r)
		g.behindHead(p, row, received, fits)
	}
}

func first(a, b *gateway.Pending) *gateway.Pending {
	if a == nil || before(b, a) {
		return b
	}
	return a
}

// settled moves a place on. The head in s was read in the transaction that
// settled; rows committed later came by Added and are in next.
func (g *Gate) settled(s *gateway.Settled) {
	p := g.places[s.Conv]
	if p == nil {
		if s.Head != nil {
			g.enter(s.Head, true)
		}
		return
	}
	if s.Was.Lane != p.head.Lane || s.Was.Seq != p.head.Seq {
		// Another row than our head was settled: a late offer of an earlier
		// life. Our head is still pending, or its own settlement follows.
		if p.next != nil && p.next.Lane == s.Was.Lane && p.next.Seq == s.Was.Seq {
			p.next = nil
		}
		return
	}
	if p.next != nil {
		p.unsure = slices.ContainsFunc(s.Also, func(a gateway.SettledAlso) bool { return a.Was.N == p.next.N })
	}
	g.heard(p, &s.Decision)
	g.reset(p, s.Head)
}

// reset takes the head that the ledger has now.
func (g *Gate) reset(p *place, head *gateway.Pending) {
	if p.next != nil && (head == nil || before(p.next, head)) {
		head = p.next
	}
	if head == nil {
		g.leave(p)
		delete(g.places, p.conv)
		g.passed(p.conv)
		return
	}
	if p.next != nil && !before(head, p.next) {
		p.next = nil
	}
	g.replace(p, *head)
}

// replace gives the place a new head and schedules it.
func (g *Gate) replace(p *place, head gateway.Pending) {
	g.leave(p)
	if head.N != p.head.N {
		p.failedAt, p.behind, p.ask = 0, 0, true
	}
	p.head, p.seq, p.closed, p.running, p.acked = head, 0, 0, 0, 0
	p.bundle, p.members = nil, nil
	g.schedule(p)
}

// leave takes the place out of whatever it is in.
func (g *Gate) leave(p *place) {
	switch p.state {
	case placeOpen:
		delete(g.opened, p)
	case placeWaiting:
		if p.index >= 0 {
			heap.Remove(&g.later, p.index)
		}
	case placeBehind, placeHeld:
	case placeReady:
		if p.index >= 0 {
			heap.Remove(&g.ready, p.index)
		}
	}
	p.state, p.index, p.collecting = placeReady, -1, false
}

// schedule puts a place that is in nothing into the queue or the timers.
func (g *Gate) schedule(p *place) {
	now := g.o.Now()
	if p.head.NextAt.After(now) {
		g.postpone(p, p.head.NextAt)
		return
	}
	if at := g.due(p); at.After(now) {
		g.postpone(p, at)
		p.collecting = true
		return
	}
	g.queue(p)
}

// queue puts a place among those whose turn may come.
func (g *Gate) queue(p *place) {
	p.state, p.urgent, p.collecting = placeReady, !p.head.Deadline().IsZero(), false
	heap.Push(&g.ready, p)
}

func (g *Gate) postpone(p *place, until time.Time) {
	p.state, p.due = placeWaiting, until
	heap.Push(&g.later, p)
}

func (g *Gate) wakeDue(now time.Time) {
	for g.later.Len() > 0 && !g.later.heaped[0].due.After(now) {
		if p, ok := heap.Pop(&g.later).(*place); ok { // it holds nothing else
			g.queue(p)
		}
	}
}

// count counts the places in a state.
func (g *Gate) count(state placeState) (n int) {
	for _, p := range g.places {
		if p.state == state {
			n++
		}
	}
	return n
}

// heaped is what heaps of places have in common; a place is in one of them at most.
type heaped []*place

func (h heaped) Len() int      { return len(h) }
func (h heaped) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }

// Push is called by container/heap only.
func (h *heaped) Push(x any) {
	if p, ok := x.(*place); ok { // nothing else is pushed
		p.index = len(*h)
		*h = append(*h, p)
	}
}

// Pop is called by container/heap only.
func (h *heaped) Pop() any {
	old := *h
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	p.index = -1
	return p
}

// queued is a heap of places by whose turn it is: an event with a deadline, then live
// ones before replays, then the one that was recorded first.
type queued struct{ heaped }

// Less is called by container/heap only.
func (q queued) Less(i, j int) bool {
	if q.heaped[i].urgent != q.heaped[j].urgent {
		return q.heaped[i].urgent
	}
	a, b := &q.heaped[i].head, &q.heaped[j].head
	if a.Lane != b.Lane {
		return a.Lane < b.Lane
	}
	return a.N < b.N
}

// timers is a heap of places by due time.
type timers struct{ heaped }

// Less is called by container/heap only.
func (t timers) Less(i, j int) bool { return t.heaped[i].due.Before(t.heaped[j].due) }

func (t timers) wait(now time.Time) time.Duration {
	if t.Len() == 0 {
		return time.Hour
	}
	return max(t.heaped[0].due.Sub(now), 0)
}
