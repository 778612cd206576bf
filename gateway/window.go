package gateway

import (
	"slices"
	"time"
)

// SendWindow is when messages may leave: on Days from From to To, by the clocks of
// TimeZone. It costs nothing while it is closed: a message is due when it opens.
type SendWindow struct {
	// From and To are times of day, 15:04. To is not part of it; one that is not
	// later than From is of the next day, and the window belongs to the day on which
	// it opens.
	From string `json:"from"`
	To   string `json:"to"`
	// Days are mon, tue, wed, thu, fri, sat, sun; none means every day.
	Days []string `json:"days,omitempty"`
	// TimeZone is a name such as Europe/Berlin or UTC.
	TimeZone string `json:"time_zone"`
}

// WindowedFor bounds what has a window and no end: it may meet a closed window every day.
const WindowedFor = 7 * 24 * time.Hour

// WeekDays are the words for Days, by time.Weekday.
func WeekDays() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// Check says which fields cannot be used; none for a window that opens every week.
func (w *SendWindow) Check() (wrong []*FieldError) {
	for _, f := range []struct{ name, value string }{{"from", w.From}, {"to", w.To}} {
		if _, err := time.Parse("15:04", f.value); err != nil || len(f.value) != 5 {
			wrong = append(wrong, &FieldError{f.name, "must be a time of day such as 09:00"})
		}
	}
	if slices.ContainsFunc(w.Days, func(d string) bool { return !slices.Contains(WeekDays(), d) }) {
		wrong = append(wrong, &FieldError{"days", "must be some of mon, tue, wed, thu, fri, sat, sun"})
	}
	if w.TimeZone == "" || w.TimeZone == "Local" { // the machine's is nobody's choice
		return append(wrong, &FieldError{"time_zone", "is needed, such as Europe/Berlin or UTC"})
	}
	if _, err := time.LoadLocation(w.TimeZone); err != nil {
		wrong = append(wrong, &FieldError{"time_zone", "must be a name of the time zone database, such as Europe/Berlin"})
	}
	return wrong
}

// Around is the first time of the window that ends after t: t is inside when opens is
// not after it. Zero times for a window that Check refuses. It opens once a day, also when
// the clocks change within it: see clockShows.
func (w *SendWindow) Around(t time.Time) (opens, closes time.Time) {
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil || w.Check() != nil {
		return time.Time{}, time.Time{}
	}
	from, _ := time.Parse("15:04", w.From)
	to, _ := time.Parse("15:04", w.To)
	over := 0 // days to the end
	if !to.After(from) {
		over = 1
	}
	y, m, d := t.In(zone).Date()
	// Nine days hold each weekday, one that began yesterday, and one that a change of
	// the clocks took away.
	for i := -1; i <= 8; i++ {
		day := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC) // by its name only
		if len(w.Days) > 0 && !slices.Contains(w.Days, WeekDays()[day.Weekday()]) {
			continue
		}
		opens = clockShows(day, from, zone)
		closes = clockShows(day.AddDate(0, 0, over), to, zone)
		if closes.Equal(opens) && opens.In(zone).Day() == day.Day() { // the clocks went over all of it
			closes = opens.Add(to.Sub(from))
		}
		if closes.After(t) && closes.After(opens) {
			return opens, closes
		}
	}
	return time.Time{}, time.Time{}
}

// clockShows is when the clocks of a zone first show a time of a day, or a later one: of a
// time that they show twice, since they went back, the first, and of one that they went
// over, the moment at which they did. So a window begins at the end of the hour that it
// loses, as cron(8) runs what it missed then, and never earlier than its clock allows;
// java.time would begin it an hour late. One that is lost with its end has its length.
func clockShows(day, of time.Time, zone *time.Location) time.Time {
	want := time.Date(day.Year(), day.Month(), day.Day(), of.Hour(), of.Minute(), 0, 0, time.UTC)
	offset := func(t time.Time) time.Duration {
		_, seconds := t.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	// time.Date does not say which of two it takes, and of a time that is not there it
	// takes one before or behind.
	t := time.Date(day.Year(), day.Month(), day.Day(), of.Hour(), of.Minute(), 0, 0, zone)
	begins, ends := t.ZoneBounds()
	switch shown := t.Add(offset(t)); {
	case shown.Before(want):
		return ends
	case shown.After(want):
		return begins
	case begins.IsZero():
		return t
	}
	if first := want.Add(-offset(begins.Add(-1))); first.Before(begins) {
		return first
	}
	return t
}

// Due is at, or when the window opens next if it is closed then. A nil window is
// always open.
func (w *SendWindow) Due(at time.Time) time.Time {
	if w == nil {
		return at
	}
	if opens, _ := w.Around(at); opens.After(at) {
		return opens
	}
	return at
}
