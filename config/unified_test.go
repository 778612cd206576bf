package config

import (
	"net/netip"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/handlers/unified"
)

// The complete file of vendors' gateways loads, and means what it says.
func TestUnifiedFile(t *testing.T) {
	text, err := os.ReadFile("../testdata/unified/causeway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const long = "-secret-of-sixteen-and-more"
	c, err := Parse("causeway.yaml", text, envOf(map[string]string{
		"HUB_CALLBACK_TOKEN": "token" + long, "HUB_CALLBACK_SECRET": "hmac" + long, "PHONE_APP_SECRET": "phone" + long,
		"WORKTOOL_SECRET": "worktool" + long, "HUB_API_TOKEN": "api" + long,
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]unified.Verification{}
	for i := range c.Endpoints {
		e := c.Endpoints[i].Unified()
		got[c.Endpoints[i].Name] = e.Verification
		if _, err := unified.NewEndpoint(e); err != nil {
			t.Errorf("%s: %v", c.Endpoints[i].Name, err)
		}
	}
	want := map[string]unified.Verification{
		"hub": {Token: &unified.TokenProof{Header: "X-Hub-Token", Secrets: []string{"token" + long}},
			HMAC: &unified.HMACProof{Header: "X-Hub-Signature", Prefix: "sha256=", Secrets: []string{"hmac" + long}}},
		"phone":    {Token: &unified.TokenProof{Header: "AppSecret", Secrets: []string{"phone" + long}}},
		"quntool":  {Addresses: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::7/128")}},
		"worktool": {HMAC: &unified.HMACProof{Header: "X-Signature", SHA1: true, Base64: true, Secrets: []string{"worktool" + long}}},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
		t.Error(d)
	}
	a := c.Accounts[0].Unified()
	if a.GUID != "guid-made-up-0001" || c.Accounts[0].PlatformID() != a.GUID || len(a.Headers) != 1 || a.Headers[0].Value != "api"+long {
		t.Errorf("%+v", c.Accounts[0])
	}
}
