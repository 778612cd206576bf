package gateway

import (
	"testing"
	"time"
)

func TestCustomerWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	wa, kf := CustomerWindow{For: 24 * time.Hour}, CustomerWindow{For: 48 * time.Hour, Most: 5}
	ago := func(d time.Duration, sent int) Heard { return Heard{At: now.Add(-d), Sent: sent} }
	text := Reply{Type: ReplyText}
	for _, c := range []struct {
		name string
		w    CustomerWindow
		h    Heard
		r    Reply
		open bool
	}{
		{"just written", wa, ago(0, 100), text, true},
		{"at the end", wa, ago(24*time.Hour, 0), text, true},
		{"within the margin", wa, ago(24*time.Hour+CustomerWindowMargin, 0), text, true},
		{"beyond it", wa, ago(24*time.Hour+CustomerWindowMargin+time.Second, 0), text, false},
		{"no type is a text", wa, ago(25*time.Hour, 0), Reply{}, false},
		{"a template", wa, ago(1000*time.Hour, 0), Reply{Type: ReplyTemplate}, true},
		{"marking read", wa, ago(1000*time.Hour, 0), Reply{Type: ReplyRead}, true},
		{"a reaction", wa, ago(1000*time.Hour, 0), Reply{Type: ReplyReaction}, false},
		{"nothing known", wa, Heard{Sent: 9}, text, true},
		{"the platform's clock is ahead", wa, ago(-time.Hour, 0), text, true},
		{"the fifth", kf, ago(time.Hour, 4), text, true},
		{"the sixth", kf, ago(time.Hour, 5), text, false},
		{"a session handed over", kf, ago(time.Hour, 5), Reply{Type: ReplyTransfer}, true},
		{"by a code", kf, ago(100*time.Hour, 5), Reply{Type: ReplyText, Handle: &Handle{Kind: HandleSession}}, true},
		{"49 hours", kf, ago(49*time.Hour, 0), text, false},
		{"no bounds", CustomerWindow{}, ago(1000*time.Hour, 100), text, true},
	} {
		if why := c.w.Closed(c.h, &c.r, now); (why == "") != c.open {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
