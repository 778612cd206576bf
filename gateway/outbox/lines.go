package outbox

import (
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// lines are the conversations that are ready: one line per account. The accounts take
// turns, so that none waits behind another's crowd.
type lines struct {
	by     map[string]*line    // by account
	turns  []string            // accounts with somebody in line, the next one first
	stands map[string]standing // who is in one of the lines
}

// standing is where a conversation stands.
type standing struct {
	account string
	place   *ready
}

func newLines() lines { return lines{by: map[string]*line{}, stands: map[string]standing{}} }

// add lets a conversation stand in its account's line. One that stands already stands
// by its new rank.
func (l *lines) add(conv string, r gateway.Rank) {
	if at, stands := l.stands[conv]; stands {
		if at.account == r.Account {
			l.by[r.Account].rank(at.place, r.Priority)
		}
		return
	}
	q := l.by[r.Account]
	if q == nil {
		q = &line{}
		l.by[r.Account] = q
	}
	if q.len() == 0 {
		l.turns = append(l.turns, r.Account)
	}
	l.stands[conv] = standing{r.Account, q.add(conv, r.Priority)}
}

// next takes one out; "" when all lines are empty.
func (l *lines) next() string {
	if len(l.turns) == 0 {
		return ""
	}
	account := l.turns[0]
	q := l.by[account]
	conv := q.next()
	delete(l.stands, conv)
	l.turns = slices.Delete(l.turns, 0, 1)
	if q.len() > 0 {
		l.turns = append(l.turns, account)
	}
	return conv
}
