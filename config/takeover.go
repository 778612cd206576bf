package config

import "github.com/causewayhq/causeway/gateway"

// UnknownRule is what happens to what stays unknown, in the gateway's words.
func (a *Account) UnknownRule() gateway.OnUnknown {
	return gateway.OnUnknown{Do: gateway.UnknownDo(a.OnUnknown), HoldFor: a.HoldUnknown}
}

// Rule is the takeover in the gateway's words.
func (t Takeover) Rule() gateway.Takeover {
	rule := gateway.Takeover{For: t.For, Then: gateway.Then(t.Then)}
	if rule.Then == "" {
		rule.Then = gateway.ThenDrop
	}
	return rule
}
