package main

import (
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// wecomShared is what accounts of WeCom have together.
type wecomShared struct {
	tokens map[string]*wecom.Client // one client per corp and secret, whose access token others share
	kf     []*wecom.KfClient
	ring   func(wecom.Bell) // set before the relay runs; nil in commands
}

// addWeCom makes what an account of WeCom needs, by its kind.
func (d *directory) addWeCom(acc *config.Account, out, slow *egress.Client, now func() time.Time) error {
	d.accounts["wecom/"+acc.PlatformID()] = acc.Name
	d.corps["wecom/"+acc.Name] = acc.CorpID
	switch acc.Kind {
	case "app":
		d.addWeComApp(acc, out, slow, now)
	case "aibot":
		return d.addBot(acc, out, now)
	case "robot":
		d.addRobot(acc, out, slow, now)
	case "kf":
		d.addWeComKf(acc, out, slow, now)
	}
	return nil
}

// addWeComApp makes a self-built app.
func (d *directory) addWeComApp(acc *config.Account, out, slow *egress.Client, now func() time.Time) {
	client := wecom.NewClient(d.wecomClient(acc), out, now)
	d.shareWeCom(acc, client)
	d.clients["wecom/"+acc.Name], d.targets[acc.Name] = client, wecom.NewUploads(client, slow)
	d.askers["wecom/"+acc.Name] = wecom.NewAsker(client, "")
}

// wecomAgents are the apps by corp.
func wecomAgents(accounts []config.Account) map[string][]int64 {
	out := map[string][]int64{}
	for i := range accounts {
		if a := &accounts[i]; a.Platform == "wecom" && a.Kind == "app" {
			out[a.CorpID] = append(out[a.CorpID], a.AgentID)
		}
	}
	return out
}

// wecomClient is what a client is made of. WeCom gives one access token at a time
// to a corp and secret, so that clients of the same have one between them.
func (d *directory) wecomClient(acc *config.Account) wecom.ClientConfig {
	return wecom.ClientConfig{
		APIBase: acc.APIBase, CorpID: acc.CorpID, AgentID: acc.AgentID, Secret: acc.Secret.Reveal(), Uploader: d.uploads,
		Share: d.wecom.tokens[wecomTokenKey(acc)],
	}
}

func (d *directory) shareWeCom(acc *config.Account, c *wecom.Client) {
	if d.wecom.tokens == nil {
		d.wecom.tokens = map[string]*wecom.Client{}
	}
	if key := wecomTokenKey(acc); d.wecom.tokens[key] == nil {
		d.wecom.tokens[key] = c
	}
}

// wecomTokenKey holds a secret and stays in memory. Accounts with proxies of their own
// fetch by them, so that one that is down holds the other nowhere; WeCom hands both the
// same token.
func wecomTokenKey(acc *config.Account) string {
	return acc.APIBase + "\n" + acc.CorpID + "\n" + acc.Secret.Reveal() + "\n" + acc.Proxy.Reveal()
}

// wecomCorps gives the events of a whole corp to its first app, or, where there is
// none, to its first account of customer service.
func (d *directory) wecomCorps(accounts []config.Account) {
	for _, kind := range []string{"app", "kf"} {
		for i := range accounts {
			acc := &accounts[i]
			key := "wecom/" + acc.CorpID + "/"
			if _, taken := d.accounts[key]; acc.Platform == "wecom" && acc.Kind == kind && !taken {
				d.accounts[key] = acc.Name
			}
		}
	}
}
