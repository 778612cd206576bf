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
