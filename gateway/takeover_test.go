package gateway

import (
	"encoding/json"
	"testing"
	"time"
)

// A marked event says who has the conversation, beside whatever else is marked, and
// keeps the rest byte for byte: a colleague's id may hold anything.
func TestMarkTaken(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	taken := &Taken{By: "Chen\"Hao\\<>\u2028", Since: at, Until: at.Add(time.Hour)}
	for _, content := range []string{``, `{}`, `{"type":"text","text":"<b>","raw":{"a":1e400}}`} {
		got, err := MarkTaken([]byte(content), taken)
		if err != nil || !json.Valid(got) {
			t.Fatalf("%q: %s, %v", content, got, err)
		}
		row := EventRow{ID: "ev_abcdefghijklmnopqrstuvwxyz", Conv: "c", Kind: KindMessage, Origin: OriginLive, ReceivedAt: at, Content: Supersede(got, SupersededNewer)}
		ev, err := DecodeEvent(row.Body("d"))
		if err != nil || ev.Takeover == nil || *ev.Takeover != *taken || ev.Superseded != SupersededNewer {
			t.Errorf("%q: %+v, %v", content, ev, err)
		}
		if len(content) > 2 && (ev.Text != "<b>" || string(ev.Raw) != `{"a":1e400}`) {
			t.Errorf("the rest of %q: %q %s", content, ev.Text, ev.Raw)
		}
	}
}

func TestPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    Message
		want bool
	}{{Message{}, false}, {Message{App: "bot"}, false}, {Message{Human: true}, true}, {Message{EvenInTakeover: true}, true}} {
		if c.m.Passes() != c.want {
			t.Errorf("%+v", c.m)
		}
	}
}
