package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
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

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
