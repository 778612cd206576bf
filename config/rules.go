package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// rules are the rules between fields.
func (c *Config) rules() []FieldError {
	var r rules
	r.listeners(c)
	r.store(c)
	r.nats(c)
	r.endpoints(c)
	r.accounts(c)
	r.sending(c)
	r.pools(c)
	r.results(c)
	r.applications(c)
	r.adminURL(c)
	return r.out
}

type rules struct{ out []FieldError }

func (r *rules) wrong(field, format string, args ...any) {
	r.out = append(r.out, FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// unique notes every name that stands twice, and returns the names.
func (r *rules) unique(list string, n int, name func(int) string) []string {
	var names []string
	for i := range n {
		if first := slices.Index(names, name(i)); first >= 0 && name(i) != "" {
			r.wrong(fmt.Sprintf("%s[%d].name", list, i), "is the name of %s[%d] already; names must differ", list, first)
		}
		names = append(names, name(i))
	}
	return names
}

func (r *rules) listeners(c *Config) {
	if len(c.Admin.Tokens) == 0 && validListen(c.Admin.Listen) && !loopback(c.Admin.Listen) {
		r.wrong("admin.listen", "others can reach this address; name at least one of admin.tokens, or listen on 127.0.0.1")
	}
	r.unique("admin.tokens", len(c.Admin.Tokens), func(i int) string { return c.Admin.Tokens[i].Name })
	for i, t := range c.Admin.Tokens {
		for j := range i {
			if t.Token != "" && c.Admin.Tokens[j].Token == t.Token {
				r.wrong(fmt.Sprintf("admin.tokens[%d].token", i), "is the token of admin.tokens[%d] already; tokens must differ", j)
			}
		}
	}
	if c.Admin.Listen == c.Listen && c.Listen != "" && !strings.HasSuffix(c.Listen, ":0") {
		r.wrong("admin.listen", "is the same address as listen; operators and platforms need one each")
	}
}

func (r *rules) store(c *Config) {
	scheme, rest, _ := strings.Cut(c.Store.URL, ":")
	switch {
	case c.Store.URL == "":
	case scheme != "sqlite":
		r.wrong("store.url", `must be "sqlite:" and a folder, such as "sqlite:data"; no other kind of store is part of this release`)
	case rest == "" || strings.HasPrefix(rest, "//"):
		r.wrong("store.url", `must name a folder behind "sqlite:", such as "sqlite:data" or "sqlite:/var/lib/causeway"`)
	}
}

func (r *rules) nats(c *Config) {
	n := c.NATS
	if e := n.Embedded; e != nil {
		if n.URL != "" {
			r.wrong("nats.url", "excludes nats.embedded; keep one of the two")
		}
		if len(e.Users) == 0 && validListen(e.Listen) && !loopback(e.Listen) {
			r.wrong("nats.embedded.listen", "others can reach this address, and who may publish there can write to customers; "+
				"name nats.embedded.users, or listen on 127.0.0.1")
		}
		r.unique("nats.embedded.users", len(e.Users), func(i int) string { return e.Users[i].Name })
		for i, u := range e.Users {
			for j, app := range u.Apps {
				if !slices.ContainsFunc(c.Applications, func(a Application) bool { return a.Name == app }) {
					r.wrong(fmt.Sprintf("nats.embedded.users[%d].apps[%d]", i, j), "there is no application of this name")
				}
			}
			for j, sender := range u.Send {
				if !c.sender(sender) {
					r.wrong(fmt.Sprintf("nats.embedded.users[%d].send[%d]", i, j), "there is no account of this name, nor a pool of it behind pool:")
				}
			}
		}
	}
	if n.URL == "" {
		for _, f := range []struct {
			name string
			set  bool
		}{{"creds_file", n.CredsFile != ""}, {"nkey_file", n.NkeyFile != ""}, {"ca", n.CA != ""}, {"cert", n.Cert != ""},
			{"user", n.User != ""}, {"password", n.Password != ""}, {"replicas", n.Replicas != 0}} {
			if f.set {
				r.wrong("nats."+f.name, "is for servers outside; name nats.url, or leave it out")
			}
		}
		return
	}
	for _, one := range strings.Split(n.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			r.wrong("nats.url", "must be one or more addresses such as nats://a:4222,nats://b:4222")
		case u.User != nil:
			r.wrong("nats.url", "must not hold credentials, since addresses are shown; use nats.user and nats.password, or nats.creds_file")
		}
	}
	if n.CredsFile == "" && n.NkeyFile == "" && (n.User == "" || n.Password == "") {
		r.wrong("nats.url", "needs nats.creds_file, nats.nkey_file, or nats.user and nats.password: who may publish there can write to customers")
	}
}

// sender says whether a name is that of an account, or of a pool behind "pool:".
func (c *Config) sender(name string) bool {
	if pool, ok := strings.CutPrefix(name, "pool:"); ok {
		return slices.ContainsFunc(c.Pools, func(p Pool) bool { return p.Name == pool })
	}
	return slices.ContainsFunc(c.Accounts, func(a Account) bool { return a.Name == name })
}

func (r *rules) endpoints(c *Config) {
	r.unique("endpoints", len(c.Endpoints), func(i int) string { return c.Endpoints[i].Name })
	if c.TLS != nil && c.TLS.ClientCN != "" && c.TLS.ClientCA == "" {
		r.wrong("tls.client_cn", "needs tls.client_ca: a name says nothing without the authority that vouches for it")
	}
	for i, e := range c.Endpoints {
		if e.MTLS && (c.TLS == nil || c.TLS.ClientCA == "") {
			r.wrong(fmt.Sprintf("endpoints[%d].mtls", i), "needs tls with client_ca, the authorities whose client certificates are taken; "+
				"a proxy that ends TLS must check them itself")
		}
		r.receivers(i, &c.Endpoints[i])
		r.unifiedEndpoint(i, &c.Endpoints[i])
		if (e.TokenPrevious == "") != (e.EncodingAESKeyPrevious == "") {
			r.wrong(fmt.Sprintf("endpoints[%d].token_previous", i), "and encoding_aes_key_previous must be named together: WeCom changes them together")
		}
	}
}

func (r *rules) accounts(c *Config) {
	r.unique("accounts", len(c.Accounts), func(i int) string { return c.Accounts[i].Name })
	seen := map[string]int{}
	for i, a := range c.Accounts {
		at := fmt.Sprintf("accounts[%d]", i)
		r.accountKind(at, &c.Accounts[i])
		r.unifiedAccount(at, &c.Accounts[i])
		r.proxy(at+".proxy", a.Proxy)
		if id := a.PlatformID(); id != "" {
			key := a.Platform + " " + id
			if first, twice := seen[key]; twice {
				r.wrong(at+"."+a.idField(), "is the id of accounts[%d] already; one account has one name", first)
			} else {
				seen[key] = i
			}
		}
		if u, err := url.Parse(a.APIBase); err == nil && a.APIBase != "" {
			switch {
			case u.User != nil || u.RawQuery != "" || u.Fragment != "":
				r.wrong(at+".api_base", "must be scheme, host and path only")
			case u.Scheme != "https" && (u.Scheme != "http" || !loopback(net.JoinHostPort(u.Hostname(), "80"))):
				r.wrong(at+".api_base", "must begin with https:// (http:// is for this machine only): credentials travel there")
			}
		}
	}
}

func (r *rules) applications(c *Config) {
	r.unique("applications", len(c.Applications), func(i int) string { return c.Applications[i].Name })
	for i, a := range c.Applications {
		if a.OnExhausted == "block" && a.BlockTries <= a.Tries {
			r.wrong(fmt.Sprintf("applications[%d].block_tries", i), "must be more than tries: it counts all tries, and only those behind them hold the conversation")
		}
		if a.Name == gateway.BrakeAll {
			r.wrong(fmt.Sprintf("applications[%d].name", i), "means every application in `causeway pause replies %s`; take another one", gateway.BrakeAll)
		}
		r.bridge(fmt.Sprintf("applications[%d]", i), &c.Applications[i])
		r.collect(fmt.Sprintf("applications[%d].collect", i), &c.Applications[i])
		for j, name := range a.Accounts {
			if !slices.ContainsFunc(c.Accounts, func(x Account) bool { return x.Name == name }) {
				r.wrong(fmt.Sprintf("applications[%d].accounts[%d]", i, j), "there is no account of this name")
			}
		}
	}
	apps := c.Apps()
	for i := range apps {
		for j := range i {
			if both := c.overlap(&apps[j], &apps[i]); both != "" {
				r.wrong(fmt.Sprintf("applications[%d]", i), "%s and %s may both reply to the same events (%s), so a customer would be answered twice; "+
					"make their filters differ, or set replies: false in one", apps[j].Name, apps[i].Name, both)
			}
		}
	}
}

// collect refuses what would never collect anything, or never hand anything out.
func (r *rules) collect(at string, a *Application) {
	switch {
	case a.Collect == nil:
	case len(a.Kinds) > 0 && !slices.Contains(a.Kinds, string(gateway.KindMessage)):
		r.wrong(at, "collects messages, and the application wants none; add message to kinds, or leave collect out")
	case a.StaleAfter > 0 && a.Collect.Longest >= a.StaleAfter:
		r.wrong(at+".longest", "must be less than stale_after, or what was waited for is too old when its turn comes")
	}
}

// overlap names an event that two replying applications both want. What is not
// configured as an account does not become an event, so trying every account is
// exact; with no accounts yet, the platforms stand for them.
func (c *Config) overlap(a, b *gateway.Application) string {
	if !a.Replies || !b.Replies {
		return ""
	}
	type sender struct{ platform, account string }
	var senders []sender
	for _, x := range c.Accounts {
		senders = append(senders, sender{x.Platform, x.Name})
	}
	if len(senders) == 0 {
		senders = []sender{{"whatsapp", ""}, {"wecom", ""}, {"unified", ""}}
	}
	for _, s := range senders {
		for _, kind := range gateway.Kinds() {
			for _, chat := range []gateway.ChatKind{gateway.ChatSingle, gateway.ChatGroup, gateway.ChatAccount} {
				if a.Wants(s.platform, s.account, kind, chat) && b.Wants(s.platform, s.account, kind, chat) {
					where := "of account " + s.account
					if s.account == "" {
						where = "of " + s.platform
					}
					return fmt.Sprintf("kind %s %s in %s chats", kind, where, chat)
				}
			}
		}
	}
	return ""
}

// loopback says whether only this machine can reach the address.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
