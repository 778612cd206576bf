package wecom_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// A rename is told to the conversation with each app of its corp, once each; any
// other change of a member to none.
func TestRenameReachesTheApps(t *testing.T) {
	e, err := wecom.NewEndpoint(wecom.EndpointConfig{Ring: []wecom.Credential{{Token: token, EncodingAESKey: aesKey}}, ReceiveIDs: []string{corp},
		Agents: map[string][]int64{corp: {1000002, 1000017}, "ww-other": {7}}})
	if err != nil {
		t.Fatal(err)
	}
	items := func(file string) []gateway.Item {
		t.Helper()
		c := crypt(t, token, aesKey)
		body := wecom.Envelope("x", "1", c.Seal(read(t, file), corp, [16]byte{}))
		out, _, err := e.Decode(&gateway.Payload{Platform: "wecom", Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := items("event_change_contact_update_user_rename.xml")
	if len(got) != 3 || got[0].Chat.Kind != gateway.ChatAccount {
		t.Fatalf("%+v", got)
	}
	is, was := gateway.Identity{Kind: "userid", Value: "wangfang2", As: "WangFang2"}, gateway.Identity{Kind: "userid", Value: "wangfang", As: "WangFang"}
	retired := was
	retired.Retired = true
	events := map[string]bool{}
	for i, account := range []string{corp + "/1000002", corp + "/1000017"} {
		it := got[i+1]
		checkItem(t, &it)
		want := gateway.Item{AccountID: account, Kind: gateway.KindState, Key: got[0].Key, OccurredAt: got[0].OccurredAt,
			Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{is, retired}},
			Content: gateway.Content{Type: "system", From: &gateway.Party{Identities: []gateway.Identity{is}}, Raw: got[0].Content.Raw,
				Identity: &gateway.IdentityChange{Before: []gateway.Identity{was}, After: []gateway.Identity{is}}}}
		if d := cmp.Diff(want, it); d != "" {
			t.Error(d)
		}
		events[gateway.EventID("wecom", &it)] = true
	}
	if events[gateway.EventID("wecom", &got[0])] || len(events) != 2 {
		t.Errorf("%d ids", len(events))
	}
	for _, file := range []string{"event_change_contact_create_user.xml", "event_change_contact_delete_user.xml", "app_text.xml"} {
		if n := len(items(file)); n != 1 {
			t.Errorf("%s: %d items", file, n)
		}
	}
}
