package worker

import (
	"time"

	"github.com/causewayhq/causeway/gateway/stream"
)

const (
	// aheadTime is for how long events are fetched ahead: what passes between a place
	// that is free and the next event that was asked for then.
	aheadTime = 4 * time.Millisecond
	// aheadShare bounds it to a quarter of Concurrency.
	aheadShare = 4
	// aheadWait is how long such an event waits for its place before it is given back,
	// so that others can have it. It comes to that when handlers were quick and got slow.
	aheadWait = time.Second
	// aheadEvery is how often the pace is looked at.
	aheadEvery = 100 * time.Millisecond
)

// ahead lets a worker that is busy fetch a few events before it has places for them:
// as many as it begins in 4 ms at its present pace. With handlers of 50 ms a place was
// empty for 4 of 54 ms otherwise. With handlers of a second and more it fetches none.
// Used by the goroutine of session.
type ahead struct {
	begun uint64 // handlers
	at    time.Time
}

// look sets how many events the puller may hold.
func (a *ahead) look(p *stream.Puller, begun uint64, now time.Time, concurrency int) {
	extra := 0
	if d := now.Sub(a.at); !a.at.IsZero() && d > 0 {
		extra = int(float64(begun-a.begun) * float64(aheadTime) / float64(d))
	}
	a.begun, a.at = begun, now
	p.SetRoom(concurrency + min(extra, concurrency/aheadShare))
}

// place waits until a handler may run; false when the event is to be given back.
func (r *run) place() bool {
	select {
	case r.slots <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(aheadWait)
	defer t.Stop()
	select {
	case r.slots <- struct{}{}:
		return true
	case <-r.stopping:
	case <-t.C:
	}
	return false
}
