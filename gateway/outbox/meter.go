package outbox

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/gateway"
)

// meter keeps one limit. It has no lock of its own: it belongs to the pace.
type meter interface {
	// wait is how long until one more may go; 0 for now.
	wait(now time.Time) time.Duration
	take(now time.Time)
	// slow lets only a part of the limit through; 1 is all of it.
	slow(part float64, now time.Time)
	// spend takes all that is left.
	spend(now time.Time)
	// left is the part of the limit, 0 to 1, that may go at once.
	left(now time.Time) float64
	// idle says that forgetting the meter changes nothing.
	idle(now time.Time) bool
}

func newMeter(l gateway.Limit) meter {
	if l.Burst > 0 {
		every := rate.Limit(float64(l.N) / l.Per.Seconds())
		return &bucket{rate.NewLimiter(every, l.Burst), every}
	}
	return &window{most: l.N, slot: max(l.Per/slots, 1), now: l.N}
}

// bucket lends a burst and is filled again at its rate.
type bucket struct {
	*rate.Limiter
	full rate.Limit
}

func (b *bucket) wait(now time.Time) time.Duration {
	missing := 1 - b.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/float64(b.Limit())*float64(time.Second)) + 1 // rounded up
}

func (b *bucket) take(now time.Time) { b.ReserveN(now, 1) }

func (b *bucket) slow(part float64, now time.Time) { b.SetLimitAt(now, b.full*rate.Limit(part)) }

func (b *bucket) spend(now time.Time) {
	if n := int(b.TokensAt(now)); n > 0 {
		b.ReserveN(now, n)
	}
}

func (b *bucket) left(now time.Time) float64 {
	return max(b.TokensAt(now)/float64(b.Burst()), 0)
}

func (b *bucket) idle(now time.Time) bool { return b.TokensAt(now) >= float64(b.Burst()) }

// slots is into how many parts a window is cut.
const slots = 12

// window lets at most so many go in any time of its length. A bucket of n in a
// minute would let 2n through in the minute after an idle one, and WeCom drops
// what is over without a word. Time is cut into slots; a slot counts until all of
// it is older than the window, so up to a twelfth longer than need be.
type window struct {
	slot   time.Duration
	most   int // all of it
	now    int // what is let through now, when slowed
	counts [slots + 1]int32
	newest int64 // number of the newest slot
	total  int
}

// turn forgets slots that count no more.
func (w *window) turn(now time.Time) {
	n := now.UnixNano() / int64(w.slot)
	switch ahead := n - w.newest; {
	case ahead > slots:
		w.counts, w.total = [slots + 1]int32{}, 0
	case ahead < -slots: // the clock was set back: what went counts from now
		all := int32(min(w.total, w.most))
		w.counts, w.total = [slots + 1]int32{}, int(all)
		w.counts[n%(slots+1)] = all
	case ahead < 0:
		return
	default:
		for i := w.newest + 1; i <= n; i++ {
			c := &w.counts[i%(slots+1)]
			w.total -= int(*c)
			*c = 0
		}
	}
	w.newest = n
}

func (w *window) wait(now time.Time) time.Duration {
	w.turn(now)
	if w.total < w.now {
		return 0
	}
	for i := w.newest - slots; i <= w.newest; i++ {
		if w.counts[(i+slots+1)%(slots+1)] > 0 {
			return max(time.Duration((i+slots+1)*int64(w.slot)-now.UnixNano()), 1)
		}
	}
	return w.slot
}

func (w *window) take(now time.Time) { w.add(now, 1) }

func (w *window) add(now time.Time, n int) {
	w.turn(now)
	w.counts[w.newest%(slots+1)] += int32(n)
	w.total += n
}

func (w *window) slow(part float64, _ time.Time) { w.now = max(int(float64(w.most)*part), 1) }

func (w *window) spend(now time.Time) {
	w.turn(now)
	if n := w.most - w.total; n > 0 {
		w.add(now, n)
	}
}

func (w *window) left(now time.Time) float64 {
	w.turn(now)
	return max(float64(w.now-w.total), 0) / float64(w.most)
}

func (w *window) idle(now time.Time) bool {
	w.turn(now)
	return w.total == 0
}
