package main

import (
	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
)

// sharing is for the sender: which accounts have a WhatsApp Business Account, an app
// of Meta, both of them or a corp of WeCom in common. Accounts with one access token have one app; whether two tokens are
// of one app is not known here, and each finds out by itself.
func sharing(accounts []config.Account) func(account string, share gateway.Share) []string {
	key := func(a *config.Account, share gateway.Share) string {
		switch {
		case share == gateway.ShareApp && a.AccessToken != "":
			return "token " + a.AccessToken.Reveal()
		case share == gateway.ShareWABA && a.WABAID != "":
			return "waba " + a.WABAID
		case share == gateway.ShareAccess && a.WABAID != "" && a.AccessToken != "":
			return "access " + a.WABAID + " " + a.AccessToken.Reveal()
		case share == gateway.ShareCorp && a.CorpID != "":
			return "corp " + a.CorpID + " " + a.Kind
		}
		return ""
	}
	return func(account string, share gateway.Share) (out []string) {
		of := ""
		for i := range accounts {
			if a := &accounts[i]; a.Name == account {
				of = key(a, share)
			}
		}
		for i := range accounts {
			if a := &accounts[i]; of != "" && key(a, share) == of {
				out = append(out, a.Name)
			}
		}
		return out
	}
}
