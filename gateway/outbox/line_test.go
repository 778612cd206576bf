package outbox

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A line gives the best first, and every tenth place to who has waited longest; each
// conversation comes out once.
func TestLine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's seed
	var q line
	type in struct {
		conv     string
		priority int
	}
	var waits []in // as they came
	came, given := 0, 0
	for range 5000 {
		if len(waits) == 0 || r.IntN(2) == 0 {
			came++
			x := in{fmt.Sprint("c", came), r.IntN(10)}
			waits = append(waits, x)
			q.add(x.conv, x.priority)
			continue
		}
		want := 0
		if given++; given%elderEvery != 0 {
			for i, x := range waits {
				if x.priority < waits[want].priority {
					want = i
				}
			}
		}
		if got := q.next(); got != waits[want].conv {
			t.Fatalf("place %d is %s, want %s", given, got, waits[want].conv)
		}
		waits = slices.Delete(waits, want, want+1)
		if q.len() != len(waits) || q.elders.Len() != len(waits) {
			t.Fatalf("%d and %d wait, want %d", q.len(), q.elders.Len(), len(waits))
		}
	}
}
