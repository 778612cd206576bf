package main

import (
	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
)

// sharing is for the sender: which accounts have a WhatsApp Business Account or an
// app in common. Accounts with one access token have one app; whether two tokens are
// of one app is not known here, and each finds out by itself.
func sharing(accounts []config.Account) func(account string, share gateway.Share) []string {
	key := func(a *config.Account, share gateway.Share) string {
		if share == gateway.ShareApp {
			return a.AccessToken.Reveal()
		}
		return a.WABAID
	}
	return func(account string, share gateway.Share) (out []string) {
		of := ""
		for i := range accounts {
			if a := &accounts[i]; a.Name == account && a.Platform == "whatsapp" {
				of = key(a, share)
			}
		}
		for i := range accounts {
			if a := &accounts[i]; of != "" && a.Platform == "whatsapp" && key(a, share) == of {
				out = append(out, a.Name)
			}
		}
		return out
	}
}
