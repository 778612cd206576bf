package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// kfKinds begin the names of kinds that come to WeChat customer service.
const kfKinds = "kf-"

// simulatedWeChat is the made-up customer of customer service.
const simulatedWeChat = "wmMadeUpCustomer0000000000000001"

// simulateKf lets things come to customer service. They cannot be sent to a gateway,
// which fetches them: the running fake WeCom is told, and rings.
func (c *cli) simulateKf(ctx context.Context, s *wecomSimulation, k *wecomtest.Kind, args []string) error {
	e := &s.event
	if len(args) > 1 {
		if e.Variant != "" && e.Variant != args[1] {
			return usageError("--event and %q say two things; leave one out", printable(args[1], 40))
		}
		e.Variant = args[1]
	}
	var ok bool
	if e.Variant, ok = k.Variant(e.Variant); !ok {
		if k.Variants == "" {
			return usageError("%s has no variants", k.Name)
		}
		return usageError("%s is one of: %s", k.Name, strings.ReplaceAll(k.Variants, " ", ", "))
	}
	switch err := s.check(); {
	case err != nil:
		return err
	case s.print, s.url != "", s.endpoint != "", s.parallel > 1:
		return usageError("%s is told to the fake WeCom of `causeway sandbox`, one after the other; leave --print, --url, --endpoint and --parallel out", k.Name)
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	account, err := s.kfAccount(cfg)
	if err != nil {
		return err
	}
	if e.Customer == "" {
		e.Customer = simulatedWeChat
	}
	control := sandboxControl{platform: "wecom", at: account.APIBase}
	r := simulationResult{URL: account.APIBase, Callbacks: []simulated{}}
	for n := 1; n <= s.count; n++ {
		ev := s.nth(k, n)
		ev.From, ev.Kf, ev.At = s.customer, account.OpenKfID, time.Now().Add(-s.ago)
		if ev.ID == "" {
			ev.ID = "kfsim" + rand.Text()
		}
		for copy := 1; copy <= 1+s.copies; copy++ {
			started := time.Now()
			if _, err := control.call(ctx, http.MethodPost, "simulate", nil, ev); err != nil {
				return err
			}
			a := simulated{N: n, Copy: copy, Kind: k.Name, ID: ev.ID, Status: http.StatusOK, MS: float64(time.Since(started).Microseconds()) / 1000}
			r.Sent, r.OK, r.Callbacks = r.Sent+1, r.OK+1, append(r.Callbacks, a)
			if !c.asJSON {
				writeSimulated(c.out, a)
			}
		}
	}
	return failed(c.print(r, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%s told to the fake WeCom at %s, which rings the gateway\n", amount(r.Sent, "thing", "things"), r.URL)
	}))
}

// kfAccount is the account of customer service that is meant; its api_base is where
// the fake WeCom is.
func (s *wecomSimulation) kfAccount(cfg *config.Config) (*config.Account, error) {
	var found *config.Account
	names := []string{}
	for i := range cfg.Accounts {
		a := &cfg.Accounts[i]
		if a.Platform != "wecom" || a.Kind != "kf" {
			continue
		}
		names = append(names, a.Name)
		if found == nil && (s.account == "" || s.account == a.Name) && (s.event.Kf == "" || s.event.Kf == a.OpenKfID) {
			found = a
		}
	}
	isAccount := slices.ContainsFunc(cfg.Accounts, func(a config.Account) bool { return a.Name == s.account })
	switch {
	case len(names) == 0:
		return nil, usageError("the configuration has no account of customer service (platform: wecom, kind: kf); `causeway sandbox` prints one")
	case found == nil && isAccount && !slices.Contains(names, s.account):
		return nil, usageError("account %s is none of customer service (kind: kf); those are: %s", printable(s.account, 60), strings.Join(names, ", "))
	case found == nil:
		return nil, usageError("the configuration has no account of customer service by that name or open_kfid; it has: %s", strings.Join(names, ", "))
	}
	if u, err := url.Parse(found.APIBase); err != nil || !isLoopback(u.Hostname()) {
		return nil, usageError("account %s is that of the real WeCom; to try it, start `causeway sandbox -c FILE` and give the account api_base: \"http://%s\"", found.Name, sandboxWeCom)
	}
	return found, nil
}

// unknownKfKind names all kinds of customer service.
func unknownKfKind(name string) error {
	names := []string{}
	for _, k := range wecomKinds() {
		if strings.HasPrefix(k.Kind, kfKinds) {
			names = append(names, k.Kind)
		}
	}
	return usageError("%q is no kind of callback; of customer service there are %s (all: causeway simulate wecom --list)", printable(name, 40), strings.Join(names, ", "))
}
