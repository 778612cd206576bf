package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// TestSimulateEveryKfKind runs `causeway sandbox` and a gateway with the endpoints and
// accounts that it printed, and lets every kind in every variant come to customer
// service. Each arrives as what --list says; what a customer wrote is answered once by
// the built-in echo, and nothing else is. The group's webhook takes what is sent.
func TestSimulateEveryKfKind(t *testing.T) {
	begin(t)
	cred := startSandbox(t)
	cred.WhatsApp.APIBase, cred.Unified.APIBase = "", "" // the world has its own
	endpoints, accounts, _ := strings.Cut(strings.TrimPrefix(cred.yaml(), "endpoints:\n"), "accounts:\n")
	w := newCase(t, worldOptions{endpoints: endpoints, accounts: accounts})
	fake := sandboxControl{platform: "wecom", at: cred.WeCom.APIBase}
	if _, err := fake.call(t.Context(), http.MethodPut, "callback", nil, map[string]string{"url": strings.Replace(w.url, "/whatsapp/meta", "/wecom/corp", 1)}); err != nil {
		t.Fatal(err)
	}
	calls := func() (list []sandbox.Call) {
		raw, err := fake.call(t.Context(), http.MethodGet, "calls", query("limit", number(1000)), nil)
		if err != nil || json.Unmarshal(raw, &list) != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		return accepted(list)
	}
	eyes, n := w.observe(), 0
	type told struct {
		kind wecomtest.Kind
		id   string
	}
	all, questions := []told{}, map[string]string{}
	tell := func(k wecomtest.Kind, who string, args ...string) {
		t.Helper()
		n++
		id := fmt.Sprintf("sim%04d", n)
		args = append([]string{"simulate", "wecom", k.Name}, append(args, "--customer", who, "--from", "ChenHao", "--id", id, "--duplicates", "1")...)
		if out, code := w.cli(args...); code != exitOK || !strings.Contains(out, "2 things told to the fake WeCom") {
			t.Errorf("%s: exit code %d: %s", strings.Join(args, " "), code, out)
		}
		all = append(all, told{k, id})
	}
	for _, k := range wecomtest.KfKinds() {
		variants := strings.Fields(k.Variants)
		for _, variant := range append(variants, slices.Repeat([]string{""}, one(len(variants) == 0))...) {
			who := fmt.Sprintf("wmSimulated%d", n)
			if k.Class == gateway.KindMessage {
				questions[who] = k.Name
			}
			if variant == "" {
				tell(k, who)
			} else {
				tell(k, who, variant)
			}
		}
	}
	w.until(2*time.Minute, "every question has its answer", func() bool { return len(calls()) >= len(questions) })
	w.settled(time.Minute)
	answers := map[string][]sandbox.Call{}
	for _, c := range calls() {
		answers[c.To] = append(answers[c.To], c)
	}
	for who, kind := range questions {
		if len(answers[who]) != 1 {
			t.Errorf("%s was answered %d times", kind, len(answers[who]))
		}
		delete(answers, who)
	}
	if len(answers) != 0 {
		t.Errorf("nobody asked, and these were answered: %v", answers)
	}

	// Without --target it is about the last message.
	text, _ := wecomtest.KfKindNamed("kf-text")
	fail, _ := wecomtest.KfKindNamed("kf-send-fail")
	recall, _ := wecomtest.KfKindNamed("kf-recall")
	const who = "wmSimulatedLast"
	tell(text, who, "--text", "the last words")
	written := all[len(all)-1].id
	w.until(time.Minute, "it is answered", func() bool { return len(callsTo(calls(), who)) == 1 })
	w.settled(time.Minute)
	answer := callsTo(calls(), who)[0]
	if !strings.Contains(answer.Text, "the last words") {
		t.Errorf("answered %q", answer.Text)
	}
	tell(fail, who)
	failed := all[len(all)-1].id
	tell(recall, who)
	recalled := all[len(all)-1].id

	read := map[string]observed{} // by msgid
	w.until(time.Minute, "an observer has every one", func() bool {
		for _, ev := range eyes.list() {
			var raw struct{ MsgID string }
			if json.Unmarshal(ev.Raw, &raw) == nil && raw.MsgID != "" && ev.Type != "media" {
				read[raw.MsgID] = ev
			}
		}
		return len(read) >= len(all)
	})
	for _, is := range all {
		ev := read[is.id]
		if ev.Kind != is.kind.Class || is.kind.Type != "" && ev.Type != is.kind.Type || ev.Account != "desk" {
			t.Errorf("%s is a %s of type %s of the account %s, the list says %s %s", is.kind.Name, ev.Kind, ev.Type, ev.Account, is.kind.Class, is.kind.Type)
		}
	}
	if s := read[failed].Status; s == nil || s.Marker != answer.Marker || !gateway.OurMarker(s.Marker) {
		t.Errorf("the failure is of %+v, want %s", s, answer.Marker)
	}
	if to := read[recalled].Target; to == nil || to.MessageID != written {
		t.Errorf("the recall is of %+v, want %s", to, written)
	}
	w.until(time.Minute, "the second copies are read", func() bool { return w.sums().Items.Duplicate >= int64(n) })
	if s := w.sums(); s.Items.Dead != 0 || s.Items.Duplicate != int64(n) || len(w.deadLetters()) != 0 {
		t.Errorf("items %+v, want %d duplicates; dead letters %+v", s.Items, n, w.deadLetters())
	}

	// The account of a group's webhook that was printed is served too.
	if out, code := w.cli("send", "--account", "alarm", "the shop is closed"); code != exitOK {
		t.Errorf("exit code %d: %s", code, out)
	}
	w.until(time.Minute, "the group is told", func() bool { return slices.Contains(texts(calls()), "the shop is closed") })
	w.settled(time.Minute)
	if out, code := w.cli("sums"); code != exitOK {
		t.Errorf("sums: exit code %d: %s", code, out)
	}
}
