package outbox

import (
	"container/heap"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// lines are the conversations that are ready: one line per account, each with the best
// priority first and, among equal, who came first. The accounts take turns, so that
// none waits behind another's crowd. A line has no ageing: what has the worst priority
// waits for as long as better ones keep coming, and expires like anything else.
type lines struct {
	by    map[string]*line // by account
	turns []string         // accounts with somebody in line, the next one first
	n     int              // in all lines
	came  int64
}

func newLines() lines { return lines{by: map[string]*line{}} }

func (l *lines) add(conv string, r gateway.Rank) {
	q := l.by[r.Account]
	if q == nil {
		q = &line{}
		l.by[r.Account] = q
		l.turns = append(l.turns, r.Account)
	}
	l.came++
	l.n++
	heap.Push(q, ready{conv, r.Priority, l.came})
}

// next takes one out; "" when all lines are empty.
func (l *lines) next() string {
	if len(l.turns) == 0 {
		return ""
	}
	account := l.turns[0]
	q := l.by[account]
	r, _ := heap.Pop(q).(ready)
	l.n--
	l.turns = slices.Delete(l.turns, 0, 1)
	if q.Len() > 0 {
		l.turns = append(l.turns, account)
	} else {
		delete(l.by, account)
	}
	return r.conv
}

// ready is a conversation in line.
type ready struct {
	conv     string
	priority int
	came     int64
}

// line is a heap. Its methods are for container/heap.
type line []ready

func (q line) Len() int      { return len(q) }
func (q line) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q line) Less(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority < q[j].priority
	}
	return q[i].came < q[j].came
}

// Push is for container/heap.
func (q *line) Push(x any) {
	if r, ok := x.(ready); ok {
		*q = append(*q, r)
	}
}

// Pop is for container/heap.
func (q *line) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = ready{}
	*q = (*q)[:last]
	return r
}
