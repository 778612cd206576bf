package relay

import (
	"context"
	"time"
)

// courtesy lets callbacks go first. The relay and all that follows from what it
// writes want the same cores as the callbacks do, and only callbacks have a
// platform that waits for them.
//
// While more than at of them wait for their commit, batches are small. When the
// process is short of cores as well there are pauses between them, up to the
// longest; later they get shorter, step by step while callbacks come and quickly
// when none do. What follows from a batch comes a moment after it, so batches
// start small after idling too. The relay is never still for longer than the
// longest pause: order, publishing and replays go on under any load.
type courtesy struct {
	waiting func() int
	crowded func() bool
	at      int

	peak  int           // most that waited since the last turn; a single look may hit the moment after a commit
	quiet int           // turns without callbacks
	pause time.Duration // between batches
	batch int           // payloads
}

const (
	smallBatch   = 16
	firstPause   = 10 * time.Millisecond
	longestPause = 40 * time.Millisecond
	pauseStep    = 500 * time.Microsecond
	quietTurns   = 3
)

func newCourtesy(at int, waiting func() int, crowded func() bool) courtesy {
	return courtesy{waiting: waiting, crowded: crowded, at: at, batch: smallBatch}
}

// look notes how many callbacks wait.
func (c *courtesy) look() { c.peak = max(c.peak, c.waiting()) }

// turn waits when callbacks suffer and says how many payloads may be read.
func (c *courtesy) turn(ctx context.Context) int {
	c.look()
	crowded, many := c.crowded(), c.peak > c.at
	if c.peak > c.at/4 {
		c.quiet = 0
	} else {
		c.quiet++
	}
	c.peak = 0
	switch {
	case many && crowded:
		c.pause, c.batch = min(max(2*c.pause, firstPause), longestPause), smallBatch
	case many && c.pause == 0:
		c.batch = smallBatch
	case c.pause == 0:
		c.batch = min(2*c.batch, readPayloads)
	case c.quiet >= quietTurns:
		c.pause /= 2
	default:
		c.pause -= pauseStep
	}
	if c.pause < pauseStep {
		c.pause = 0
		return c.batch
	}
	sleep(ctx, c.pause)
	return c.batch
}

// idle says that there was nothing more to relay.
func (c *courtesy) idle() { c.batch = smallBatch }
