package relay

import (
	"encoding/json"
	"slices"
	"testing"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

func person(kind, value string) gateway.Identity { return gateway.Identity{Kind: kind, Value: value} }

func TestChangeNamesWhoMadeIt(t *testing.T) {
	ann, annPhone, us := person("bsuid", "b.1"), person("phone", "100"), person("phone", "900")
	single := gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{ann, annPhone}}
	group := gateway.Chat{Kind: gateway.ChatGroup, Identities: []gateway.Identity{person("group", "g")}}
	for name, c := range map[string]struct {
		chat  gateway.Chat
		from  []gateway.Identity
		kind  gateway.Kind
		found bool
		actor []gateway.Identity
	}{
		"the customer":          {single, []gateway.Identity{ann, annPhone}, gateway.KindChange, true, nil},
		"the customer, by one":  {single, []gateway.Identity{annPhone}, gateway.KindChange, true, nil},
		"ourselves":             {single, []gateway.Identity{us}, gateway.KindChange, true, []gateway.Identity{us}},
		"nobody named":          {single, nil, gateway.KindChange, true, nil},
		"a member":              {group, []gateway.Identity{ann, annPhone}, gateway.KindChange, true, []gateway.Identity{ann, annPhone}},
		"a message with target": {single, nil, gateway.KindMessage, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			it := gateway.Item{Kind: c.kind, Chat: c.chat, Content: gateway.Content{Type: "reaction", Target: &gateway.Target{MessageID: "m.1"}}}
			if c.from != nil {
				it.Content.From = &gateway.Party{Identities: c.from}
			}
			got := change(&it)
			if (got != nil) != c.found {
				t.Fatalf("change %+v", got)
			}
			if got != nil && (got.Target != "m.1" || got.Type != "reaction" || !slices.Equal(got.Actor, c.actor)) {
				t.Errorf("change %+v, want it by %v", got, c.actor)
			}
		})
	}
	if change(&gateway.Item{Kind: gateway.KindChange}) != nil {
		t.Error("a change about nothing")
	}
}

// A copy, and what another account of ours wrote, is wanted by nobody and says in its
// content what it is.
func TestObservedItem(t *testing.T) {
	r := New(Options{Directory: oneAccount{}, Log: zap.NewNop()})
	us, them := person("phone", "900"), person("phone", "1")
	r.own.learn("whatsapp", us.Value)
	for kind, want := range map[string]gateway.Observed{"phone": gateway.ObservedOwn, "userid": gateway.ObservedOwn, "bsuid": ""} {
		it := gateway.Item{Kind: gateway.KindMessage, Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{person("phone", "1")}},
			Content: gateway.Content{From: &gateway.Party{Identities: []gateway.Identity{person(kind, "900")}}}}
		if row := r.item(&gateway.Payload{Platform: "whatsapp"}, 0, &it, "shop", nil); row.Observed != want {
			t.Errorf("a message of our own %s: %v", kind, row.Observed)
		}
	}
	for _, how := range []gateway.Observed{"", gateway.ObservedHistory, gateway.ObservedStandby} {
		it := gateway.Item{Kind: gateway.KindMessage, Key: "m:1", Observed: how,
			Chat:    gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{them}},
			Content: gateway.Content{Type: "text", ID: "m.1", From: &gateway.Party{Identities: []gateway.Identity{them}}}}
		row := r.item(&gateway.Payload{Platform: "whatsapp"}, 0, &it, "shop", oneAccount{}.Applications())
		live := how == ""
		if row.State != gateway.ItemEvent || row.Observed != how || (len(row.Wanted) == 1) != live || row.MessageID != "m.1" {
			t.Errorf("%q: %+v", how, row)
		}
		var c gateway.Content
		if err := json.Unmarshal(row.Event.Content, &c); err != nil || c.Observed != how {
			t.Errorf("%q: content says %q (%v)", how, c.Observed, err)
		}
	}
}
