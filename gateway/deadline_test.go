package gateway_test

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func TestDeadline(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 3, 1, 12, 0, 20, 0, time.UTC)
	const welcome = `"handle":{"kind":"welcome","code":"k","until":"2026-03-01T12:00:20Z"}`
	for _, c := range []struct {
		name string
		kind gateway.Kind
		body string
		lane gateway.Lane
		re   int
		want time.Time
	}{
		{"state", gateway.KindState, `{"type":"x",` + welcome + `}`, gateway.LaneLive, 0, until},
		{"notice", gateway.KindNotice, `{` + welcome + `}`, gateway.LaneLive, 0, until},
		{"message", gateway.KindMessage, `{` + welcome + `}`, gateway.LaneLive, 0, time.Time{}},
		{"only in the raw part", gateway.KindState, `{"type":"x","raw":{` + welcome + `}}`, gateway.LaneLive, 0, time.Time{}},
		{"another handle", gateway.KindNotice, `{"text":"\"welcome\"","handle":{"kind":"card","code":"welcome","until":"2026-03-01T12:00:20Z"}}`, gateway.LaneLive, 0, time.Time{}},
		{"no time", gateway.KindState, `{"handle":{"kind":"welcome","code":"k","until":null}}`, gateway.LaneLive, 0, time.Time{}},
		{"a replay", gateway.KindState, `{` + welcome + `}`, gateway.LaneReplay, 0, time.Time{}},
		{"requeued", gateway.KindState, `{` + welcome + `}`, gateway.LaneLive, 1, time.Time{}},
	} {
		p := gateway.Pending{Lane: c.lane, Requeue: c.re, Row: &gateway.EventRow{Kind: c.kind, Content: []byte(c.body)}}
		if got := p.Deadline(); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// One try before the deadline, and none after it; what loses nothing still counts.
func TestDecideBefore(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 3, 1, 12, 0, 20, 0, time.UTC)
	app := gateway.Application{Name: "bot", Tries: 4, Replies: true, Delays: []time.Duration{time.Second}}
	watcher := gateway.Application{Name: "watcher", Tries: 4}
	says := func(v gateway.Verdict, replies ...gateway.Reply) *gateway.Answer {
		return &gateway.Answer{Verdict: v, Replies: replies}
	}
	hello := gateway.Reply{Type: "text", Text: "hello"}
	for _, c := range []struct {
		name   string
		app    *gateway.Application
		a      *gateway.Answer
		late   time.Duration
		state  gateway.EventState
		reason string
	}{
		{"in time", &app, says(gateway.VerdictDone, hello), -time.Nanosecond, gateway.EventSettled, "done"},
		{"at the deadline", &app, says(gateway.VerdictDone, hello), 0, gateway.EventDead, gateway.ReasonTooLate},
		{"late with nothing to say", &app, says(gateway.VerdictDone), time.Hour, gateway.EventSettled, "done"},
		{"late observer", &watcher, says(gateway.VerdictDone, hello), time.Hour, gateway.EventSettled, "done"},
		{"the only try", &app, says(gateway.VerdictRetry), -time.Second, gateway.EventDead, gateway.ReasonTries},
		{"late retry", &app, says(gateway.VerdictRetry), time.Second, gateway.EventDead, gateway.ReasonTooLate},
		{"given up", &app, says(gateway.VerdictDead), -time.Second, gateway.EventDead, gateway.ReasonVerdict},
		{"given up late", &app, says(gateway.VerdictDead), time.Second, gateway.EventDead, gateway.ReasonTooLate},
		{"handed back", &app, says(gateway.VerdictHandback), -time.Second, gateway.EventPending, "handback"},
		{"handed back late", &app, says(gateway.VerdictHandback), time.Second, gateway.EventDead, gateway.ReasonTooLate},
	} {
		d := gateway.DecideBefore(until, c.app, &gateway.Pending{}, c.a, until.Add(c.late))
		if d.State != c.state || d.Reason != c.reason || d.State == gateway.EventDead && (d.Tries != 1 || len(d.Replies) > 0) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	if d := gateway.DecideBefore(time.Time{}, &app, &gateway.Pending{}, says(gateway.VerdictRetry), until); d.State != gateway.EventPending {
		t.Errorf("without a deadline: %+v", d)
	}
}
