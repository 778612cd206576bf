package outbox

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// play lets as many go as may at every moment, for a while, and returns when each went.
func play(m meter, from time.Time, d time.Duration) (went []time.Time) {
	for now := from; now.Before(from.Add(d)); {
		wait := m.wait(now)
		if wait == 0 {
			m.take(now)
			went = append(went, now)
			continue
		}
		now = now.Add(wait)
	}
	return went
}

// most is the greatest number in any time of the length.
func most(went []time.Time, per time.Duration) (n int) {
	for i, first := 0, 0; i < len(went); i++ {
		for !went[i].Before(went[first].Add(per)) {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

// A window lets all of its number go, and never more in any time of its length,
// wherever that begins; over a long time it loses at most a slot of each.
func TestWindow(t *testing.T) {
	for _, n := range []int{1, 20, 30, 1000} {
		for _, shift := range []time.Duration{0, time.Millisecond, 7 * time.Second, 59 * time.Second} {
			from := time.Unix(1_800_000_000, 0).Add(shift)
			went := play(newMeter(gateway.Limit{N: n, Per: time.Minute}), from, time.Hour)
			if got := most(went, time.Minute); got != n {
				t.Errorf("%d in a minute: %d", n, got)
			}
			if least := n * 60 * slots / (slots + 1); len(went) < least-n {
				t.Errorf("%d in an hour, want about %d", len(went), least)
			}
		}
	}
}

// A bucket lends its burst once and has it paid back.
func TestBucket(t *testing.T) {
	b := newMeter(gateway.Limit{N: 10, Per: time.Minute, Burst: 45})
	from := time.Unix(1_800_000_000, 0)
	if n := len(play(b, from, time.Second)); n != 45 {
		t.Errorf("%d at once", n)
	}
	if n := len(play(b, from.Add(time.Second), time.Hour)); n < 599 || n > 601 {
		t.Errorf("%d in the hour after", n)
	}
	if b.idle(from.Add(time.Hour+4*time.Minute)) || !b.idle(from.Add(time.Hour+5*time.Minute)) {
		t.Error("it is not as new when all is paid back")
	}
	b.spend(from.Add(3 * time.Hour))
	if w := b.wait(from.Add(3 * time.Hour)); w < 5*time.Second || w > 6*time.Second+time.Millisecond {
		t.Errorf("spent: waits %v", w)
	}
}

// A clock that is set back, or far forward, neither opens a window nor closes it for
// longer than it is.
func TestWindowAndTheClock(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, jump := range []time.Duration{-time.Second, -30 * time.Second, -time.Hour, -1000 * time.Hour, time.Hour} {
		w := newMeter(gateway.Limit{N: 20, Per: time.Minute})
		play(w, now, time.Second)
		wait := w.wait(now.Add(jump))
		if jump < 0 && (wait <= 0 || wait > 100*time.Second) || jump > 0 && wait != 0 {
			t.Errorf("after %v: waits %v", jump, wait)
		}
	}
}
