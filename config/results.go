package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// Receiver is told by HTTP what became of messages.
type Receiver struct {
	// Name is what a message's callback names.
	Name string `yaml:"name" validate:"required,name"`
	// URL takes each result by POST: https, or http on this machine. Its network is
	// the operator's choice: private addresses are called too.
	URL string `yaml:"url" validate:"required,url"`
	// Secret signs what is posted, after Standard Webhooks: whsec_ and the base64 of 24
	// to 64 bytes. SecretPrevious signs beside it while the receiver changes over.
	Secret         Secret `yaml:"secret" validate:"required"`
	SecretPrevious Secret `yaml:"secret_previous,omitempty"`
	// Accounts and States are what it is told of. [every account; every state but
	// waiting and sending]
	Accounts []string `yaml:"accounts,omitempty"`
	States   []string `yaml:"states,omitempty" validate:"dive,oneof=waiting sending accepted sent delivered read played failed rejected unknown expired cancelled held"`
	// OnRequest: only of messages that name it as their callback. [false]
	OnRequest bool `yaml:"on_request,omitempty"`
}

// results checks what goes beyond single fields.
func (r *rules) results(c *Config) {
	r.unique("results", len(c.Results), func(i int) string { return c.Results[i].Name })
	for i, x := range c.Results {
		at := fmt.Sprintf("results[%d]", i)
		if u, err := url.Parse(x.URL); err == nil && x.URL != "" {
			switch {
			case u.User != nil || u.Fragment != "" || u.Host == "":
				r.wrong(at+".url", "must be scheme, host, path and query only")
			case u.Scheme != "https" && (u.Scheme != "http" || !loopback(net.JoinHostPort(u.Hostname(), "80"))):
				r.wrong(at+".url", "must begin with https:// (http:// is for this machine only)")
			}
		}
		for _, s := range []struct {
			name   string
			secret Secret
		}{{"secret", x.Secret}, {"secret_previous", x.SecretPrevious}} {
			if s.secret == "" {
				continue
			}
			if _, err := gateway.ParseWebhookKeys(s.secret.Reveal()); err != nil {
				r.wrong(at+"."+s.name, "%s", err)
			}
		}
		for j, name := range x.Accounts {
			if !slices.ContainsFunc(c.Accounts, func(a Account) bool { return a.Name == name }) {
				r.wrong(fmt.Sprintf("%s.accounts[%d]", at, j), "there is no account of this name")
			}
		}
	}
}
