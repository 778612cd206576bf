package gate

import (
	"container/heap"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// kin knows which conversations became part of which. The place of one with
// anything pending goes before that of the one it became part of, so that events
// of one customer reach the application one at a time and in order; what was
// offered in both around the moment in which they became one ends beside each other.
//
// It is learned from the ledger at the start, and from who commits a merge or sets
// something moving again in a conversation that was merged. It is forgotten when
// the younger conversation had nothing for two looks of the net: rows committed
// before the merge may arrive after it.
type kin struct {
	into map[string]string   // younger -> older
	from map[string][]string // older -> younger ones
	idle map[string]bool     // had nothing at the last look
}

func newKin() kin {
	return kin{into: map[string]string{}, from: map[string][]string{}, idle: map[string]bool{}}
}

// merged notes who waits for whom.
func (g *Gate) merged(merges []gateway.Merge) {
	for _, m := range merges {
		delete(g.kin.idle, m.Conv)
		if g.kin.into[m.Conv] == m.Into {
			continue
		}
		g.kin.into[m.Conv] = m.Into
		g.kin.from[m.Into] = append(g.kin.from[m.Into], m.Conv)
	}
}

// waits says whether something goes before a conversation.
func (g *Gate) waits(conv string) bool {
	for _, younger := range g.kin.from[conv] {
		if g.places[younger] != nil || g.waits(younger) {
			return true
		}
	}
	return false
}

// next takes up to n places out of the queue whose turn it is; those that have to
// wait for another conversation are put aside.
func (g *Gate) next(n int) (batch []*place) {
	for len(batch) < n && g.ready.Len() > 0 {
		p, ok := heap.Pop(&g.ready).(*place)
		switch {
		case !ok: // it holds nothing else
		case len(g.kin.into) > 0 && g.waits(p.conv):
			p.state = placeBehind
		default:
			batch = append(batch, p)
		}
	}
	return batch
}

// passed lets go who waited for a conversation that has nothing left.
func (g *Gate) passed(conv string) {
	for older, ok := g.kin.into[conv]; ok; older, ok = g.kin.into[older] {
		if p := g.places[older]; p != nil && p.state == placeBehind && !g.waits(older) {
			g.schedule(p)
		}
	}
}

// forget drops what is over.
func (g *Gate) forget() {
	for younger, older := range g.kin.into {
		switch {
		case g.places[younger] != nil || len(g.kin.from[younger]) > 0:
			delete(g.kin.idle, younger)
		case !g.kin.idle[younger]:
			g.kin.idle[younger] = true
		default:
			delete(g.kin.idle, younger)
			delete(g.kin.into, younger)
			left := slices.DeleteFunc(g.kin.from[older], func(c string) bool { return c == younger })
			if g.kin.from[older] = left; len(left) == 0 {
				delete(g.kin.from, older)
			}
		}
	}
}
