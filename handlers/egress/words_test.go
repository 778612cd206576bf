package egress

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestPauseGrows(t *testing.T) {
	t.Parallel()
	p := Pause{First: 30 * time.Second, Max: 2 * time.Minute}
	now := time.Now()
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 2 * time.Minute} {
		if got := p.Refused(now, 0); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
		now = now.Add(want)
	}
	p.Over()
	if got := p.Refused(now, 0); got != 30*time.Second {
		t.Errorf("after a success: %v", got)
	}
	// Calls that were in flight together are one refusal.
	if got := p.Refused(now.Add(10*time.Second), 0); got != 20*time.Second {
		t.Errorf("within the pause: %v", got)
	}
	if got := p.Refused(now.Add(10*time.Second), time.Hour); got != time.Hour {
		t.Errorf("a longer wait asked for: %v", got)
	}
	if got := p.Left(now.Add(40 * time.Second)); got != time.Hour-30*time.Second {
		t.Errorf("left: %v", got)
	}
	if got := p.Left(now.Add(2 * time.Hour)); got != 0 {
		t.Errorf("left after the end: %v", got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, " 5 ": 5 * time.Second, "-3": 0, "x": 0, "9999999": 24 * time.Hour,
		"99999999999999999999":          0,
		"Sun, 29 Nov 2026 12:01:00 GMT": time.Minute, "Sun, 29 Nov 2026 11:00:00 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Malformed access token TOKENMARK here": "Malformed access token *** here",
		"recipient 15550100025 not in list":     "recipient *** not in list",
		"code 1234 stays":                       "code 1234 stays",
		"see https://x.test/a?token=1 now":      "see https://x.test/a?*** now",
		"message wamid.HBgLMTU1NTAxMDA= gone":   "message wamid.*** gone",
		"https://x.test/15550100025?a=1":        "https://x.test/***?***",
		"https://x.test/a?t=1234&m=wamid.HBg":   "https://x.test/a?***",
		"15550100025:wamid.HBgLMTU1NTAxMDA=":    "***:wamid.***",
		"to ١٥٥٥٠١٠٠٠٢٥ or １５５５０１０":             "to *** or ***",
		"line\nbreak\x00and\x1btab":             "line break and tab",
		strings.Repeat("é", 300):                strings.Repeat("é", 200),
		"bad \xff utf8":                         "bad utf8",
	} {
		if got := Redact(in, "TOKENMARK", "", "ab"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("Error validating access token TOKENMARK-1 for 15550100025", "TOKENMARK-1")
	f.Add("wamid.TOKEN wamid.https://x?y", "TOKEN")
	f.Add("\xff\xfe ****** 12345678", "***")
	f.Add("00000://?", "")
	f.Add("12345wamid.", "")
	f.Add("１５５５０://?wamid.", "")
	f.Fuzz(func(t *testing.T, text, hide string) {
		got := Redact(text, hide)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxDetail {
			t.Errorf("not fit: %q", got)
		}
		digits := 0
		for _, r := range got {
			if !unicode.IsDigit(r) {
				digits = 0
			} else if digits++; digits > 4 {
				t.Errorf("a long number is left: %q", got)
			}
		}
		letters := strings.Trim(hide, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
		if letters && len(hide) >= 3 && strings.Contains(got, hide) && !strings.Contains("wamid", hide) {
			t.Errorf("%q is left in %q", hide, got)
		}
	})
}
