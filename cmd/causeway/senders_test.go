package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store/sqlite"
)

// How long a conversation waits for evidence goes by whether its platform ever tells, and
// what happens then by its account.
func TestWaitForEvidence(t *testing.T) {
	t.Parallel()
	c := &config.Config{Accounts: []config.Account{
		{Name: "shop", Platform: "whatsapp", PhoneNumberID: "1", OnUnknown: "resend_once"},
		{Name: "corp", Platform: "wecom", Kind: "app", CorpID: "ww1", AgentID: 1000002, Secret: "s"},
		{Name: "desk", Platform: "wecom", Kind: "kf", CorpID: "ww1", OpenKfID: "wk1", Secret: "s", OnUnknown: "hold", HoldUnknown: time.Hour},
		{Name: "alarm", Platform: "wecom", Kind: "robot", Key: "k"},
		{Name: "helper", Platform: "wecom", Kind: "aibot", BotID: "b"},
		{Name: "hub", Platform: "unified", GUID: "g"},
	}}
	d, err := newDirectory(c, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{o: appOptions{Config: c}, dir: d}
	for name, want := range map[string]struct {
		wait time.Duration
		rule gateway.OnUnknown
	}{
		"shop": {time.Minute, gateway.OnUnknown{Do: gateway.UnknownResend}}, "corp": {wait: 5 * time.Second},
		"desk": {time.Minute, gateway.OnUnknown{Do: gateway.UnknownHold, HoldFor: time.Hour}}, "alarm": {wait: 5 * time.Second},
		"helper": {wait: 5 * time.Second}, "hub": {wait: time.Minute}, "gone": {wait: 5 * time.Second},
	} {
		platform := ""
		if acc := a.account(name); acc != nil {
			platform = acc.Platform
		}
		if wait, rule := a.unknownWait(platform, name), a.onUnknown(name); wait != want.wait || rule != want.rule {
			t.Errorf("%s waits %s, then %+v; want %+v", name, wait, rule, want)
		}
	}
}

// What customers write is counted once, however many applications want it, and by the
// account it came to; what is read again, and what is no message, did not come just now.
func TestHeardFromCustomers(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	now, made := time.Now(), 0
	item := func(account string, kind gateway.Kind, origin gateway.Origin, apps ...string) gateway.ItemRow {
		made++
		return gateway.ItemRow{State: gateway.ItemEvent, Index: made, Wanted: apps,
			Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: fmt.Sprint(made % 2)}}},
			Event: gateway.EventRow{ID: fmt.Sprint("ev_", made), Platform: "whatsapp", Account: account, Kind: kind, Chat: gateway.ChatSingle,
				Origin: origin, ReceivedAt: now, Content: []byte(`{"type":"text"}`)}}
	}
	live, message := gateway.OriginLive, gateway.KindMessage
	rows := func(items ...gateway.ItemRow) []gateway.Pending {
		t.Helper()
		p := &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: now, Body: []byte("{}")}
		if err := s.Archive.Append(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		r, err := s.Ledger.Relay(t.Context(), &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: p.Pos, Platform: "whatsapp",
			Endpoint: "meta", ReceivedAt: now, Items: items, Last: true}}}, now)
		if err != nil {
			t.Fatal(err)
		}
		return r.Pending
	}
	for name, c := range map[string]struct {
		rows []gateway.Pending
		want []string
	}{
		"nothing":               {nil, nil},
		"one for three":         {rows(item("a", message, live, "x", "y", "z")), []string{"a 1"}},
		"some for two":          {rows(item("a", message, live, "x", "y"), item("a", message, live, "x", "y"), item("a", message, live, "y")), []string{"a 3"}},
		"of several accounts":   {rows(item("a", message, live, "x", "y"), item("b", message, live, "x"), item("b", message, live, "y"), item("a", message, live, "x")), []string{"a 1", "b 2", "a 1"}},
		"that nobody wants":     {rows(item("a", message, live), item("a", message, live, "x")), []string{"a 1"}},
		"other kinds":           {rows(item("a", gateway.KindChange, live, "x"), item("a", message, live, "x"), item("a", gateway.KindEcho, live, "x")), []string{"a 1"}},
		"found later":           {rows(item("a", message, gateway.OriginBackfill, "x"), item("b", message, live, "x")), []string{"b 1"}},
		"without what they are": {[]gateway.Pending{{App: "x", N: 7}}, nil},
	} {
		var told []string
		heardFrom(c.rows, func(account string, n int) { told = append(told, fmt.Sprint(account, " ", n)) })
		if !slices.Equal(told, c.want) {
			t.Errorf("%s: %v, want %v", name, told, c.want)
		}
	}
}

// What lies in the archive unread is as old as the oldest of it.
func TestUnreadOfTheArchive(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a := &app{archive: s.Archive, ledger: s.Ledger}
	came := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i := range 2 {
		p := &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: came.Add(time.Duration(i) * time.Minute), Body: []byte("{}")}
		if err := s.Archive.Append(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		want := came.Add(time.Duration(i) * time.Minute)
		if i == 2 {
			want = time.Time{}
		}
		if got, err := a.unread(t.Context()); err != nil || !got.Equal(want) {
			t.Errorf("with %d read: %s %v, want %s", i, got, err, want)
		}
		_, err := s.Ledger.Relay(t.Context(), &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: int64(i + 1), Platform: "whatsapp", Endpoint: "meta", ReceivedAt: came, Last: true}}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
	}
}
