package gateway_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// rowsAt makes waiting messages that came so many seconds after a moment.
func rowsAt(from time.Time, seconds ...int) []gateway.Pending {
	var out []gateway.Pending
	for i, s := range seconds {
		n := int64(i + 1)
		out = append(out, gateway.Pending{App: "bot", Conv: "c", Seq: n, N: n, Row: &gateway.EventRow{N: n, Seq: n, Kind: gateway.KindMessage,
			ReceivedAt: from.Add(time.Duration(s) * time.Second), Content: []byte(`{"type":"text"}`)}})
	}
	return out
}

// What goes together, and when.
func TestCollectBundle(t *testing.T) {
	t0 := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	rule := gateway.Collect{Wait: 3 * time.Second, Longest: 12 * time.Second, Max: 4}
	change := func(i int, f func(*gateway.Pending)) func([]gateway.Pending) {
		return func(rows []gateway.Pending) { f(&rows[i]) }
	}
	large := func(p *gateway.Pending) { p.Row.Content = []byte(strings.Repeat("x", gateway.CollectBytes*2/3)) }
	for _, c := range []struct {
		name   string
		at     []int // seconds at which they came
		change func([]gateway.Pending)
		now    int
		n, due int
	}{
		{"one, just come", []int{0}, nil, 0, 1, 3},
		{"one, and it is quiet", []int{0}, nil, 3, 1, 3},
		{"each one puts it off", []int{0, 2, 4}, nil, 4, 3, 7},
		{"but the first waits no longer", []int{0, 2, 11}, nil, 11, 3, 12},
		{"a backlog", []int{0, 0, 0, 0, 0, 0}, nil, 100, 4, 100},
		{"it is full", []int{0, 0, 1, 1}, nil, 1, 4, 1},
		{"a change behind it", []int{0, 1, 1}, change(2, func(p *gateway.Pending) { p.Row.Kind = gateway.KindChange }), 1, 2, 1},
		{"a change in front", []int{0, 1}, change(0, func(p *gateway.Pending) { p.Row.Kind = gateway.KindChange }), 1, 1, 1},
		{"requeued in front", []int{0, 1}, change(0, func(p *gateway.Pending) { p.Requeue = 1 }), 1, 1, 1},
		{"requeued behind", []int{0, 1}, change(1, func(p *gateway.Pending) { p.Requeue = 1 }), 1, 1, 1},
		{"offered before", []int{0, 1}, change(0, func(p *gateway.Pending) { p.Round = 1 }), 1, 1, 1},
		{"failed before", []int{0, 1, 1}, change(1, func(p *gateway.Pending) { p.Tries = 1 }), 1, 1, 1},
		{"a replay behind", []int{0, 1}, change(1, func(p *gateway.Pending) { p.Lane = gateway.LaneReplay }), 1, 1, 3},
		{"settled to go alone", []int{0, 1}, change(0, func(p *gateway.Pending) { p.Lead = p.N }), 1, 1, 1},
		{"too large together", []int{0, 1}, func(rows []gateway.Pending) { large(&rows[0]); large(&rows[1]) }, 1, 1, 1},
		{"large in front of small", []int{0, 1}, change(0, large), 1, 2, 4},
		{"the clock went back", []int{3600, 3601}, nil, 0, 2, 0},
	} {
		rows := rowsAt(t0, c.at...)
		if c.change != nil {
			c.change(rows)
		}
		n, due := rule.Bundle(rows, t0.Add(time.Duration(c.now)*time.Second))
		if n != c.n || !due.Equal(t0.Add(time.Duration(c.due)*time.Second)) {
			t.Errorf("%s: %d at %s, want %d at %ds", c.name, n, due.Sub(t0), c.n, c.due)
		}
	}
}

// A bundle is named by its last event, never like an event alone, and not like
// another bundle.
func TestBundleDelivery(t *testing.T) {
	p := gateway.Pending{Seq: 7, N: 70, Event: "ev_a", Lead: 70, Last: "ev_c"}
	if id := p.Delivery(); id != "ev_c.c7" || !gateway.IsBundle(id) {
		t.Errorf("delivery %q", id)
	}
	if event, run := gateway.SplitDeliveryID(p.Delivery()); event != "ev_c" || run != "" {
		t.Errorf("it is apart %q %q", event, run)
	}
	for _, id := range []string{"ev_c", "ev_c.q1", "ev_c.run_01", ""} {
		if gateway.IsBundle(id) {
			t.Errorf("%q is taken for a bundle", id)
		}
	}
}

// The body of a bundle is the last event with the others in it, and is read back as
// they were, raw parts included.
func TestBundleBody(t *testing.T) {
	t0 := time.Date(2026, 11, 30, 8, 0, 0, 5000, time.UTC)
	rows := make([]gateway.EventRow, 3)
	for i := range rows {
		content, err := gateway.EncodeContent(&gateway.Content{Type: "text", Text: []string{"hi", "", `about ,"collected":[ "12"`}[i], Raw: []byte(`{"a":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = gateway.EventRow{N: int64(i), ID: "ev_" + string(rune('a'+i)), Platform: "whatsapp", Account: "shop", Conv: "c", Chat: gateway.ChatSingle,
			Seq: int64(i + 1), Kind: gateway.KindMessage, Origin: gateway.OriginLive, Payload: "pl_1", ReceivedAt: t0, Content: content}
	}
	alone := func(i int) *gateway.Event {
		e, err := gateway.DecodeEvent(rows[i].Body("ev_c.c1"))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	got, err := gateway.DecodeEvent(rows[2].BodyWith(rows[:2], "ev_c.c1"))
	if err != nil {
		t.Fatal(err)
	}
	want := alone(2)
	want.Collected = []*gateway.Event{alone(0), alone(1)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if all := got.All(); len(all) != 3 || all[0].Text != "hi" || all[2] != got || len(alone(1).All()) != 1 {
		t.Errorf("all: %+v", all)
	}
	if s := got.AllText(); s != "hi\n"+got.Text {
		t.Errorf("text %q", s)
	}
}
