package egress

import (
	"sync"
	"time"
)

// Pause is how long an account should leave the platform alone, growing while
// refusals go on: First, then twice as long each time, at most Max. Refusals of
// calls that were in flight together count once. It is safe for concurrent use.
type Pause struct {
	First, Max time.Duration

	mu    sync.Mutex
	last  time.Duration
	until time.Time
}

// Refused records a refusal at now and returns how long to wait from now. least
// is a wait the platform asked for; 0 for none.
func (p *Pause) Refused(now time.Time, least time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.until) {
		if p.last == 0 {
			p.last = p.First
		} else {
			p.last = min(2*p.last, p.Max)
		}
		p.until = now.Add(p.last)
	}
	if asked := now.Add(least); asked.After(p.until) {
		p.until = asked
	}
	return p.until.Sub(now)
}

// Left is how much of a running pause is left at now; 0 when none runs.
func (p *Pause) Left(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.until.Sub(now), 0)
}

// Over ends the series: the next refusal waits First again.
func (p *Pause) Over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.until = 0, time.Time{}
}
