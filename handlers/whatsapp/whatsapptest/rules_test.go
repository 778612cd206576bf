package whatsapptest_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// ending posts a message and returns how it failed: at once, later, or "".
func ending(t *testing.T, s *whatsapptest.Sandbox, g *gatewayStub, rest string) string {
	t.Helper()
	status, body := call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp",`+rest+`}`)
	if status != 200 {
		_, code, _ := strings.Cut(body, `"code":`)
		return "at once " + code[:6]
	}
	for {
		st := decode(t, <-g.came).Entry[0].Changes[0].Value.Statuses[0]
		switch {
		case !strings.Contains(body, st["id"].(string)): // another receipt of one before
		case st["status"] == "failed":
			return fmt.Sprintf("later %.0f", st["errors"].([]any)[0].(map[string]any)["code"])
		default:
			return ""
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	var moved atomic.Int64
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1, Delivered: -1, Read: -1,
		Now: func() time.Time { return time.Now().Add(time.Duration(moved.Load())) }})
	const text = `"to":"+15550100025","text":{"body":"x"}`
	const template = `"to":"+15550100025","type":"template","template":{"name":"hello_world","language":{"code":"en_US"}}`
	want := func(when, rest, how string) {
		t.Helper()
		if got := ending(t, s, g, rest); got != how {
			t.Errorf("%s: failed %q, want %q", when, got, how)
		}
	}
	want("without the rule", text, "")
	s.SetRules(whatsapptest.Rules{Window: true})
	want("who never wrote", text, "later 131047")
	want("a template", template, "")
	want("a group", `"recipient_type":"group","to":"Zm9v","text":{"body":"x"}`, "")
	s.CustomerBody("15550100025", "hello")
	want("who wrote just now", text, "")
	want("the same by BSUID", `"recipient":"`+whatsapptest.BSUID("15550100025")+`","text":{"body":"x"}`, "")
	want("another customer", `"to":"+15550100026","text":{"body":"x"}`, "later 131047")
	moved.Store(int64(24*time.Hour - time.Minute))
	want("nearly a day later", text, "")
	moved.Store(int64(24*time.Hour + time.Minute))
	want("more than a day later", text, "later 131047")
	if _, _, err := s.Body(whatsapptest.Event{Kind: "reaction", Customer: whatsapptest.Customer{Phone: "15550100025"}}); err != nil {
		t.Fatal(err)
	}
	want("after a reaction", text, "later 131047")
}

func TestUnknownGroupsAndMessages(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1, Delivered: -1, Read: -1})
	theirs, _ := s.CustomerBody("15550100025", "hello")
	chosen := whatsapptest.Event{Kind: "text", ID: "wamid.chosen", Customer: whatsapptest.Customer{Phone: "15550100025"}}
	if _, _, err := s.Body(chosen); err != nil {
		t.Fatal(err)
	}
	if err := s.SetGroup("Zm9v", []whatsapptest.Participant{{Customer: whatsapptest.Customer{Phone: "15550100025"}}}); err != nil {
		t.Fatal(err)
	}
	other := start(t, whatsapptest.Options{})
	strange, _ := other.CustomerBody("15550100025", "hello")
	react := func(id string) string {
		return `"to":"+15550100025","type":"reaction","reaction":{"message_id":"` + id + `","emoji":"👍"}`
	}
	group := func(id string) string {
		return `"recipient_type":"group","to":"` + id + `","text":{"body":"x"}`
	}
	read := func(id string) string { return `"status":"read","message_id":"` + id + `"` }
	s.SetRules(whatsapptest.Rules{Known: true})
	for rest, how := range map[string]string{
		react(theirs): "", react(chosen.ID): "", react(strange): "later 131009", react("wamid.none"): "later 131009",
		group("Zm9v"): "", group("YmFy"): "at once 131041", read(strange): "at once 131009",
	} {
		if got := ending(t, s, g, rest); got != how {
			t.Errorf("%s: failed %q, want %q", rest, got, how)
		}
	}
	if status, body := call(t, s, token, "/v26.0/"+number+"/messages", `{"messaging_product":"whatsapp",`+read(theirs)+`}`); status != 200 {
		t.Errorf("marking read: %d %s", status, body)
	}
	s.SetRules(whatsapptest.Rules{})
	if got := ending(t, s, g, group("YmFy")); got != "" {
		t.Errorf("without the rule: %s", got)
	}
}
