package main

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
)

// Items find their account by the platform's id; notices of a whole business
// account or corp go to the first account of the file that belongs to it.
func TestDirectoryFindsAccounts(t *testing.T) {
	d, err := newDirectory(&config.Config{Accounts: []config.Account{
		{Name: "shop-a", Platform: "whatsapp", PhoneNumberID: "0012345", WABAID: "77"},
		{Name: "shop-b", Platform: "whatsapp", PhoneNumberID: "2", WABAID: "77"},
		{Name: "corp", Platform: "wecom", Kind: "app", CorpID: "ww1", AgentID: 1000002},
		{Name: "desk", Platform: "wecom", Kind: "app", CorpID: "ww1", AgentID: 1000003},
		{Name: "hub", Platform: "unified", GUID: "guid-1"},
	}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ platform, id, want string }{
		{"whatsapp", "0012345", "shop-a"}, {"whatsapp", "2", "shop-b"}, {"whatsapp", "waba:77", "shop-a"},
		{"wecom", "ww1/1000002", "corp"}, {"wecom", "ww1/1000003", "desk"}, {"wecom", "ww1/", "corp"},
		{"unified", "guid-1", "hub"}, {"wecom", "guid-1", ""}, {"wecom", "2", ""}, {"whatsapp", "12345", ""}, {"whatsapp", "", ""},
	} {
		if got, ok := d.Account(c.platform, c.id); got != c.want || ok != (c.want != "") {
			t.Errorf("%s %q is %q, %v; want %q", c.platform, c.id, got, ok, c.want)
		}
	}
	if d.client("whatsapp", "shop-b") == nil || d.client("wecom", "shop-b") != nil {
		t.Error("clients are found by platform and name")
	}
}
