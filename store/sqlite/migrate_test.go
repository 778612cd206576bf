package sqlite_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/sqlite"
)

// firstStore unpacks a store that the first release's code wrote: a conversation
// known by a number with a message that waits, and one known by a BSUID with an
// event that waits.
func firstStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"archive.db", "ledger.db"} {
		f, err := os.Open(filepath.Join("testdata", "first", name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What the first schema holds is what it was, and the new rules apply to it.
func TestStoreOfTheFirstSchema(t *testing.T) {
	t.Parallel()
	dir := firstStore(t)
	ctx := t.Context()
	find := func(l store.Ledger, kind, value string) string {
		t.Helper()
		conv, err := l.FindConversation(ctx, "whatsapp", "shop", gateway.Identity{Kind: kind, Value: value})
		if err != nil {
			t.Fatal(err)
		}
		return conv
	}
	relay := func(l store.Ledger, pos int64, ids ...gateway.Identity) gateway.RelayResult {
		t.Helper()
		at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
		it := gateway.ItemRow{State: gateway.ItemEvent, Wanted: []string{"bot"}, Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: ids},
			Event: gateway.EventRow{ID: "ev_after", Platform: "whatsapp", Account: "shop", Kind: gateway.KindMessage, Chat: gateway.ChatSingle,
				ReceivedAt: at, OccurredAt: at, Content: []byte(`{"type":"text"}`)}}
		r, err := l.Relay(ctx, &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: pos, Platform: "whatsapp", Endpoint: "meta",
			ReceivedAt: at, Items: []gateway.ItemRow{it}, Last: true}}}, at)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	phone, bsuid := gateway.Identity{Kind: "phone", Value: "100"}, gateway.Identity{Kind: "bsuid", Value: "b.1"}
	var older, younger string
	for range 2 { // the second opening migrates nothing
		s, err := sqlite.Open(ctx, dir, options())
		if err != nil {
			t.Fatal(err)
		}
		l := s.Ledger
		older, younger = find(l, "phone", "100"), find(l, "bsuid", "b.1")
		m, _, err := l.NextMessage(ctx, older)
		if err != nil || m == nil || m.Reply.Text != "hello" || len(m.To) != 1 || m.To[0] != phone {
			t.Errorf("the message that waited: %+v, %v", m, err)
		}
		if heads, err := l.Heads(ctx, "bot", "", 10); err != nil || len(heads) != 1 || heads[0].Conv != younger {
			t.Errorf("the event that waited: %+v, %v", heads, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(ctx, dir, options())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := relay(s.Ledger, 3, bsuid, phone)
	if len(r.Merged) != 1 || r.Merged[0] != (gateway.Merge{Conv: younger, Into: older}) || r.Pending[0].Conv != older {
		t.Errorf("a merge of conversations of the first schema: %+v", r)
	}
	kept, err := s.Ledger.Sums(ctx)
	if err != nil {
		t.Fatal(err)
	}
	kept.Payloads.Archived = 3
	if broken := kept.Broken(); len(broken) > 0 {
		t.Errorf("sums: %v", broken)
	}
}
