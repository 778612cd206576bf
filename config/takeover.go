package config

import "github.com/causewayhq/causeway/gateway"

// Rule is the takeover in the gateway's words.
func (t Takeover) Rule() gateway.Takeover {
	rule := gateway.Takeover{For: t.For, Then: gateway.Then(t.Then)}
	if rule.Then == "" {
		rule.Then = gateway.ThenDrop
	}
	return rule
}
