package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Rate is a number of messages in a time: "80/s", "20/min", "1000/h"; 0 is no
// bound. In a Config that is complete it is never empty.
type Rate string

func (r Rate) valid() bool {
	_, _, ok := r.read()
	return ok
}

func (r Rate) read() (n int, per time.Duration, ok bool) {
	number, unit, found := strings.Cut(string(r), "/")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || n < 0 || n > 1_000_000:
		return 0, 0, false
	case !found:
		return 0, 0, n == 0
	}
	per = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[strings.TrimSpace(unit)]
	return n, per, per > 0
}

// Retry is how often and when a message that certainly was not sent is tried again.
type Retry struct {
	// Tries in all; after the last one it is a dead letter "tries". What a platform
	// says about pace, or about the account as a whole, is no try. [4]
	Tries int `yaml:"tries,omitempty" validate:"min=0,max=100"`
	// First is the wait after the first try; each next one is Factor times as long,
	// by Jitter of it more or less. [10s, 2, 0.2]
	First  time.Duration `yaml:"first,omitempty" validate:"min=0s,max=1h"`
	Factor float64       `yaml:"factor,omitempty" validate:"omitempty,min=1,max=10"`
	Jitter float64       `yaml:"jitter,omitempty" validate:"min=0,max=1"`
	// MaxAge: what is not sent so long after it was due is a dead letter
	// "expired". [24h]
	MaxAge time.Duration `yaml:"max_age,omitempty" validate:"min=0s,max=720h"`
}

// Pace bounds how fast messages of an account leave. The defaults are the platforms'
// own numbers (WhatsApp: 80 a second of a number, 20 where it is used in the
// WhatsApp Business app as well, up to 1000 after an upgrade; one in six seconds to a
// customer, 45 at once are lent. WeCom: 10,000 calls a minute of a corp, 30 messages
// a minute to a member, which it drops beyond that without a word; 20 a minute of a
// group's webhook).
type Pace struct {
	// Account is for all messages of the account. [whatsapp 80/s, robot 20/min, else 0]
	Account Rate `yaml:"account,omitempty" validate:"omitempty,rate"`
	// Corp is for all accounts of one kind of a WeCom corp. [app and kf 10000/min]
	Corp Rate `yaml:"corp,omitempty" validate:"omitempty,rate"`
	// Pair is for the messages to one customer, member or chat. [whatsapp 10/min,
	// app 30/min and never more than 1000/h, else 0]
	Pair Rate `yaml:"pair,omitempty" validate:"omitempty,rate"`
	// Burst is how many messages of one pair may leave at once and are paid back; 0
	// never lets more leave than pair says, in any time of that length. [whatsapp 45]
	Burst *int `yaml:"burst,omitempty" validate:"omitempty,min=0,max=10000"`
}

// completePace fills in the platform's numbers.
func (a *Account) completePace() {
	p := Pace{Account: "0", Corp: "0", Pair: "0"}
	burst := 0
	switch a.Platform + " " + a.Kind {
	case "whatsapp ":
		p.Account, p.Pair, burst = "80/s", "10/min", 45
	case "wecom app":
		p.Corp, p.Pair = "10000/min", "30/min"
	case "wecom kf":
		p.Corp = "10000/min"
	case "wecom robot":
		p.Account = "20/min"
	}
	if a.Pace == nil {
		a.Pace = &Pace{}
	}
	for to, from := range map[*Rate]Rate{&a.Pace.Account: p.Account, &a.Pace.Corp: p.Corp, &a.Pace.Pair: p.Pair} {
		if *to == "" {
			*to = from
		}
	}
	if a.Pace.Burst == nil {
		a.Pace.Burst = &burst
	}
}

// hourlyPair is how many messages WeCom lets an app send to one member in an hour,
// beside those in a minute; it drops the rest without a word (90312).
const hourlyPair = 1000

// Limits are the account's paces in the sender's words; none for one that is off.
func (a *Account) Limits() []gateway.Limit {
	if a.Pace == nil {
		return nil
	}
	var out []gateway.Limit
	add := func(r Rate, l gateway.Limit) bool {
		n, per, _ := r.read()
		if n == 0 {
			return false
		}
		l.N, l.Per = n, per
		if per == time.Second && !l.Pair { // smooth: a tenth of a second at once
			l.Burst = max(n/10, 1)
		}
		out = append(out, l)
		return true
	}
	add(a.Pace.Account, gateway.Limit{Both: a.Platform == "whatsapp"}) // Meta counts what comes in and what goes out together
	if a.CorpID != "" {
		add(a.Pace.Corp, gateway.Limit{Of: a.CorpID + "/" + a.Kind})
	}
	pair := gateway.Limit{Pair: true}
	if a.Pace.Burst != nil {
		pair.Burst = *a.Pace.Burst
	}
	if add(a.Pace.Pair, pair) && a.Platform == "wecom" && a.Kind == "app" {
		out = append(out, gateway.Limit{Pair: true, N: hourlyPair, Per: time.Hour})
	}
	return out
}

// Retry is how messages of an account are tried again: its own words over those of
// all. An account that is not configured has those of all.
func (c *Config) Retry(account string) gateway.Retry {
	r := gateway.Retry(c.Send)
	at := slices.IndexFunc(c.Accounts, func(a Account) bool { return a.Name == account })
	if at < 0 || c.Accounts[at].Retry == nil {
		return r
	}
	own := gateway.Retry(*c.Accounts[at].Retry)
	r.Tries, r.First, r.MaxAge = or(own.Tries, r.Tries), or(own.First, r.First), or(own.MaxAge, r.MaxAge)
	r.Factor, r.Jitter = or(own.Factor, r.Factor), or(own.Jitter, r.Jitter)
	return r
}

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

// ProxyURL is the proxy of the account; nil for none.
func (a *Account) ProxyURL() *url.URL {
	u, _ := proxyURL(a.Proxy)
	return u
}

func proxyURL(s Secret) (*url.URL, bool) {
	if s == "" {
		return nil, true
	}
	u, err := url.Parse(s.Reveal())
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, false
	}
	return u, true
}

func (r *rules) proxy(at string, s Secret) {
	if _, ok := proxyURL(s); !ok {
		r.wrong(at, "must be an address such as http://proxy:3128, https://user:password@proxy:443 or socks5://proxy:1080")
	}
}

func (r *rules) sending(c *Config) {
	for _, f := range []struct {
		name    string
		missing bool
	}{{"tries", c.Send.Tries == 0}, {"first", c.Send.First == 0}, {"factor", c.Send.Factor == 0}, {"max_age", c.Send.MaxAge == 0}} {
		if f.missing {
			r.wrong("send."+f.name, "must be more than 0")
		}
	}
}

// Pool lets several accounts of one kind send as one: "pool:" and its name as the
// sender of a message.
type Pool struct {
	Name string `yaml:"name" validate:"required,name"`
	// Accounts are its members. A customer whom one of them talks with stays with it.
	Accounts []PoolAccount `yaml:"accounts" validate:"min=1,max=1000,dive"`
}

// PoolAccount is a member of a pool.
type PoolAccount struct {
	Name string `yaml:"name" config:"short" validate:"required,name"`
	// Weight is its share of new conversations, beside how much it may send just
	// now. [1]
	Weight int `yaml:"weight,omitempty" validate:"min=1,max=1000"`
}

func (p *PoolAccount) setDefaults() { p.Weight = 1 }

func (r *rules) pools(c *Config) {
	r.unique("pools", len(c.Pools), func(i int) string { return c.Pools[i].Name })
	for i, p := range c.Pools {
		first := -1
		for j, m := range p.Accounts {
			at := fmt.Sprintf("pools[%d].accounts[%d].name", i, j)
			k := slices.IndexFunc(c.Accounts, func(a Account) bool { return a.Name == m.Name })
			switch {
			case m.Name == "":
				continue // that is said elsewhere
			case slices.ContainsFunc(p.Accounts[:j], func(b PoolAccount) bool { return b.Name == m.Name }):
				r.wrong(at, "is in the pool already")
			case k < 0:
				r.wrong(at, "there is no account of this name")
			case c.Accounts[k].Kind == "aibot":
				r.wrong(at, "is a robot, which only answers")
			case first < 0:
				first = k
			case c.Accounts[k].Platform != c.Accounts[first].Platform || c.Accounts[k].Kind != c.Accounts[first].Kind:
				r.wrong(at, "must be of the platform and kind of %s: a customer's id is another one elsewhere", c.Accounts[first].Name)
			case c.Accounts[k].CorpID != c.Accounts[first].CorpID:
				r.wrong(at, "must be of the corp of %s: a customer's id is another one elsewhere", c.Accounts[first].Name)
			}
		}
	}
}
