package sqlite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"testing"
	"time"

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

// Conversations whose ids begin alike are told apart, and when their numbers are
// used up a new one is refused before anything of it is written.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	at := time.Now()
	b := benchBatch(1, 1, 1, at)
	conv := gateway.ConvID(l.identity.Secret, "whatsapp", "shop", gateway.ChatSingle, b.Payloads[0].Items[0].Chat.Identities[0])
	crowd := func(n int) error {
		return l.write(t.Context(), false, 0, func(c *conn) error {
			for i := range n {
				if _, err := c.exec(`INSERT INTO conversation (c, conv, platform, account, chat, last_seq, newest_at, hops, hop_at, last_human_at)
					VALUES (?, ?, 'whatsapp', 'shop', 'single', 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING`,
					convKey(conv)+int64(i), fmt.Sprint(conv[:12], i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := crowd(convKeys - 1); err != nil {
		t.Fatal(err)
	}
	r, err := l.Relay(t.Context(), b, at)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Pending[0]; p.Conv != conv {
		t.Errorf("the conversation is %s, want %s", p.Conv, conv)
	}
	for range 2 { // by memory and by the rows
		heads, err := l.Heads(t.Context(), "bot", fmt.Sprint(conv[:12], 0), 10)
		if err != nil || len(heads) != 1 || heads[0].Conv != conv {
			t.Errorf("heads: %v, %v", heads, err)
		}
		got, err := l.Conversation(t.Context(), conv, 10)
		if err != nil || len(got.Events) != 1 || len(got.Identities) != 1 {
			t.Errorf("conversation: %+v, %v", got, err)
		}
		if _, err := l.Conversation(t.Context(), conv[:12]+"0", 10); err != nil {
			t.Error(err)
		}
		if _, err := l.Conversation(t.Context(), conv[:12]+"9", 10); !errors.Is(err, gateway.ErrNotFound) {
			t.Errorf("an unknown neighbour: %v", err)
		}
		l.book.forget()
	}
	out, err := l.Settle(t.Context(), gateway.ReplyPosition{Created: at, Seq: 1}, []gateway.Settlement{
		{App: "bot", Conv: conv[:12] + "0", Answer: gateway.Answer{Event: r.Pending[0].Delivery()}},
		{App: "bot", Conv: conv, Answer: gateway.Answer{Event: r.Pending[0].Delivery()}},
	}, func(*gateway.Pending, *gateway.Answer) gateway.Decision {
		return gateway.Decision{State: gateway.EventSettled, Replies: []gateway.Reply{{Text: "ok"}}}
	}, at)
	if err != nil || !out[0].Late || out[1].Late {
		t.Errorf("answers for two neighbours: %+v, %v", out, err)
	}
	agree(t, l)

	l = openAt(t, t.TempDir()).Ledger
	conv = gateway.ConvID(l.identity.Secret, "whatsapp", "shop", gateway.ChatSingle, b.Payloads[0].Items[0].Chat.Identities[0])
	if err := crowd(convKeys); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Relay(t.Context(), b, at); !errors.Is(err, gateway.ErrConflict) {
		t.Errorf("a fifth neighbour: %v", err)
	}
	agree(t, l)
}
