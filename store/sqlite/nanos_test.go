package sqlite

import (
	"math"
	"testing"
	"time"
)

// A bound that no number of nanoseconds can say lies behind everything, not
// somewhere in between.
func TestNanos(t *testing.T) {
	t.Parallel()
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		at   time.Time
		want int64
	}{
		"none":          {time.Time{}, 0},
		"the year 9999": {year(9999), math.MaxInt64},
		"the year 2":    {year(2), math.MinInt64},
		"2026":          {year(2026), 1767225600e9},
		"1969":          {year(1970).Add(-1), -1},
	} {
		if got := nanos(c.at); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if last := year(2262); !fromNanos(nanos(last)).Equal(last) {
		t.Error("2262 does not come back")
	}
}
