package gateway

import (
	"strings"
	"testing"
	"time"
)

func TestWhatIsFetched(t *testing.T) {
	received := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	const week = 7 * 24 * time.Hour
	file := &Media{ID: "1"}
	for _, c := range []struct {
		name string
		item Item
		life time.Duration
		want *Fetch
	}{
		{"a message", Item{Kind: KindMessage, Content: Content{Media: file}}, week, &Fetch{Until: received.Add(week)}},
		{"by URL alone", Item{Kind: KindMessage, Content: Content{Media: &Media{URL: "https://x"}}}, week, &Fetch{Until: received.Add(week)}},
		{"an edit", Item{Kind: KindChange, Content: Content{Media: file}}, week, &Fetch{Until: received.Add(week)}},
		{"an echo", Item{Kind: KindEcho, Content: Content{Media: file}}, week, &Fetch{Until: received.Add(week)}},
		{"history", Item{Kind: KindMessage, Observed: ObservedHistory, Content: Content{Media: file}}, week, &Fetch{Low: true, Until: received.Add(week)}},
		{"standby", Item{Kind: KindMessage, Observed: ObservedStandby, Content: Content{Media: file}}, week, nil},
		{"a notice", Item{Kind: KindNotice, Content: Content{Media: file}}, week, nil},
		{"its own time", Item{Kind: KindMessage, MediaLife: time.Minute, Content: Content{Media: file}}, week, &Fetch{Until: received.Add(time.Minute)}},
		{"its own time, of a platform whose files are not fetched", Item{Kind: KindMessage, MediaLife: time.Minute, Content: Content{Media: file}}, 0, nil},
		{"no file", Item{Kind: KindMessage}, week, nil},
		{"nothing to fetch it by", Item{Kind: KindMessage, Content: Content{Media: &Media{MIME: "image/png"}}}, week, nil},
		{"a platform whose files are not fetched", Item{Kind: KindMessage, Content: Content{Media: file}}, 0, nil},
	} {
		got := c.item.Fetch(received, c.life)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The notice is made once: its id follows from the event and the platform's id.
func TestMediaNotice(t *testing.T) {
	row := MediaRow{Event: "ev_1", Platform: "whatsapp", Account: "shop", Conv: "c", Message: "wamid.1", Media: Media{ID: "m1", MIME: "image/jpeg", URL: "https://secret"}}
	end := MediaEnd{State: MediaReady, File: strings.Repeat("a", 64), Size: 3, MIME: "image/png"}
	a, err := MediaNotice(&row, &end)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"media","id":"wamid.1","media":{"id":"m1","mime":"image/png","state":"ready","file":"` + strings.Repeat("a", 64) + `","size":3,"event":"ev_1"}}`
	if string(a.Content) != want {
		t.Errorf("content %s\nwant    %s", a.Content, want)
	}
	end.State, end.File, end.Reason = MediaUnavailable, "", MediaGone
	if b, err := MediaNotice(&row, &end); err != nil || b.ID != a.ID {
		t.Errorf("another end has another id: %v", err)
	}
	end.Filename = "plan.pdf"
	if b, err := MediaNotice(&row, &end); err != nil || !strings.Contains(string(b.Content), `"filename":"plan.pdf"`) {
		t.Errorf("a name that came with the bytes: %v", err)
	}
	row.Media.Filename = "as the message said"
	if b, err := MediaNotice(&row, &end); err != nil || strings.Contains(string(b.Content), "plan.pdf") {
		t.Errorf("the name of the message counts: %v", err)
	}
	row.Event = "ev_2"
	if b, err := MediaNotice(&row, &end); err != nil || b.ID == a.ID {
		t.Errorf("another event has the same id: %v", err)
	}
}

func TestValidFile(t *testing.T) {
	for name, want := range map[string]bool{
		strings.Repeat("0a", 32): true, strings.Repeat("0A", 32): false, strings.Repeat("0a", 31): false,
		"../" + strings.Repeat("a", 61): false, strings.Repeat("a", 63) + "\x00": false, "": false, strings.Repeat("g", 64): false,
	} {
		if ValidFile(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
