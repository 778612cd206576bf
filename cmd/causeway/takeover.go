package main

import (
	"context"
	"slices"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
)

// takeover is what an account does when a colleague writes; nothing when it is not
// configured any more.
func (a *app) takeover(platform, account string) gateway.Takeover {
	accounts := a.o.Config.Accounts
	i := slices.IndexFunc(accounts, func(acc config.Account) bool { return acc.Platform == platform && acc.Name == account })
	if i < 0 {
		return gateway.Takeover{}
	}
	return accounts[i].Takeover.Rule()
}

// takenFor is what the gate of an application asks about takeovers: nothing when it
// wants their events.
func (a *app) takenFor(app *gateway.Application) func(context.Context, []string) (map[string]bool, error) {
	if !app.SkipTaken {
		return nil
	}
	return func(ctx context.Context, convs []string) (map[string]bool, error) {
		return a.ledger.InTakeover(ctx, convs, a.o.Now())
	}
}

// tookOver tells the gates of applications that want no events of a taken conversation,
// after the commit that took it. If we die before, they look at their next start.
func (a *app) tookOver() {
	for _, app := range a.dir.apps {
		if app.SkipTaken {
			a.broker.gates[app.Name].Braked()
		}
	}
}

// ReleaseConversation takes a conversation back from a colleague. If the process dies
// after the commit, the judge lets go of what was held when it runs again.
func (x adminAPI) ReleaseConversation(ctx context.Context, conv string, then gateway.Then, by string) (held int, err error) {
	held, err = x.a.ledger.ReleaseConversation(ctx, conv, then, by, x.a.o.Now())
	if err == nil {
		x.a.judge.Kick()
	}
	return held, err
}
