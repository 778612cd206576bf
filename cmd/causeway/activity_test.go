package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// The rate is of the last minute, or of the time there was; builds are those of
// late, the latest first.
func TestActivity(t *testing.T) {
	now := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	a := newActivity(func() time.Time { return now })
	settle := func(n int, build string) {
		for range n {
			a.settled([]gateway.Settled{{App: "bot", Build: build, Decision: gateway.Decision{State: gateway.EventSettled}},
				{App: "bot", Build: build, Decision: gateway.Decision{State: gateway.EventPending}}, {App: "bot", Late: true, Build: "late"}})
		}
	}
	check := func(want float64, builds ...string) {
		t.Helper()
		rate, got := a.of("bot")
		if fmt.Sprintf("%.2f", rate) != fmt.Sprintf("%.2f", want) || !slices.Equal(got, builds) {
			t.Errorf("%.2f per second by %q, want %.2f by %q", rate, got, want, builds)
		}
	}
	check(0)
	settle(4, "1")
	check(4, "1")
	now = now.Add(30 * time.Second)
	settle(26, "2")
	settle(1, "")
	check(31.0/30, "2", "1")
	now = now.Add(45 * time.Second)
	settle(3, "1")
	check(30.0/60, "1", "2")
	now = now.Add(11 * time.Minute)
	check(0)
	for i := range 20 {
		settle(1, fmt.Sprint("b", i))
	}
	if _, builds := a.of("bot"); len(builds) != buildsKept || builds[0] != "b19" {
		t.Errorf("builds %q", builds)
	}
}
