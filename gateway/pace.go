package gateway

import (
	"math"
	"time"
)

// Limit is one bound on how fast messages leave. A platform's numbers are in the
// configuration (config.Pace); the sender keeps them.
type Limit struct {
	// Of names what is counted together, since several accounts may share a limit;
	// "" is the account by itself.
	Of string
	// Pair counts every conversation by itself.
	Pair bool
	// N messages in Per.
	N   int
	Per time.Duration
	// Both says that what customers write counts too. It takes at most three quarters,
	// since nobody can put off what comes.
	Both bool
	// Burst above 0 is a bucket of so many that fills at N in Per: what is lent is
	// paid back. 0 is a window: never more than N in any Per, for platforms that
	// count so, and may drop the rest without a word.
	Burst int
}

// Memory is how long a message counts: one that left longer ago changes nothing.
func (l *Limit) Memory() time.Duration {
	if l.Burst > 0 {
		return time.Duration(float64(l.Burst) / float64(max(l.N, 1)) * float64(l.Per))
	}
	return l.Per + l.Per/12
}

// Begun is a call that was begun for a message, as the pace counts them.
type Begun struct {
	Account, Conv string
	At            time.Time
}

// Retry is how often and when a message that certainly was not sent is tried again.
type Retry struct {
	// Tries in all; at the last one it is a dead letter "tries".
	Tries int
	// First is the wait after the first try; each next one is Factor times as long,
	// more or less by the part Jitter of it.
	First          time.Duration
	Factor, Jitter float64
	// MaxAge: what is not sent so long after it was due is a dead letter "expired".
	MaxAge time.Duration
}

// Wait is how long to wait after the nth try; random is in [0, 1). It is not
// longer than MaxAge.
func (r *Retry) Wait(n int, random float64) time.Duration {
	w := float64(r.First) * math.Pow(max(r.Factor, 1), float64(max(n-1, 0)))
	w *= 1 + r.Jitter*(2*random-1)
	if longest := float64(r.MaxAge); w > longest {
		return r.MaxAge
	}
	return time.Duration(w)
}
