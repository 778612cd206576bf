package relay

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func testCourtesy(waiting func() int, crowded func() bool) courtesy {
	return courtesy{waiting: waiting, crowded: crowded, arrived: func() int64 { return 0 }, now: time.Now,
		at: 8, rush: 1000, rest: new(atomic.Int64), batch: smallBatch}
}

// turns runs n turns with so many callbacks waiting and says how long they took
// and how many payloads they allowed.
func turns(t *testing.T, c *courtesy, n int) (took time.Duration, payloads int) {
	t.Helper()
	start := time.Now()
	for range n {
		got := c.turn(t.Context())
		if got < tinyBatch || got > readPayloads {
			t.Fatalf("a turn allows %d payloads", got)
		}
		payloads += got
	}
	return time.Since(start), payloads
}

func TestCourtesy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting, crowded := 0, false
		c := testCourtesy(func() int { return waiting }, func() bool { return crowded })

		c.idle()
		if first := c.turn(t.Context()); first != tinyBatch {
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
		if took, n := turns(t, &c, 10); took != 10*firstPause || n != 10*smallBatch || c.rest.Load() != 0 {
			t.Errorf("callbacks suffer: %d payloads in %s, want a small batch each %s", n, took, firstPause)
		}
		crowded = false
		if took, _ := turns(t, &c, 10); took >= 10*firstPause || took < 5*firstPause {
			t.Errorf("they come and suffer no more: ten turns take %s, want a little less each", took)
		}
		crowded, waiting = true, 0
		turns(t, &c, quietTurns+10)
		if took, n := turns(t, &c, 10); took != 0 || n < 9*readPayloads {
			t.Errorf("they come no more: %d payloads in %s", n, took)
		}
		c.idle()
		if n := c.turn(t.Context()); n != tinyBatch || c.rest.Load() != 0 {
			t.Errorf("the first batch after idling is %d", n)
		}
		waiting, crowded = 500, false
		if n := c.turn(t.Context()); n > 2*tinyBatch {
			t.Errorf("the second, while a queue stands, is %d", n)
		}
	})
}

// One look of many is enough: the queue is empty for a moment after each commit.
func TestCourtesyRemembersTheLongestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := 9
		c := testCourtesy(func() int { return waiting }, func() bool { return true })
		c.look()
		waiting = 0
		if took, _ := turns(t, &c, 1); took != firstPause {
			t.Errorf("a pause of %s, want %s", took, firstPause)
		}
	})
}

// What waits for its commit has come: a rush is seen before the first group of it is
// on disk.
func TestCourtesySeesARushInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := 0
		c := testCourtesy(func() int { return waiting }, func() bool { return false })
		turns(t, &c, 1)
		c.idle()
		time.Sleep(time.Second)
		waiting = 1
		turns(t, &c, 1)
		time.Sleep(2 * time.Millisecond)
		waiting = 30
		if took, n := turns(t, &c, 1); took != firstPause || n != tinyBatch {
			t.Errorf("30 in 2 ms: %d payloads in %s", n, took)
		}
	})
}

// Callbacks that come fast are noticed without a queue of them, which stays short
// while the disk is quick, and forgotten soon after the last.
func TestCourtesyNoticesARush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		came, crowded := int64(0), false
		c := testCourtesy(func() int { return 0 }, func() bool { return crowded })
		c.arrived = func() int64 { return came }
		come := func(perSecond, turns int) (took time.Duration, payloads int) {
			for range turns {
				time.Sleep(5 * time.Millisecond)
				came += int64(perSecond / 200)
				start := time.Now()
				payloads += c.turn(t.Context())
				took += time.Since(start)
				came += int64(float64(perSecond) * time.Since(start).Seconds())
			}
			return took, payloads
		}
		if took, n := come(800, 20); took != 0 || n < 10*readPayloads {
			t.Errorf("not many: %d payloads in %s", n, took)
		}
		come(9000, 5) // many, of a sudden: cores are short too late to wait for
		if took, n := come(9000, 20); took != 20*longestPause || n != 20*tinyBatch || c.rest.Load() != int64(longestPause) {
			t.Errorf("a rush: %d payloads in %s, want few each %s", n, took, longestPause)
		}
		come(9000, int(rushMax/longestPause)) // one that goes on: what it brought has its turn, too
		crowded = true
		come(9000, 5)
		if took, n := come(9000, 20); took != 20*firstPause || n != 20*smallBatch || c.rest.Load() != 0 {
			t.Errorf("many for long, and no core to spare: %d payloads in %s", n, took)
		}
		crowded = false
		come(9000, 30) // nobody suffers: the pauses get shorter
		if took, n := come(9000, 20); took != 0 || n < 20*smallBatch {
			t.Errorf("many for long, and cores to spare: %d payloads in %s", n, took)
		}
		crowded = true
		come(0, quietTurns+20) // still no core to spare: now it is the relay itself
		if took, n := come(0, 10); took != 0 || n < 9*readPayloads || c.rest.Load() != 0 {
			t.Errorf("after it: %d payloads in %s", n, took)
		}
		come(9000, 5)
		if took, n := come(9000, 5); took != 5*longestPause || n != 5*tinyBatch {
			t.Errorf("the next rush: %d payloads in %s", n, took)
		}
	})
}
