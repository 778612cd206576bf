package gateway_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none

	"github.com/causewayhq/causeway/gateway"
)

func TestSendWindow(t *testing.T) {
	office := gateway.SendWindow{From: "09:00", To: "18:00", Days: []string{"mon", "tue", "wed", "thu", "fri"}, TimeZone: "Europe/Berlin"}
	night := gateway.SendWindow{From: "22:00", To: "06:00", Days: []string{"fri"}, TimeZone: "UTC"}
	for _, c := range []struct {
		w                 gateway.SendWindow
		at, opens, closes string
		inside            bool
	}{
		{office, "2026-12-01T07:00:00Z", "2026-12-01T08:00:00Z", "2026-12-01T17:00:00Z", false},
		{office, "2026-12-01T08:00:00Z", "2026-12-01T08:00:00Z", "2026-12-01T17:00:00Z", true},
		{office, "2026-12-01T17:00:00Z", "2026-12-02T08:00:00Z", "2026-12-02T17:00:00Z", false},
		{office, "2026-12-04T20:00:00Z", "2026-12-07T08:00:00Z", "2026-12-07T17:00:00Z", false}, // over the weekend
		{office, "2026-03-27T20:00:00Z", "2026-03-30T07:00:00Z", "2026-03-30T16:00:00Z", false}, // the clocks go forward
		{night, "2026-12-04T23:00:00Z", "2026-12-04T22:00:00Z", "2026-12-05T06:00:00Z", true},
		{night, "2026-12-05T05:59:59Z", "2026-12-04T22:00:00Z", "2026-12-05T06:00:00Z", true}, // belongs to friday
		{night, "2026-12-05T23:00:00Z", "2026-12-11T22:00:00Z", "2026-12-12T06:00:00Z", false},
		{gateway.SendWindow{From: "00:00", To: "00:00", TimeZone: "Asia/Shanghai"}, "2026-12-01T16:00:00Z", "2026-12-01T16:00:00Z", "2026-12-02T16:00:00Z", true},
	} {
		at := instant(t, c.at)
		opens, closes := c.w.Around(at)
		if !opens.Equal(instant(t, c.opens)) || !closes.Equal(instant(t, c.closes)) || !opens.After(at) != c.inside {
			t.Errorf("%+v at %s: %s to %s", c.w, c.at, opens.UTC(), closes.UTC())
		}
		due := opens
		if c.inside {
			due = at
		}
		if got := c.w.Due(at); !got.Equal(due) {
			t.Errorf("%+v at %s: due %s", c.w, c.at, got)
		}
	}
}

// The clocks change inside the window: it opens all the same, once, never before its time.
// A window of the lost hour is moved behind it, and of the hour that there is twice the
// first counts.
func TestSendWindowWhenTheClocksChange(t *testing.T) {
	const (
		north = "Europe/Berlin"       // 2026-03-29 02:00 to 03:00 at 01:00Z; 2026-10-25 03:00 to 02:00 at 01:00Z
		west  = "America/New_York"    // 2026-03-08 02:00 to 03:00 at 07:00Z; 2026-11-01 02:00 to 01:00 at 06:00Z
		south = "Australia/Sydney"    // 2026-10-04 02:00 to 03:00 at 16:00Z the day before; 2026-04-05 03:00 to 02:00 at 16:00Z the day before
		half  = "Australia/Lord_Howe" // by half an hour: 2026-10-04 02:00 to 02:30 at 15:30Z the day before
	)
	for _, c := range []struct {
		zone, from, to, at, opens, closes string
	}{
		// Spring.
		{north, "02:15", "02:45", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}, // all of it is lost
		{north, "02:15", "02:45", "2026-03-29T01:29:59Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		{north, "02:15", "02:45", "2026-03-29T01:30:00Z", "2026-03-30T00:15:00Z", "2026-03-30T00:45:00Z"},
		{north, "02:00", "03:00", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{north, "02:30", "03:10", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:10:00Z"}, // its beginning
		{north, "02:30", "09:00", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T07:00:00Z"},
		{north, "01:30", "02:30", "2026-03-28T12:00:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"}, // its end
		{north, "01:30", "03:30", "2026-03-28T12:00:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}, // the hour in it
		{north, "22:00", "02:30", "2026-03-28T12:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T01:00:00Z"}, // over midnight
		{north, "02:30", "02:30", "2026-03-29T00:30:00Z", "2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"}, // always
		{north, "02:30", "02:30", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{west, "02:15", "02:45", "2026-03-08T00:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z"},
		{west, "02:30", "05:00", "2026-03-08T00:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T09:00:00Z"},
		{south, "02:15", "02:45", "2026-10-03T12:00:00Z", "2026-10-03T16:00:00Z", "2026-10-03T16:30:00Z"},
		{south, "01:00", "02:30", "2026-10-03T12:00:00Z", "2026-10-03T15:00:00Z", "2026-10-03T16:00:00Z"},
		{south, "02:30", "06:00", "2026-10-03T12:00:00Z", "2026-10-03T16:00:00Z", "2026-10-03T19:00:00Z"},
		{half, "02:10", "02:20", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z", "2026-10-03T15:40:00Z"},
		// Autumn.
		{north, "02:15", "02:45", "2026-10-24T12:00:00Z", "2026-10-25T00:15:00Z", "2026-10-25T00:45:00Z"}, // shown twice, open once
		{north, "02:15", "02:45", "2026-10-25T01:20:00Z", "2026-10-26T01:15:00Z", "2026-10-26T01:45:00Z"},
		{north, "02:30", "09:00", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T08:00:00Z"},
		{north, "01:00", "02:30", "2026-10-24T12:00:00Z", "2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"},
		{north, "01:00", "04:00", "2026-10-24T12:00:00Z", "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z"},
		{north, "03:00", "04:00", "2026-10-24T12:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T03:00:00Z"}, // shown once
		{west, "01:15", "01:45", "2026-11-01T00:00:00Z", "2026-11-01T05:15:00Z", "2026-11-01T05:45:00Z"},
		{west, "01:30", "05:00", "2026-11-01T00:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T10:00:00Z"},
		{south, "02:15", "02:45", "2026-04-04T12:00:00Z", "2026-04-04T15:15:00Z", "2026-04-04T15:45:00Z"},
		{south, "02:30", "06:00", "2026-04-04T12:00:00Z", "2026-04-04T15:30:00Z", "2026-04-04T20:00:00Z"},
		// Clocks that went forward at midnight, and a day that there never was.
		{"Africa/Cairo", "00:10", "00:40", "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z", "2026-04-23T22:30:00Z"},
		{"Pacific/Apia", "09:00", "18:00", "2011-12-30T05:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31T04:00:00Z"},
		{"UTC", "02:15", "02:45", "2026-03-29T00:00:00Z", "2026-03-29T02:15:00Z", "2026-03-29T02:45:00Z"},
	} {
		w := gateway.SendWindow{From: c.from, To: c.to, TimeZone: c.zone}
		if opens, closes := w.Around(instant(t, c.at)); !opens.Equal(instant(t, c.opens)) || !closes.Equal(instant(t, c.closes)) {
			t.Errorf("%s to %s in %s at %s: %s to %s, want %s to %s", c.from, c.to, c.zone, c.at, opens.UTC(), closes.UTC(), c.opens, c.closes)
		}
	}
}

// Whatever the zone, the window and the time: it opens at or after its clock allows, what
// is inside stays inside until it closes, and it opens at least once in two days.
func TestSendWindowNeverSkipsADay(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo", "America/Nuuk", "Asia/Beirut", "UTC"} {
		for _, hours := range [][2]string{{"02:15", "02:45"}, {"00:00", "00:30"}, {"23:15", "00:15"}, {"01:59", "02:01"}} {
			w := gateway.SendWindow{From: hours[0], To: hours[1], TimeZone: zone}
			for at := instant(t, "2026-01-01T00:00:00Z"); at.Year() == 2026; {
				opens, closes := w.Around(at)
				if !closes.After(opens) || !closes.After(at) || opens.Sub(at) > 26*time.Hour || closes.Sub(opens) > 3*time.Hour {
					t.Fatalf("%+v at %s: %s to %s", w, at, opens, closes)
				}
				if o, c := w.Around(closes.Add(-1)); !o.Equal(opens) || !c.Equal(closes) {
					t.Fatalf("%+v: %s to %s, and at its end %s to %s", w, opens, closes, o, c)
				}
				at = closes
			}
		}
	}
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSendWindowNamesTheField(t *testing.T) {
	good := gateway.SendWindow{From: "09:00", To: "18:00", TimeZone: "UTC"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for field, w := range map[string]gateway.SendWindow{
		"from":      {From: "9:00", To: "18:00", TimeZone: "UTC"},
		"to":        {From: "09:00", To: "25:00", TimeZone: "UTC"},
		"days":      {From: "09:00", To: "18:00", Days: []string{"monday"}, TimeZone: "UTC"},
		"time_zone": {From: "09:00", To: "18:00", TimeZone: "Local"},
	} {
		if wrong := w.Check(); len(wrong) != 1 || wrong[0].Field != field || wrong[0].Detail == "" {
			t.Errorf("%s: %v", field, wrong)
		}
		if opens, closes := w.Around(time.Now()); !opens.IsZero() || !closes.IsZero() {
			t.Errorf("%s: opens %s to %s", field, opens, closes)
		}
	}
}
