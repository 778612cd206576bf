package sqlite

import (
	"bytes"
	"cmp"
	"fmt"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// FuzzEventKey: every id comes back as it was, and no two are stored as one.
func FuzzEventKey(f *testing.F) {
	whole := gateway.EventID("whatsapp", &gateway.Item{Key: "1"})
	f.Add(whole, whole[:len(whole)-1]+"7")
	f.Add("ev_", "ev_1")
	f.Add("ev_aaaaaaaaaaaaaaaaaaaaaaaaaa", "ev_aaaaaaaaaaaaaaaaaaaaaaaaab")
	f.Add("ev_77777777777777777777777774", "EV_77777777777777777777777774")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, id := range []string{a, b} {
			if got := eventID(eventKey(id)); got != id {
				t.Errorf("%q came back as %q", id, got)
			}
		}
		x, okX := eventKey(a).([]byte)
		y, okY := eventKey(b).([]byte)
		if okX && okY && bytes.Equal(x, y) != (a == b) {
			t.Errorf("%q and %q are stored as one", a, b)
		}
	})
}

// The ids that the gateway makes are stored short, and numbers of conversations
// are in the order of their ids.
func TestKeys(t *testing.T) {
	t.Parallel()
	last, lastKey := "", int64(0)
	for i := range 1000 {
		it := &gateway.Item{Key: fmt.Sprint(i)}
		if key, ok := eventKey(gateway.EventID("whatsapp", it)).([]byte); !ok || len(key) != eventBytes {
			t.Fatalf("event id %d is stored as %v", i, key)
		}
		conv := gateway.ConvID([]byte("secret"), "whatsapp", "shop", gateway.ChatSingle, gateway.Identity{Kind: "phone", Value: it.Key})
		key := convKey(conv)
		if key < 0 || key%convKeys != 0 || cmp.Compare(conv, last) != cmp.Compare(key, lastKey) {
			t.Errorf("conversation %s has number %d, %s has %d", conv, key, last, lastKey)
		}
		last, lastKey = conv, key
	}
	for _, odd := range []string{"", "a", "!!", "ÄÖÜ", "0189", "zzzzzzzzzzzzzzzzzzzzzzzzzz"} {
		if convKey(odd) < 0 {
			t.Errorf("%q has a negative number", odd)
		}
	}
}
