package outbox

import (
	"container/heap"
	"container/list"
)

// line are conversations that wait for the same thing: the best priority goes first
// and, among equal, who came first. One place in elderEvery goes to who has waited
// longest, whatever the priority: where better ones keep coming, the worst still gets
// that part of the account's pace, so each ends after at most elderEvery times as many
// places as stood before it, and better ones wait by a tenth longer. (Letting priorities
// grow with the time waited was not chosen: a campaign of a hundred thousand messages
// would stand before the replies of all customers once it has waited long enough.)
// Within a conversation nothing changes its place: here stand conversations.
type line struct {
	best   bests
	elders list.List // of *ready, who came first in front
	came   int64
	given  int
}

const elderEvery = 10

// ready is a conversation in line.
type ready struct {
	conv     string
	priority int
	came     int64
	place    int           // in best
	elder    *list.Element // in elders
}

func (q *line) len() int { return len(q.best) }

func (q *line) add(conv string, priority int) *ready {
	q.came++
	r := &ready{conv: conv, priority: priority, came: q.came}
	r.elder = q.elders.PushBack(r)
	heap.Push(&q.best, r)
	return r
}

// rank lets one that stands have another priority. It keeps when it came.
func (q *line) rank(r *ready, priority int) {
	if r.priority != priority {
		r.priority = priority
		heap.Fix(&q.best, r.place)
	}
}

// next takes one out; "" when nobody waits.
func (q *line) next() string {
	if len(q.best) == 0 {
		return ""
	}
	r := q.best[0]
	if q.given++; q.given%elderEvery == 0 {
		r, _ = q.elders.Front().Value.(*ready)
	}
	q.remove(r)
	return r.conv
}

func (q *line) remove(r *ready) {
	heap.Remove(&q.best, r.place)
	q.elders.Remove(r.elder)
}

// bests is a heap, the best one first. Its methods are for container/heap.
type bests []*ready

func (q bests) Len() int { return len(q) }

func (q bests) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q bests) Less(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority < q[j].priority
	}
	return q[i].came < q[j].came
}

// Push is for container/heap.
func (q *bests) Push(x any) {
	if r, ok := x.(*ready); ok {
		r.place = len(*q)
		*q = append(*q, r)
	}
}

// Pop is for container/heap.
func (q *bests) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return r
}
