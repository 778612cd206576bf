package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// account is an account of the configuration; nil for one that is not there.
func (a *app) account(name string) *config.Account {
	accounts := a.o.Config.Accounts
	if i := slices.IndexFunc(accounts, func(acc config.Account) bool { return acc.Name == name }); i >= 0 {
		return &accounts[i]
	}
	return nil
}

// accountNames are those of the configuration.
func (a *app) accountNames() []string {
	names := make([]string, 0, len(a.o.Config.Accounts))
	for i := range a.o.Config.Accounts {
		names = append(names, a.o.Config.Accounts[i].Name)
	}
	return names
}

// limits is for the sender.
func (a *app) limits(name string) []gateway.Limit {
	acc := a.account(name)
	if acc == nil {
		return nil
	}
	return acc.Limits()
}

// onUnknown is for the sender: what an account does about what stays unknown.
func (a *app) onUnknown(name string) gateway.OnUnknown {
	if acc := a.account(name); acc != nil {
		return acc.UnknownRule()
	}
	return gateway.OnUnknown{}
}

// unread is for the sender: when the oldest payload came that was not relayed yet. While
// one is relayed that is large, those behind it may have been.
func (a *app) unread(ctx context.Context) (oldest time.Time, err error) {
	at, err := a.ledger.Position(ctx)
	if err != nil {
		return oldest, err
	}
	list, err := a.archive.Read(ctx, at.Pos, 1, 0)
	if len(list) > 0 {
		oldest = list[0].ReceivedAt
	}
	return oldest, err
}

// keyFP is the fingerprint of what an account is refused or taken by: credentials,
// what they are for, and from where the calls come.
func (a *app) keyFP(name string) string {
	acc := a.account(name)
	if acc == nil {
		return ""
	}
	parts := []string{acc.PlatformID(), acc.WABAID, strconv.FormatInt(acc.AgentID, 10), acc.APIBase,
		acc.AccessToken.Reveal(), acc.Secret.Reveal(), acc.Key.Reveal(), acc.Proxy.Reveal()}
	for _, h := range acc.Headers {
		parts = append(parts, h.Value.Reveal())
	}
	return gateway.Fingerprint(strings.Join(parts, "\x00"))
}

// tryAccount is for the sender: whether a platform takes the credentials of a stopped
// account, by a call that sends nothing, where it has one. One that does not answer
// is not sent to either.
func (a *app) tryAccount(ctx context.Context, platform, name string) (code string) {
	t, ok := a.dir.client(platform, name).(trier)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	c := t.TryCredentials(ctx)
	if c.State == handlers.CredentialsTaken {
		return ""
	}
	return c.Code
}

// failedLater is for the judge: what messages that failed after they were taken say about
// their accounts.
func (a *app) failedLater(ctx context.Context, list []gateway.FailedLater) {
	type told struct {
		account, conv string
		code          int
	}
	seen := make(map[told]bool)
	for i := range list {
		f := &list[i]
		c, ok := a.dir.client(f.Platform, f.Account).(interface {
			FailedLater(code int) (gateway.Outcome, bool)
		})
		key := told{f.Account, f.Conv, f.Code}
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		if o, ok := c.FailedLater(f.Code); ok {
			a.sender.Failed(ctx, f, &o)
		}
	}
}

// checkAccounts is doctor's look at what leaves.
func (a *app) checkAccounts(d *diagnosis) {
	for _, acc := range a.sender.Accounts() {
		if at := acc.TemplatesAt; !at.IsZero() {
			d.add("warning", "the platform lets no template of this account through ("+acc.TemplatesCode+"); answers go on", acc.Account, 0, time.Time{},
				"templates wait and one is tried at "+at.UTC().Format(time.RFC3339)+"; look at the number's quality in WhatsApp Manager")
		}
		next := "; next try at " + acc.ProbeAt.UTC().Format(time.RFC3339)
		switch acc.State {
		case gateway.AccountPaused, gateway.AccountIsolated:
			d.add("error", "nothing leaves this account: "+string(acc.State)+" ("+string(acc.Reason)+", "+acc.Code+")", acc.Account, int64(acc.Waiting), acc.Since,
				"causeway doctor account "+acc.Account+"; after mending it: causeway accounts resume "+acc.Account+next)
		case gateway.AccountSlowed:
			if acc.Reason != gateway.BlamePace {
				d.add("warning", "nothing leaves this account: the platform is not reached, or refuses it for the moment", acc.Account, int64(acc.Waiting), acc.Since,
					"it goes on by itself"+next)
				continue
			}
			d.add("warning", "the platform slows this account down", acc.Account, int64(acc.Waiting), acc.Since,
				"it recovers by itself; is pace of the account what the platform allows?")
		case gateway.AccountHealthy:
		}
	}
}

// heardFrom tells how many messages came to accounts just now. Several applications may want
// the same one; those that nobody wants are few and not counted.
func heardFrom(rows []gateway.Pending, tell func(account string, n int)) {
	account, n, last := "", 0, int64(0)
	for i := range rows {
		e := rows[i].Row
		if e == nil || rows[i].N == last || e.Kind != gateway.KindMessage || e.Origin != gateway.OriginLive {
			continue
		}
		last = rows[i].N
		if e.Account != account {
			if n > 0 {
				tell(account, n)
			}
			account, n = e.Account, 0
		}
		n++
	}
	if n > 0 {
		tell(account, n)
	}
}
