package main

import (
	"strings"
	"time"
)

// parseTime reads a time as a person types it: RFC 3339 ("2026-07-01T08:00:00Z"),
// a day ("2026-07-01", midnight UTC), "now", or a time gone by ("-30m",
// "30m ago", "2d ago"; units s, m, h, d). The error is for the flag named.
func parseTime(flag, s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "now" {
		return now.UTC(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	past, ago := strings.CutSuffix(s, "ago")
	if !ago {
		past, ago = strings.CutPrefix(s, "-")
	}
	if ago {
		if d, ok := parseAge(strings.TrimSpace(past)); ok {
			return now.Add(-d).UTC(), nil
		}
	}
	return time.Time{}, usageError(`--%s: %q is not a time; write "2026-07-01T08:00:00Z", "2026-07-01" or "-30m" (s, m, h, d)`,
		flag, printable(s, 60))
}

// parseAge reads a duration that is not negative, with d for 24 hours.
func parseAge(s string) (time.Duration, bool) {
	var days time.Duration
	if n, rest, ok := strings.Cut(s, "d"); ok {
		d, err := time.ParseDuration(n + "h")
		if err != nil || d < 0 || d > 10*365*time.Hour {
			return 0, false
		}
		days, s = 24*d, rest
		if s == "" {
			return days, true
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, false
	}
	return days + d, true
}
