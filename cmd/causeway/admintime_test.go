package main

import (
	"errors"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("east", 8*3600))
	utc := func(d time.Duration) time.Time { return now.Add(d).UTC() }
	good := map[string]time.Time{
		"now":                       utc(0),
		"-30m":                      utc(-30 * time.Minute),
		"30m ago":                   utc(-30 * time.Minute),
		" 1h30m ago ":               utc(-90 * time.Minute),
		"-2d":                       utc(-48 * time.Hour),
		"1d12h ago":                 utc(-36 * time.Hour),
		"0.5d ago":                  utc(-12 * time.Hour),
		"0s ago":                    utc(0),
		"2026-07-01":                time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
		"2026-07-01T08:00:00Z":      time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC),
		"2026-07-01T08:00:00+08:00": time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
		"2026-07-01T08:00:00.25Z":   time.Date(2026, 7, 1, 8, 0, 0, 250e6, time.UTC),
	}
	for s, want := range good {
		got, err := parseTime("since", s, now)
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("parseTime(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "30m", "ago", "-", "--5m", "-5", "tomorrow", "5 apples ago", "-1e9d", "-1dd", "2026-13-01", "-d", "NaNd ago", "+Infd ago"} {
		got, err := parseTime("since", s, now)
		var e *exitError
		if !errors.As(err, &e) || e.code != exitUsage {
			t.Errorf("parseTime(%q) = %v, %v; want a usage error", s, got, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"now", "-30m", "2d ago", "2026-07-01", "2026-07-01T08:00:00Z", "-9223372036854775807ns", "1d1d1d ago"} {
		f.Add(s)
	}
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseTime("since", s, now)
		if err == nil && s[0] == '-' && got.After(now) {
			t.Errorf("parseTime(%q) = %v, after now", s, got)
		}
	})
}
