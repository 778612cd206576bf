package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// TestSimulateEveryKind sends every kind in every variant to a running gateway,
// with the customer's number and without it. All are answered 200 and archived,
// nothing is dead, the sums hold, and only questions of single chats are offered:
// no copy, change, state, notice or receipt gets an answer.
func TestSimulateEveryKind(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	eyes := w.observe()
	callbacks, questions, silent := int64(0), map[string]int{}, map[string]bool{}
	said := map[string]string{} // by customer
	n := 0
	for _, k := range whatsapptest.Kinds() {
		for _, variant := range append([]string{}, strings.Fields(k.Variants+strings.Repeat(" -", one(k.Variants == "")))...) {
			for _, hidden := range []bool{false, true} {
				n++
				from := fmt.Sprintf("1777%07d", 100*n)
				args := []string{"simulate", "whatsapp", k.Name}
				if variant != "-" {
					args = append(args, variant)
				}
				args = append(args, "--from", from)
				to := from // as the reply addresses it
				if hidden {
					args, to = append(args, "--no-phone", "--username", "maya.l"), whatsapptest.BSUID(from)
				}
				if variant == "contact_request" { // the card tells the number
					to = from
				}
				if k.NeedsMessage {
					args = append(args, "--id", fmt.Sprintf("wamid.FOREIGN%d", n))
				}
				asked := one(k.Class == gateway.KindMessage && k.Observed == "" && k.Name != "group-text")
				switch k.Name {
				case "batch": // of ten in a mixed one six are texts, one a picture, one a tap
					args = append(args, "--messages", "10")
					if asked = 10; variant == "mixed" {
						asked = 8
					}
				case "history":
					args = append(args, "--messages", "6")
				}
				if out, code := w.cli(args...); code != exitOK {
					t.Errorf("%s: exit code %d: %s", strings.Join(args, " "), code, out)
				}
				said[to] = strings.Join(args, " ")
				callbacks++
				if asked > 0 {
					questions[to] = asked
				} else {
					silent[to] = true
				}
			}
		}
	}
	total := 0
	for _, asked := range questions {
		total += asked
	}
	w.until(120*time.Second, "every question has its answer", func() bool {
		s := w.sums()
		return s.Payloads.Pending == 0 && s.Apps["echo"].Pending == 0 && s.Messages.Accepted >= int64(total)
	})
	w.settled(60 * time.Second)
	s := w.sums()
	if s.Payloads.Archived != callbacks || s.Payloads.Dead+s.Payloads.Sealed != 0 || s.Items.Dead != 0 || len(w.deadLetters()) != 0 {
		t.Errorf("of %d callbacks: %+v, items %+v, dead letters %+v", callbacks, s.Payloads, s.Items, w.deadLetters())
	}
	if got := s.Apps["echo"].Wanted; got != int64(total) {
		t.Errorf("%d events were offered, %d were questions", got, total)
	}
	calls := w.calls("")
	for to, asked := range questions {
		if got := len(callsTo(slices.Clone(calls), to)); got != asked {
			t.Errorf("%s: asked %d times and got %d answers", said[to], asked, got)
		}
	}
	for to := range silent {
		if got := callsTo(slices.Clone(calls), to); len(got) > 0 {
			t.Errorf("%s: asked nothing and got %q", said[to], texts(got))
		}
	}
	w.oncePerMessage()
	for _, ev := range eyes.list() {
		if ev.Observed != "" && ev.Seq != 0 {
			t.Errorf("a copy (%s) has the seq %d", ev.Type, ev.Seq)
		}
	}
	if out, code := w.cli("sums"); code != exitOK {
		t.Errorf("sums: exit code %d: %s", code, out)
	}
}

// TestSimulateEveryWeComKind sends every kind in every variant to a running
// gateway, half of them to an application of state and notices. All are answered
// 200 and archived, nothing is dead, the sums hold; what a member wrote or chose is
// answered once, and nothing else is.
func TestSimulateEveryWeComKind(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{
		accounts: fmt.Sprintf("  - {name: chats, platform: wecom, kind: app, corp_id: %s, agent_id: 2000004, secret: s, api_base: \"http://127.0.0.1:1\"}\n", testCorp),
		apps: "  - {name: echo, builtin: echo}\n" +
			"  - {name: crm, kinds: [state, notice], chats: [single, account], replies: false, builtin: echo}\n",
	})
	eyes := w.observe()
	callbacks, facts, questions := int64(0), 0, map[string]string{}
	for _, k := range wecomtest.Kinds() {
		variants := strings.Fields(k.Variants)
		if len(variants) == 0 {
			variants = []string{""}
		}
		for _, variant := range variants {
			from := fmt.Sprintf("Member.%d", callbacks)
			args := []string{"simulate", "wecom", "--account", "corp-a", k.Name}
			if variant != "" {
				args = append(args, variant)
			}
			args = append(args, "--from", from, "--external-user", "wm"+from, "--chat", "wr"+from, "--tag", "et"+from, "--duplicates", "1")
			if out, code := w.cli(args...); code != exitOK {
				t.Errorf("%s: exit code %d: %s", strings.Join(args, " "), code, out)
			}
			callbacks, facts = callbacks+2, facts+1
			if variant == "renamed" {
				facts += 3 // told to the conversation with each app
			}
			if k.Class == gateway.KindMessage {
				questions[strings.ToLower(from)] = k.Name
			}
		}
	}
	w.until(120*time.Second, "every question has its answer", func() bool {
		s := w.sums()
		return s.Payloads.Pending == 0 && s.Media.Pending == 0 && s.Apps["echo"].Pending == 0 && s.Apps["crm"].Pending == 0 &&
			s.Messages.Accepted >= int64(len(questions))
	})
	s := w.sums()
	files := int(s.Media.Ready) // each with a notice of its own
	if files != 4 || s.Media.Wanted != 4 {
		t.Errorf("files %+v, want 4", s.Media)
	}
	if s.Payloads.Archived != callbacks || s.Items.Events != int64(facts) || s.Items.Duplicate != int64(facts) || s.Items.Dead != 0 || len(w.deadLetters()) != 0 {
		t.Errorf("of %d callbacks: %+v, items %+v, dead letters %+v", callbacks, s.Payloads, s.Items, w.deadLetters())
	}
	if e, c := s.Apps["echo"].Wanted, s.Apps["crm"].Wanted; e != int64(len(questions)) || c != int64(facts+files-len(questions)) {
		t.Errorf("%d events were offered to the bot and %d to the other, want %d and %d", e, c, len(questions), facts+files-len(questions))
	}
	answers := map[string]int{}
	for _, call := range wc.Calls() {
		if call.Accepted {
			answers[strings.ToLower(call.To)]++
		}
	}
	for who, kind := range questions {
		if answers[who] != 1 {
			t.Errorf("%s of %s was answered %d times", kind, who, answers[who])
		}
	}
	if len(answers) != len(questions) {
		t.Errorf("%d were answered, %d asked", len(answers), len(questions))
	}
	for _, ev := range w.sees(eyes, facts) {
		if ev.Change != nil && ev.Chat != gateway.ChatAccount {
			t.Errorf("a change of a %s stands in a conversation (%s)", ev.Change.Of.Kind, ev.Type)
		}
	}
	if out, code := w.cli("sums"); code != exitOK {
		t.Errorf("sums: exit code %d: %s", code, out)
	}
}

// TestSuiteIsAnswered: the command URL of a suite hears "success" when its ticket
// is on disk, the ticket is an event of the suite's account, and it is in no log.
func TestSuiteIsAnswered(t *testing.T) {
	begin(t)
	const suite = "wwtestsuite0000001"
	w, _ := newWeComCase(t, worldOptions{extra: "log: {level: debug}\n",
		endpoints: fmt.Sprintf("  - {name: suite, platform: wecom, kind: suite, receive_ids: [%s], token: %s, encoding_aes_key: %s}\n", suite, testWCToken, testWCKey),
		accounts:  fmt.Sprintf("  - {name: suite, platform: wecom, kind: app, corp_id: %s, agent_id: 1, secret: s, api_base: \"http://127.0.0.1:1\"}\n", suite),
	})
	eyes := w.observe()
	platform, err := wecomtest.New(wecomtest.Options{CorpID: testCorp, AgentID: 1, ReceiveID: suite, Secret: "s", Token: testWCToken, EncodingAESKey: testWCKey,
		CallbackURL: strings.Replace(w.url, "/whatsapp/meta", "/wecom/suite", 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = platform.Close() }()
	for _, kind := range []string{"suite-ticket", "suite-customer"} {
		_, inner, err := platform.Make(wecomtest.Event{Kind: kind, Code: "LEAKMARK-code"})
		if err != nil {
			t.Fatal(err)
		}
		status, body, err := platform.Post(t.Context(), inner)
		if err != nil || status != 200 || string(body) != "success" {
			t.Errorf("%s is answered %d %q, %v", kind, status, body, err)
		}
	}
	accounts := map[string]string{}
	for _, ev := range w.sees(eyes, 2) {
		accounts[ev.Type] = ev.Account
	}
	if accounts["event.suite_ticket"] != "suite" || accounts["event.change_external_contact.add_external_contact"] == "suite" {
		t.Errorf("accounts %v", accounts)
	}
	w.leaks("what the process said", w.said())
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
