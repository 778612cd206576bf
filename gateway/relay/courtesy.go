package relay

import (
	"context"
	"sync/atomic"
	"time"
)

// courtesy lets callbacks go first. The relay and all that follows from what it
// writes want the same cores as the callbacks do, and only callbacks have a
// platform that waits for them.
//
// While more than at of them wait for their commit, batches are small, and when the
// process is short of cores as well there is a pause between them. When more come
// than could be relayed anyway, pauses grow up to the longest, and batches are so
// small that a callback hardly notices one: what follows from each of their events
// costs ten times what taking a callback does. That does not wait for signs that the
// cores are short, for they come too late: what follows from the first hundred
// callbacks would stand before the next thousand. For the same reason batches start at
// one payload after idling, and what waits for its commit counts as having come. Later
// the pauses get shorter, step by step while callbacks come and quickly when none do.
// The relay is never still for longer than the longest pause, and a rush has its way
// for rushMax only: order, publishing and replays go on under any load, and what is
// left over is relayed after the peak.
type courtesy struct {
	waiting func() int
	crowded func() bool
	arrived func() int64 // callbacks whose commit is done, so far
	now     func() time.Time
	at      int
	rush    float64 // callbacks a second that are many

	rest  *atomic.Int64 // pause, for those who publish and hand out what was relayed
	last  arrivals
	rate  float64       // of callbacks a second, smoothed
	peak  int           // most that waited since the last turn; a single look may hit the moment after a commit
	quiet int           // turns without callbacks
	since time.Time     // when the rush began; zero when all is calm
	pause time.Duration // between batches
	batch int           // payloads
}

// arrivals are how many callbacks had come at a time.
type arrivals struct {
	n  int64
	at time.Time
}

const (
	tinyBatch    = 2
	smallBatch   = 16
	rushMax      = 5 * time.Second
	rushOver     = 3 * time.Millisecond // over which their rate is smoothed
	rushPerCore  = 3000                 // a second; a core relays 1,000 messages that are answered, and 4,500 others
	firstPause   = 10 * time.Millisecond
	longestPause = 40 * time.Millisecond
	pauseStep    = 500 * time.Microsecond
	quietTurns   = 3
)

// rushing counts what came since the last turn and says whether it is much.
func (c *courtesy) rushing() bool {
	now := arrivals{c.arrived() + int64(c.waiting()), c.now()}
	if since := now.at.Sub(c.last.at); since > 0 {
		share := min(float64(since)/float64(rushOver), 1)
		c.rate += share * (float64(now.n-c.last.n)/since.Seconds() - c.rate)
		c.last = now
	}
	return c.rate > c.rush
}

// look notes how many callbacks wait.
func (c *courtesy) look() { c.peak = max(c.peak, c.waiting()) }

// turn waits when callbacks suffer and says how many payloads may be read.
func (c *courtesy) turn(ctx context.Context) int {
	c.look()
	rushing := c.rushing()
	crowded, many := c.crowded(), rushing || c.peak > c.at
	if rushing || c.peak > c.at/4 {
		c.quiet = 0
	} else {
		c.quiet++
	}
	c.peak = 0
	switch {
	case rushing && c.since.IsZero():
		c.since = c.last.at
	case !rushing && c.pause == 0:
		c.since = time.Time{}
	}
	switch {
	case rushing && c.last.at.Sub(c.since) < rushMax:
		c.pause, c.batch = min(max(2*c.pause, firstPause), longestPause), tinyBatch
	case many && crowded: // no more come than can be relayed, or for too long: so they are
		c.pause, c.batch = firstPause, smallBatch
	case many && c.pause == 0:
		c.batch = min(2*c.batch, smallBatch)
	case c.pause == 0:
		c.batch = min(2*c.batch, readPayloads)
	case c.quiet >= quietTurns:
		c.pause /= 2
	case !rushing:
		c.pause = min(c.pause, firstPause) - pauseStep
	default:
		c.pause -= pauseStep
	}
	if c.pause < pauseStep {
		c.pause = 0
	}
	c.rest.Store(0)
	if c.batch == tinyBatch {
		c.rest.Store(int64(c.pause))
	}
	if c.pause > 0 {
		sleep(ctx, c.pause)
	}
	return c.batch
}

// idle says that there was nothing more to relay.
func (c *courtesy) idle() {
	c.batch = 1
	c.rest.Store(0)
}
