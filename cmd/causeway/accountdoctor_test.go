package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// With no gateway running, doctor account asks the platform by itself. The
// outputs are in testdata/operator.
func TestDoctorAccountFromHere(t *testing.T) {
	wa, wc := bothPlatforms(t)
	wa.SetCallbackURL("https://gw.test/webhooks/whatsapp/meta")
	dir := t.TempDir()
	path := filepath.Join(dir, "causeway.yaml")
	text := fmt.Sprintf(`admin: {listen: %q}
store: "sqlite:%s"
endpoints:
  - {name: meta, platform: whatsapp, app_secret: %q, verify_token: verify-me}
  - {name: corp, platform: wecom, kind: app, receive_ids: [%s], token: %s, encoding_aes_key: %s}
accounts:
  - {name: shop-a, platform: whatsapp, phone_number_id: %q, waba_id: "100000000000001", access_token: access-token-1, api_base: %q}
  - {name: corp-a, platform: wecom, kind: app, corp_id: %s, agent_id: %d, secret: %q, api_base: %q}
`, freePort(t), filepath.Join(dir, "data"), testSecret, testCorp, testWCToken, testWCKey, testPhone, wa.URL(), testCorp, testAgent, testWCSecret, wc.URL())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	show := func(name string, code int, args ...string) {
		t.Helper()
		got := runCommand(t, append(args, "-c", path)...)
		if got.code != code {
			t.Errorf("%v: exit code %d, want %d", args, got.code, code)
		}
		for _, secret := range append(secretsOfWorld(), testPhone, "100000000000001") {
			if strings.Contains(got.out+got.err, secret) {
				t.Errorf("%q is shown:\n%s%s", secret, got.out, got.err)
			}
		}
		golden(t, name, "$ causeway "+strings.Join(args, " ")+"\n"+steady(dir, got.out+stderrOf(got)))
	}
	show("doctor-account-here", exitOK, "doctor", "account", "shop-a")
	show("doctor-account-wecom", exitOK, "doctor", "account", "corp-a")
	wc.SetAgent(wecomtest.Agent{})
	show("doctor-account-wecom-unseen", exitFailed, "doctor", "account", "corp-a")
	if _, err := wc.Faults().Add(sandbox.Fault{Op: sandbox.OpRead, Code: 60020}); err != nil {
		t.Fatal(err)
	}
	show("doctor-account-wecom-address", exitFailed, "doctor", "account", "corp-a")
	show("doctor-account-here-unknown", exitNotFound, "doctor", "account", "nobody")
	st := wa.Standing()
	st.Subscribed, st.Health, st.Problem, st.Solution = nil, "BLOCKED", "There is an error with the payment method.", "Add a payment method."
	wa.SetStanding(st)
	show("doctor-account-here-wrong", exitFailed, "doctor", "account", "shop-a")

	got := runCommand(t, "doctor", "account", "shop-a", "--json", "-c", path)
	var r admin.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.OK || got.code != exitFailed ||
		!slices.ContainsFunc(r.Findings, func(f admin.Finding) bool { return f.Name == "shop-a" && f.Do == "Add a payment method." }) {
		t.Errorf("%d %v %s", got.code, err, got.out)
	}
	if n := len(wa.Calls()) + len(wc.Calls()); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

// A running gateway is asked, whose configuration may hold what the operator's
// does not.
func TestDoctorAccountAsksTheGateway(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	out, code := w.cli("doctor", "account", "shop-a")
	if code != exitOK || !strings.Contains(out, "the token's app is subscribed") || strings.Contains(out, "no gateway answers") {
		t.Errorf("%d %s", code, out)
	}
	st := w.wa.Standing()
	st.Status = "DISCONNECTED"
	w.wa.SetStanding(st)
	if out, code := w.cli("doctor", "account", "shop-a"); code != exitFailed || !strings.Contains(out, "the number is disconnected") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := w.cli("doctor", "account", "nobody"); code != exitNotFound {
		t.Errorf("%d %s", code, out)
	}
}
