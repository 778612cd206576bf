package sqlite

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// What was revoked and who waits for whom is in the file: another process knows it,
// and a write that fails takes back what it did in memory too.
func TestIdentityAndChangesAfterReopening(t *testing.T) {
	t.Parallel()
	dir, at, pos := t.TempDir(), time.Unix(1_700_000_000, 0), int64(0)
	var l *Ledger
	item := func(id string, names ...gateway.Identity) gateway.ItemRow {
		return gateway.ItemRow{State: gateway.ItemEvent, Wanted: []string{"bot"}, Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: names},
			Event: gateway.EventRow{ID: "ev_" + id, Platform: "whatsapp", Account: "shop", Kind: gateway.KindMessage, Chat: gateway.ChatSingle,
				ReceivedAt: at, OccurredAt: at, Content: []byte(`{"type":"text"}`)}}
	}
	relay := func(it gateway.ItemRow) gateway.RelayResult {
		t.Helper()
		pos++
		r, err := l.Relay(t.Context(), &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: pos, Platform: "whatsapp", Endpoint: "meta",
			ReceivedAt: at, Items: []gateway.ItemRow{it}, Last: true}}}, at)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	phone, bsuid := gateway.Identity{Kind: "phone", Value: "1"}, gateway.Identity{Kind: "bsuid", Value: "b"}
	s := openAt(t, dir)
	l = s.Ledger
	older := relay(item("1", phone)).Pending[0]
	younger := relay(item("2", bsuid)).Pending[0]
	both := item("3", bsuid, phone)

	// A write that fails after the merge: nothing of it stays.
	refused := errors.New("refused")
	err := l.write(t.Context(), false, 1, func(c *conn) error {
		w := relayWrite{l: l, c: c, now: at, items: bulk{text: l.texts.item}, payloads: bulk{text: l.texts.payload}, pending: bulk{text: l.texts.pending},
			b: &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: pos + 1, Items: []gateway.ItemRow{both}, Last: true}}}}
		if err := w.run(); err != nil || len(w.res.Merged) != 1 {
			t.Errorf("a merge to be taken back: %+v, %v", w.res, err)
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if m, err := l.Merges(t.Context()); err != nil || len(m) != 0 {
		t.Errorf("of a merge that was taken back: %v, %v", m, err)
	}
	if got, err := l.FindConversation(t.Context(), "whatsapp", "shop", bsuid); err != nil || got != younger.Conv {
		t.Errorf("the younger one's name leads to %s (%v)", got, err)
	}
	if p := relay(item("4", bsuid)).Pending[0]; p.Conv != younger.Conv || p.Seq != 2 {
		t.Errorf("the younger one goes on: %+v", p)
	}
	if r := relay(both); len(r.Merged) != 1 || r.Merged[0] != (gateway.Merge{Conv: younger.Conv, Into: older.Conv}) {
		t.Fatalf("merge: %+v", r)
	}
	revoke := item("6", phone)
	revoke.Event.Kind, revoke.Change = gateway.KindChange, &gateway.ChangeRow{Target: "m.1", Type: typeRevoke}
	relay(revoke)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	l = openAt(t, dir).Ledger
	if m, err := l.Merges(t.Context()); err != nil || len(m) != 1 || l.book.drains.Load() != 1 {
		t.Errorf("who waits for whom: %v, %v", m, err)
	}
	message := item("7", phone)
	message.MessageID = "m.1"
	if r := relay(message); r.Events != 1 || len(r.Pending) != 0 {
		t.Errorf("a message that was revoked before: %+v", r)
	}
	message = item("8", phone)
	message.MessageID = "m.2"
	if r := relay(message); len(r.Pending) != 1 || r.Pending[0].Conv != older.Conv {
		t.Errorf("another message: %+v", r)
	}
}

// The filter never says no wrongly, and seldom yes.
func TestRevokesFilter(t *testing.T) {
	t.Parallel()
	var f revokes
	key := func(i int) newestKey {
		return changeKey(&gateway.EventRow{Platform: "whatsapp", Account: "shop"}, string(binary.BigEndian.AppendUint32(nil, uint32(i))), typeRevoke, "") //nolint:gosec // small
	}
	if !f.none() || f.has(key(0)) {
		t.Error("an empty filter knows something")
	}
	const n = 20_000
	for i := range n {
		f.add(key(i))
	}
	wrong := 0
	for i := range 2 * n {
		switch has := f.has(key(i)); {
		case i < n && !has:
			t.Fatalf("key %d is lost", i)
		case i >= n && has:
			wrong++
		}
	}
	if wrong > n/200 {
		t.Errorf("%d of %d keys are found wrongly", wrong, n)
	}
}
