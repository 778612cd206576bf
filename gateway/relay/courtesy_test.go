package relay

import (
	"testing"
	"testing/synctest"
	"time"
)

// turns runs n turns with so many callbacks waiting and says how long they took
// and how many payloads they allowed.
func turns(t *testing.T, c *courtesy, n int) (took time.Duration, payloads int) {
	t.Helper()
	start := time.Now()
	for range n {
		got := c.turn(t.Context())
		if got < smallBatch || got > readPayloads {
			t.Fatalf("a turn allows %d payloads", got)
		}
		payloads += got
	}
	return time.Since(start), payloads
}

func TestCourtesy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting, crowded := 0, false
		c := newCourtesy(8, func() int { return waiting }, func() bool { return crowded })

		if first := c.turn(t.Context()); first > 2*smallBatch {
			t.Errorf("the first batch after idling is %d", first)
		}
		turns(t, &c, 10)
		if took, n := turns(t, &c, 10); took != 0 || n != 10*readPayloads {
			t.Errorf("nothing else to do: %d payloads in %s", n, took)
		}
		waiting = 500
		if took, n := turns(t, &c, 10); took != 0 || n != 10*smallBatch {
			t.Errorf("a long queue and cores to spare, a slow disk: %d payloads in %s", n, took)
		}
		crowded = true
		turns(t, &c, 10)
		if took, n := turns(t, &c, 10); took != 10*longestPause || n != 10*smallBatch {
			t.Errorf("callbacks suffer: %d payloads in %s, want a small batch each %s", n, took, longestPause)
		}
		crowded = false
		if took, _ := turns(t, &c, 10); took >= 10*longestPause || took < 5*longestPause {
			t.Errorf("they come and suffer no more: ten turns take %s, want a little less each", took)
		}
		crowded, waiting = true, 0
		turns(t, &c, quietTurns+10)
		if took, n := turns(t, &c, 10); took != 0 || n < 9*readPayloads {
			t.Errorf("they come no more: %d payloads in %s", n, took)
		}
		c.idle()
		if n := c.turn(t.Context()); n > 2*smallBatch {
			t.Errorf("the first batch after idling is %d", n)
		}
	})
}

// One look of many is enough: the queue is empty for a moment after each commit.
func TestCourtesyRemembersTheLongestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := 9
		c := newCourtesy(8, func() int { return waiting }, func() bool { return true })
		c.look()
		waiting = 0
		if took, _ := turns(t, &c, 1); took != firstPause {
			t.Errorf("a pause of %s, want %s", took, firstPause)
		}
	})
}
