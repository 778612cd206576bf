package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// The platforms' numbers hold where nothing is said, what is said replaces one of
// them, and 0 takes it away.
func TestPaces(t *testing.T) {
	c, err := Parse("causeway.yaml", []byte(meta+`
accounts:
  - {name: number, platform: whatsapp, phone_number_id: "1", access_token: t}
  - {name: coexists, platform: whatsapp, phone_number_id: "2", access_token: t, pace: {account: 20/s}}
  - {name: free, platform: whatsapp, phone_number_id: "3", access_token: t, pace: {account: 0, pair: 0}}
  - {name: app, platform: wecom, kind: app, corp_id: ww1, agent_id: 1, secret: s}
  - {name: desk, platform: wecom, kind: kf, corp_id: ww1, open_kfid: wk1, secret: s, pace: {corp: 100/min, pair: 5/h, burst: 5}}
  - {name: group, platform: wecom, kind: robot, key: k}
  - {name: helper, platform: wecom, kind: aibot, bot_id: b}
`), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	pair := gateway.Limit{Pair: true, N: 10, Per: time.Minute, Burst: 45}
	want := map[string][]gateway.Limit{
		"number":   {{N: 80, Per: time.Second, Burst: 8, Both: true}, pair},
		"coexists": {{N: 20, Per: time.Second, Burst: 2, Both: true}, pair},
		"free":     nil,
		"app":      {{Of: "ww1/app", N: 10000, Per: time.Minute}, {Pair: true, N: 30, Per: time.Minute}, {Pair: true, N: 1000, Per: time.Hour}},
		"desk":     {{Of: "ww1/kf", N: 100, Per: time.Minute}, {Pair: true, N: 5, Per: time.Hour, Burst: 5}},
		"group":    {{N: 20, Per: time.Minute}},
		"helper":   nil,
	}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		if d := cmp.Diff(want[a.Name], a.Limits()); d != "" {
			t.Errorf("%s: %s", a.Name, d)
		}
	}
}

// An account's own words replace those of all, field by field.
func TestRetries(t *testing.T) {
	c, err := Parse("causeway.yaml", []byte(meta+`
send: {tries: 6, max_age: 1h}
accounts:
  - {name: a, platform: whatsapp, phone_number_id: "1", access_token: t, retry: {first: 1m}, proxy: "socks5://user:pass@proxy:1080"}
`), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	all := gateway.Retry{Tries: 6, First: 10 * time.Second, Factor: 2, Jitter: 0.2, MaxAge: time.Hour}
	if d := cmp.Diff(all, c.Retry("nobody")); d != "" {
		t.Error(d)
	}
	all.First = time.Minute
	if d := cmp.Diff(all, c.Retry("a")); d != "" {
		t.Error(d)
	}
	if u := c.Accounts[0].ProxyURL(); u == nil || u.Host != "proxy:1080" || u.Scheme != "socks5" {
		t.Error("the proxy is another one")
	}
}
