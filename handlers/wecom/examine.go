package wecom

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
)

// Callbacks are the gateway's endpoints that WeCom may call, for Examine. WeCom
// tells no app the URL of its callbacks.
type Callbacks struct {
	// Names of the endpoints of apps, as they stand in their URLs, by the corp
	// their callbacks are addressed to.
	Names map[string][]string
}

// callPatience is how long one question may take.
const callPatience = 5 * time.Second

// maxShown is how many addresses are told one by one.
const maxShown = 20

// Examined is a client that Examine can ask about: that of an app, or of an account
// that an app may use.
type Examined interface {
	TryCredentials(ctx context.Context) handlers.Credentials
	facts(ctx context.Context, cb Callbacks) []handlers.Fact
}

// Examine asks WeCom what it knows of an account and says for each what would mend
// it: a few calls. It sends nothing and changes nothing. When WeCom cannot be
// reached or the credentials are refused, that is the only fact; the address that
// WeCom saw is in it where the address is what is refused (60020), and no call
// tells it otherwise. The context bounds all of it.
func Examine(ctx context.Context, c Examined, cb Callbacks) []handlers.Fact {
	one, cancel := context.WithTimeout(ctx, callPatience)
	tried := c.TryCredentials(one)
	cancel()
	facts := []handlers.Fact{tried.Fact()}
	if tried.State == handlers.CredentialsTaken {
		facts = append(facts, c.facts(ctx, cb)...)
	}
	return facts
}

func (c *Client) facts(ctx context.Context, cb Callbacks) []handlers.Fact {
	var facts []handlers.Fact
	if c.config.AgentID != 0 {
		facts = c.visibility(ctx)
	}
	return append(facts, c.receiving(ctx, cb)...)
}

// visibility asks who can see the app: it can write to nobody else, and nobody
// else to it. Source: WeCom, agent/get (90227).
func (c *Client) visibility(ctx context.Context) []handlers.Fact {
	var a struct {
		Users struct {
			User []struct{} `json:"user"`
		} `json:"allow_userinfos"`
		Parties struct {
			ID []json.Number `json:"partyid"`
		} `json:"allow_partys"`
		Tags struct {
			ID []json.Number `json:"tagid"`
		} `json:"allow_tags"`
		Entering int `json:"isreportenter"`
	}
	q := url.Values{"agentid": {strconv.FormatInt(c.config.AgentID, 10)}}
	if f := c.ask(ctx, "agent/get", q, &a); f != nil {
		return []handlers.Fact{unknownFact("who can see the app", f)}
	}
	users, parties, tags := len(a.Users.User), len(a.Parties.ID), len(a.Tags.ID)
	fact := handlers.Fact{Level: "info", What: fmt.Sprintf("the app is visible to members: %d, departments: %d, tags: %d", users, parties, tags),
		Detail: "to those in them as well; nobody else can write to it or be written to"}
	if users+parties+tags == 0 {
		fact = handlers.Fact{Level: "error", What: "the app is visible to nobody, so nothing is received and every message is refused",
			Do: "in WeCom's console open the app (app management) and set whom it is visible to"}
	}
	facts := []handlers.Fact{fact}
	if a.Entering != 0 {
		facts = append(facts, handlers.Fact{Level: "info", What: "members who open the app are reported (enter_agent)"})
	}
	return facts
}

// receiving is what can be known of callbacks: whether an endpoint takes those of
// the corp, and from where WeCom makes them. Source: WeCom, getcallbackip (90930).
func (c *Client) receiving(ctx context.Context, cb Callbacks) []handlers.Fact {
	var facts []handlers.Fact
	const receive = "in WeCom's console open the app, Receive messages, API, and set the URL https://YOUR.HOST/webhooks/wecom/"
	if names := cb.Names[c.config.CorpID]; len(names) == 0 {
		facts = append(facts, handlers.Fact{Level: "warning", What: "no endpoint takes callbacks of this corp, so nothing is received",
			Do: "add an endpoint with kind app and the corp id in receive_ids, then " + receive + "NAME with its token and encoding_aes_key"})
	} else {
		facts = append(facts, handlers.Fact{Level: "info", What: "endpoints that take callbacks of this corp: " + strings.Join(names, ", "),
			Detail: "WeCom tells nobody whether its console has their URL; it checks the URL when that is saved"})
	}
	var a struct {
		IPs []string `json:"ip_list"`
	}
	if f := c.ask(ctx, "getcallbackip", nil, &a); f != nil {
		return append(facts, unknownFact("the addresses that callbacks come from", f))
	}
	if len(a.IPs) == 0 {
		return append(facts, handlers.Fact{Level: "warning", What: "WeCom names no addresses that callbacks come from", Do: "ask again later"})
	}
	return append(facts, handlers.Fact{Level: "info", What: fmt.Sprintf("addresses and networks that callbacks come from: %d", len(a.IPs)),
		Detail: "a firewall must let them through; they change: " + addresses(a.IPs)})
}

// addresses lists what is an address or a network, some of them.
func addresses(list []string) string {
	var out []string
	for i, s := range list {
		if len(out) == maxShown {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(list)-i)
		}
		if _, err := netip.ParseAddr(s); err != nil {
			if _, err := netip.ParsePrefix(s); err != nil {
				// As 101.226.103.* is written too.
				if strings.Trim(s, "0123456789.*") != "" || len(s) > 20 {
					continue
				}
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// ask makes one call that reads and changes nothing; a token that WeCom refuses is
// replaced once. The result is nil when out was filled.
func (c *Client) ask(ctx context.Context, call string, q url.Values, out any) *handlers.Credentials {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	failed := func(f handlers.Credentials) *handlers.Credentials { return &f }
	for n := 0; ; n++ {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return failed(c.untried(err))
		}
		all := url.Values{"access_token": {token}}
		for name := range q {
			all.Set(name, q.Get(name))
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, apiURL(c.config.APIBase, call, all), nil)
		if err != nil {
			return failed(refusedURL()) // the parser's error would hold the token
		}
		resp, err := c.egress.Do(req, time.Time{})
		if err != nil {
			return failed(unreached(err))
		}
		var a struct {
			Code    *int   `json:"errcode"`
			Message string `json:"errmsg"`
		}
		readable := json.Unmarshal(resp.Body, &a) == nil
		switch {
		// getcallbackip is documented without an errcode in one copy.
		case readable && (a.Code == nil || *a.Code == 0) && resp.Status == http.StatusOK && json.Unmarshal(resp.Body, out) == nil:
			return nil
		case !readable, a.Code == nil, *a.Code == 0:
			return failed(strange(resp.Status))
		case c.codes[*a.Code].Class == ClassToken && n == 0:
			c.tokens.drop(token)
			continue
		}
		meaning := first(c.codes[*a.Code].Meaning, "not in the table of codes")
		if words := egress.Redact(a.Message, c.config.Secret, token); words != "" {
			meaning += ": " + words
		}
		return failed(c.judge(*a.Code, meaning, egressAddress(*a.Code, a.Message)))
	}
}

// unknownFact notes a question that was not answered: a warning, since what was to be
// seen is not known, and the account may work all the same.
func unknownFact(what string, f *handlers.Credentials) handlers.Fact {
	return handlers.Fact{Level: "warning", What: what + " could not be read", Detail: f.Code + ", " + f.Detail, Do: f.Do}
}
