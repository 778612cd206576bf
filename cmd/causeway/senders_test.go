package main

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
)

// How long a conversation waits for evidence goes by whether its platform ever tells, and
// what happens then by its account.
func TestWaitForEvidence(t *testing.T) {
	t.Parallel()
	c := &config.Config{Accounts: []config.Account{
		{Name: "shop", Platform: "whatsapp", PhoneNumberID: "1", OnUnknown: "resend_once"},
		{Name: "corp", Platform: "wecom", Kind: "app", CorpID: "ww1", AgentID: 1000002, Secret: "s"},
		{Name: "desk", Platform: "wecom", Kind: "kf", CorpID: "ww1", OpenKfID: "wk1", Secret: "s", OnUnknown: "hold", HoldUnknown: time.Hour},
		{Name: "alarm", Platform: "wecom", Kind: "robot", Key: "k"},
		{Name: "helper", Platform: "wecom", Kind: "aibot", BotID: "b"},
		{Name: "hub", Platform: "unified", GUID: "g"},
	}}
	d, err := newDirectory(c, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{o: appOptions{Config: c}, dir: d}
	for name, want := range map[string]struct {
		wait time.Duration
		rule gateway.OnUnknown
	}{
		"shop": {time.Minute, gateway.OnUnknown{Do: gateway.UnknownResend}}, "corp": {wait: 5 * time.Second},
		"desk": {time.Minute, gateway.OnUnknown{Do: gateway.UnknownHold, HoldFor: time.Hour}}, "alarm": {wait: 5 * time.Second},
		"helper": {wait: 5 * time.Second}, "hub": {wait: time.Minute}, "gone": {wait: 5 * time.Second},
	} {
		platform := ""
		if acc := a.account(name); acc != nil {
			platform = acc.Platform
		}
		if wait, rule := a.unknownWait(platform, name), a.onUnknown(name); wait != want.wait || rule != want.rule {
			t.Errorf("%s waits %s, then %+v; want %+v", name, wait, rule, want)
		}
	}
}
