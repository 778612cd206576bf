package outbox

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// However often and whenever conversations are woken, none is worked on twice at one
// moment, each that was woken has its turn afterwards, and nothing is left over.
func TestLanesWorkOnOneAtATime(t *testing.T) {
	t.Parallel()
	const convs, room = 3 * rankedAtOnce, 5
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test's seed
	l := newLanes(room)
	owed, busy := map[string]bool{}, []string{}
	step := func(wake int) {
		for range wake {
			conv := fmt.Sprint(r.IntN(convs))
			l.offer(conv)
			owed[conv] = true
		}
		l.lineUp(room, func(list []string) map[string]gateway.Rank {
			out := map[string]gateway.Rank{}
			for _, c := range list {
				if r.IntN(10) > 0 { // of the others nothing is due
					out[c] = gateway.Rank{Account: fmt.Sprint(len(c)), Priority: r.IntN(10)}
				}
			}
			return out
		})
		for len(l.busy) < room {
			conv := l.pop()
			if conv == "" {
				break
			}
			for _, b := range busy {
				if b == conv {
					t.Fatalf("%s is worked on twice", conv)
				}
			}
			busy = append(busy, conv)
			delete(owed, conv)
		}
		for len(busy) > 0 && r.IntN(3) > 0 {
			i := r.IntN(len(busy))
			l.finish(rested{conv: busy[i]})
			busy = append(busy[:i], busy[i+1:]...)
		}
	}
	for i := range 4000 {
		step(r.IntN(4) * (1 + i%7/6*300)) // now and then a crowd
	}
	for range 20 * convs {
		step(0)
	}
	if n := len(owed) + len(busy) + len(l.fresh) + len(l.again) + len(l.busy) + len(l.lines.stands) + len(l.lines.turns); n > 0 {
		t.Errorf("left over: %d owed, %d busy, %d fresh, %d again, %d stand", len(owed), len(busy), len(l.fresh), len(l.again), len(l.lines.stands))
	}
}
