package admin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// Every filter comes through, and wrong ones are named.
func TestMessagesAreFiltered(t *testing.T) {
	s := open(t)
	status, _, text := s.send(t, viewer, "GET /api/v1/messages?state=waiting&account=shop-a&app=bot&conv="+conv+"&task="+messageID+
		"&key=june-&due_from=2026-12-01T08:00:00Z&due_until=2026-12-02T08:00:00Z&after=june-7&limit=5", "")
	at := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	want := store.MessageQuery{State: gateway.MessageWaiting, Account: "shop-a", App: "bot", Conv: conv, Task: messageID, Key: "june-",
		DueFrom: at, DueUntil: at.AddDate(0, 0, 1), After: "june-7", Limit: 5}
	if d := cmp.Diff(want, s.query); status != 200 || d != "" || !strings.Contains(text, `"next":"7"`) {
		t.Errorf("%d %s\n%s", status, text, d)
	}
	for query, field := range map[string]string{
		"state=lost": "state", "conv=LEAK": "conv", "task=LEAK": "task", "key=" + strings.Repeat("k", 129): "key", "after=LEAK": "after",
		"due_from=2026-12-01T08:00:00Z&due_until=2026-12-01T07:00:00Z": "due_until", "account=Shop": "account", "text=x": "text",
	} {
		status, _, text := s.send(t, viewer, "GET /api/v1/messages?"+query, "")
		var p admin.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != 400 || len(p.Errors) != 1 || p.Errors[0].Field != field || strings.Contains(text, "LEAK") {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
}

// What is to be done to many messages comes through; a request that could mean another
// thing is refused.
func TestMessagesAreChanged(t *testing.T) {
	s := open(t)
	at := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	for body, want := range map[string]admin.ChangeRequest{
		`{"do":"cancel","filter":{"account":"shop-a"},"dry_run":true,"limit":7}`:              {Do: "cancel", Query: store.MessageQuery{Account: "shop-a"}, DryRun: true, Limit: 7},
		`{"do":"reschedule","messages":["` + messageID + `"],"at":"2026-12-01T08:00:00Z"}`:    {Do: "reschedule", Messages: []string{messageID}, At: at},
		`{"do":"reschedule","filter":{"key":"june"},"over":"2h","at":"2026-12-01T08:00:00Z"}`: {Do: "reschedule", Query: store.MessageQuery{Key: "june"}, At: at, Over: 2 * time.Hour},
		`{"do":"reschedule","filter":{"key":"june"},"by":"-30m"}`:                             {Do: "reschedule", Query: store.MessageQuery{Key: "june"}, By: -30 * time.Minute},
		`{"do":"reschedule","filter":{"key":"june"},"by":"1h","idempotency_key":"k 1~"}`:      {Do: "reschedule", Query: store.MessageQuery{Key: "june"}, By: time.Hour, Key: "k 1~"},
		`{"do":"priority","filter":{"state":"held"},"priority":0}`:                            {Do: "priority", Query: store.MessageQuery{State: "held"}},
	} {
		status, _, text := s.send(t, operator, "POST /api/v1/messages:change", body)
		s.change.Digest = nil // see TestChangeUnderAKey
		if d := cmp.Diff(want, s.change); status != 200 || d != "" {
			t.Errorf("%s: %d %s\n%s", body, status, text, d)
		}
	}
	s.taken()
	for body, want := range map[string][]string{
		`{}`:                          {"do", "messages"},
		`{"do":"cancel"}`:             {"messages"},
		`{"do":"cancel","filter":{}}`: {"messages"},
		`{"do":"LEAK","filter":{"state":"lost","colour":"LEAK","limit":"1"},"messages":["LEAK"]}`:          {"do", "filter.colour", "filter.limit", "filter.state", "messages[0]"},
		`{"do":"cancel","messages":["` + messageID + `"],"filter":{"account":"shop-a"}}`:                   {"messages"},
		`{"do":"reschedule","messages":["` + messageID + `"]}`:                                             {"at"},
		`{"do":"reschedule","messages":["` + messageID + `"],"at":"LEAK"}`:                                 {"at"},
		`{"do":"reschedule","messages":["` + messageID + `"],"by":"LEAK"}`:                                 {"by"},
		`{"do":"reschedule","messages":["` + messageID + `"],"by":"1h","over":"1h"}`:                       {"at"},
		`{"do":"hold","messages":["` + messageID + `"],"at":"2026-12-01T08:00:00Z"}`:                       {"at"},
		`{"do":"priority","messages":["` + messageID + `"]}`:                                               {"priority"},
		`{"do":"priority","messages":["` + messageID + `"],"priority":10}`:                                 {"priority"},
		`{"do":"hold","messages":["` + messageID + `"],"priority":1,"limit":-1}`:                           {"limit", "priority"},
		`{"do":"reschedule","messages":["` + messageID + `"],"by":"1h","idempotency_key":"LEAK\n"}`:        {"idempotency_key"},
		`{"do":"reschedule","filter":{"key":"june"},"at":"2026-12-01T08:00:00Z","idempotency_key":"LEAK"}`: {"idempotency_key"},
		`{"do":"cancel","filter":{"key":"june"},"idempotency_key":"LEAK"}`:                                 {"idempotency_key"},
		`{"do":"hold","ids":["LEAK"]}`:                                                                     {"ids"},
	} {
		status, _, text := s.send(t, operator, "POST /api/v1/messages:change", body)
		var p admin.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || strings.Contains(text, "LEAK") {
			t.Errorf("%s: %s", body, text)
		}
		fields := map[string]bool{}
		for _, f := range p.Errors {
			fields[f.Field] = true
		}
		wanted := map[string]bool{}
		for _, f := range want {
			wanted[f] = true
		}
		if d := cmp.Diff(wanted, fields); status != 400 || d != "" {
			t.Errorf("%s: %d\n%s", body, status, d)
		}
	}
	if calls := s.taken(); calls != "" {
		t.Errorf("done: %s", calls)
	}
	if status, _, text := s.send(t, operator, "POST /api/v1/messages/"+messageID+"/resolve", `{"as":"LEAK"}`); status != 400 || strings.Contains(text, "LEAK") {
		t.Errorf("%d %s", status, text)
	}
}

// A key stands for all that was asked for, however it is written, but for the key itself
// and whether it is a dry run.
func TestChangeUnderAKey(t *testing.T) {
	s := open(t)
	digest := func(body string) string {
		if status, _, text := s.send(t, operator, "POST /api/v1/messages:change", body); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		return string(s.change.Digest)
	}
	want := digest(`{"do":"reschedule","filter":{"key":"june","account":"shop-a"},"by":"1h","idempotency_key":"a"}`)
	if got := digest(`{"by":"1h","dry_run":true, "filter":{"account":"shop-a","key":"june"},"do":"reschedule","idempotency_key":"b"}`); got != want {
		t.Error("the same has another digest")
	}
	for _, other := range []string{`"filter":{"key":"june"},"by":"1h"`, `"filter":{"key":"june","account":"shop-a"},"by":"2h"`,
		`"filter":{"key":"june","account":"shop-a"},"over":"1h"`, `"filter":{"key":"june","account":"shop-a"},"by":"1h","limit":2`,
		`"messages":["` + messageID + `"],"by":"1h"`} {
		if digest(`{"do":"reschedule","idempotency_key":"a",`+other+`}`) == want {
			t.Errorf("%s has the same digest", other)
		}
	}
}
