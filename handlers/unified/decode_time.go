package unified

import (
	"math"
	"strconv"
	"time"
)

// when is the vendor's time of an item; zero where it tells none that can be read.
func (d *decoder) when(s *scope) time.Time {
	text := d.time.first(s)
	if text == "" {
		return time.Time{}
	}
	switch d.unit {
	case "s":
		return unixTime(text, time.Second)
	case "ms":
		return unixTime(text, time.Millisecond)
	case "rfc3339":
		return parsedTime(time.RFC3339, text, d.zone)
	case "datetime":
		return parsedTime(time.DateTime, text, d.zone)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if n >= 1e11 { // the year 5138 in seconds, 1973 in milliseconds
			return unixTime(text, time.Millisecond)
		}
		return unixTime(text, time.Second)
	}
	if t := parsedTime(time.RFC3339, text, d.zone); !t.IsZero() {
		return t
	}
	return parsedTime(time.DateTime, text, d.zone)
}

// unixTime reads a number of units since 1970, whole or not. What is not between
// then and the year 2286 is no time.
func unixTime(text string, unit time.Duration) time.Time {
	const most = 1e10 // seconds
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || f <= 0 || f > most*1000 {
			return time.Time{}
		}
		n = int64(f)
	}
	perSecond := int64(time.Second / unit)
	if n <= 0 || n/perSecond > most {
		return time.Time{}
	}
	return time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC()
}

// parsedTime reads a date; one without a zone is in that given.
func parsedTime(layout, text string, in *time.Location) time.Time {
	t, err := time.ParseInLocation(layout, text, in)
	if err != nil || t.Year() < 1970 || t.Year() > 2286 {
		return time.Time{}
	}
	return t.UTC()
}
