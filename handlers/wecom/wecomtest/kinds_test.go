package wecomtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// made sends an event to the product's own endpoint and returns what it reads.
func made(t *testing.T, s *wecomtest.Sandbox, g *gatewayStub, e wecomtest.Event) (string, gateway.Item) {
	t.Helper()
	id, inner, err := s.Make(e)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, err := s.Post(t.Context(), inner); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v", status, err)
	}
	select {
	case it := <-g.items:
		return id, it
	default: // the items are there before the answer is
		t.Fatal("nothing was read")
		return "", gateway.Item{}
	}
}

// Every kind in every variant is verified, opened and read by the product's own
// endpoint as the class and type that the list says, under the key that it says.
func TestEveryKind(t *testing.T) {
	g := newGateway(t, nil)
	s := start(t, wecomtest.Options{CallbackURL: g.URL})
	at := time.Unix(1_795_900_000, 0)
	keys, count := map[string]bool{}, 0
	for _, k := range wecomtest.Kinds() {
		variants := strings.Fields(k.Variants)
		if len(variants) == 0 {
			variants = []string{""}
		}
		for _, variant := range variants {
			t.Run(strings.TrimSuffix(k.Name+"/"+variant, "/"), func(t *testing.T) {
				id, it := made(t, s, g, wecomtest.Event{Kind: k.Name, Variant: variant, From: "ChenHao", Customer: "wmC", Chat: "wrC", Tag: "etT", Kf: "wkK", ID: ofNumber(k.Name), At: at})
				keys[it.Key] = true
				count++
				if it.Kind != k.Class {
					t.Errorf("is a %s, the list says %s", it.Kind, k.Class)
				}
				if k.Type != "" && it.Content.Type != k.Type || k.Type == "" && !strings.HasPrefix(it.Content.Type, "event.") {
					t.Errorf("is of type %s, the list says %q", it.Content.Type, k.Type)
				}
				if !it.OccurredAt.Equal(at) {
					t.Errorf("happened at %s", it.OccurredAt)
				}
				if isMessage := it.Content.ID != ""; isMessage != (id != "") || isMessage && it.Content.ID != id {
					t.Errorf("id %q, made as %q", it.Content.ID, id)
				}
				checkOf(t, &k, &it)
			})
		}
	}
	if len(keys) != count {
		t.Errorf("%d facts in %d callbacks", len(keys), count)
	}
}

// ofNumber is a number of what is no message.
func ofNumber(kind string) string {
	switch kind {
	case "approval", "system-approval", "living":
		return "77"
	}
	return ""
}

func checkOf(t *testing.T, k *wecomtest.Kind, it *gateway.Item) {
	t.Helper()
	want := gateway.Identity{Kind: k.Of}
	chat := gateway.ChatAccount
	switch k.Of {
	case "member":
		chat, want = gateway.ChatSingle, gateway.Identity{Kind: "userid", Value: "chenhao", As: "ChenHao"}
	case "member's":
		want = gateway.Identity{Kind: "member", Value: "chenhao", As: "ChenHao"}
	case "customer":
		want.Value = "wmC"
	case "chat":
		want.Value = "wrC"
	case "tag":
		want.Value = "etT"
	case "kf":
		want.Value = "wkK"
	case "approval", "living":
		want.Value = "77"
	case "account":
		if v := it.Chat.Identities[0].Value; !strings.HasPrefix(v, corpID+"/") {
			t.Errorf("account %s", v)
		}
		want.Value = it.Chat.Identities[0].Value
	}
	got := it.Chat.Identities[len(it.Chat.Identities)-1] // of a rename the old one
	got.Retired = false
	if it.Chat.Kind != chat || got != want {
		t.Errorf("is of %+v, want %s %+v", it.Chat, chat, want)
	}
	agent, _ := strings.CutPrefix(it.AccountID, corpID+"/")
	if !strings.Contains(" 1000017 3010040 2000004 ", " "+agent+" ") && agent != "" {
		t.Errorf("account %s", it.AccountID)
	}
}

// What is said by an Event is in the item.
func TestEventIsSaid(t *testing.T) {
	g := newGateway(t, nil)
	s := start(t, wecomtest.Options{CallbackURL: g.URL})
	for name, c := range map[string]struct {
		event wecomtest.Event
		look  func(*gateway.Content) bool
	}{
		"card": {wecomtest.Event{Kind: "card", Key: "yes", Task: "ms_1", Code: "RC"}, func(c *gateway.Content) bool {
			return c.Choice.ID == "yes" && c.QuotedID == "ms_1" && c.Handle.Kind == "card" && c.Handle.Code == "RC"
		}},
		"form": {wecomtest.Event{Kind: "card-form", Picked: []string{"a", "b"}}, func(c *gateway.Content) bool {
			return string(c.Form.Response) == `{"question-1":["a","b"]}` && c.Form.Name == "vote_interaction"
		}},
		"location": {wecomtest.Event{Kind: "location", Latitude: -1.5, Longitude: 2, Text: "here"}, func(c *gateway.Content) bool {
			return *c.Location == gateway.Location{Latitude: -1.5, Longitude: 2, Address: "here"}
		}},
		"scan": {wecomtest.Event{Kind: "scan", Text: "SN-1", Key: "k"}, func(c *gateway.Content) bool { return c.Text == "SN-1" && c.Choice.ID == "k" }},
		"file": {wecomtest.Event{Kind: "file", Text: "a ]]> b.pdf", Media: "m"}, func(c *gateway.Content) bool {
			return c.Media.ID == "m" && c.Media.Filename == "a ]]> b.pdf"
		}},
		"transfer": {wecomtest.Event{Kind: "customer", Variant: "transferred", From: "A"}, func(c *gateway.Content) bool {
			return c.Change.Source == "DELETE_BY_TRANSFER" && c.Change.Member.As == "A" && c.Change.What == "del_external_contact"
		}},
		"welcome": {wecomtest.Event{Kind: "customer", Code: "WC"}, func(c *gateway.Content) bool {
			return c.Handle.Kind == "welcome" && c.Handle.Code == "WC" && c.Change.Source == "made-up-channel"
		}},
		"chain": {wecomtest.Event{Kind: "chat", Variant: "del_member", People: []string{"x", "y"}, Before: "1", Version: "2"}, func(c *gateway.Content) bool {
			return c.Change.Before == "1" && c.Change.Version == "2" && strings.Join(c.Change.People, " ") == "x y" && c.Change.Detail == "del_member"
		}},
		"rename": {wecomtest.Event{Kind: "member", Variant: "renamed", From: "Old", Renamed: "New"}, func(c *gateway.Content) bool {
			return c.Identity.Before[0].As == "Old" && c.Identity.After[0].As == "New" && c.Change.Of.Value == "new"
		}},
		"any event": {wecomtest.Event{Kind: "event", Variant: "click", Key: "M"}, func(c *gateway.Content) bool { return c.Type == "button" && c.Choice.ID == "M" }},
	} {
		if _, it := made(t, s, g, c.event); !c.look(&it.Content) {
			b, _ := json.Marshal(it.Content)
			t.Errorf("%s: %s", name, b)
		}
	}
}

func TestNotMade(t *testing.T) {
	app := wecomtest.App{CorpID: corpID, AgentID: 1}
	for _, e := range []wecomtest.Event{{Kind: "telex", ID: "1"}, {Kind: "customer", Variant: "sold"}, {Kind: "text", Variant: "x", ID: "1"}, {Kind: "text"}} {
		if id, inner, err := app.Inner(e); err == nil || id != "" || inner != nil {
			t.Errorf("%+v was made", e)
		}
	}
	s := start(t, wecomtest.Options{})
	if _, err := s.Tell(wecomtest.Event{Kind: "telex"}); err == nil {
		t.Error("a telex was told")
	}
}
