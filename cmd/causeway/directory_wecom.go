package main

import (
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// addWeCom makes what an account of WeCom needs, by its kind.
func (d *directory) addWeCom(acc *config.Account, out, slow *egress.Client, now func() time.Time) error {
	d.accounts["wecom/"+acc.PlatformID()] = acc.Name
	switch acc.Kind {
	case "app":
		d.addWeComApp(acc, out, slow, now)
	case "aibot":
		return d.addBot(acc, out, now)
	case "robot":
		d.addRobot(acc, out, slow, now)
	}
	return nil
}

// addWeComApp makes a self-built app; the first one of a corp also gets the events
// of the whole corp.
func (d *directory) addWeComApp(acc *config.Account, out, slow *egress.Client, now func() time.Time) {
	if _, taken := d.accounts["wecom/"+acc.CorpID+"/"]; !taken {
		d.accounts["wecom/"+acc.CorpID+"/"] = acc.Name
	}
	client := wecom.NewClient(wecom.ClientConfig{
		APIBase: acc.APIBase, CorpID: acc.CorpID, AgentID: acc.AgentID, Secret: acc.Secret.Reveal(), Uploader: d.uploads,
	}, out, now)
	d.clients["wecom/"+acc.Name], d.targets[acc.Name] = client, wecom.NewUploads(client, slow)
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
