package wecom

import (
	"context"
	"encoding/json"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
)

// listPage is how many accounts kf/account/list tells at once. Source: WeCom 94661.
const listPage = 100

// kfAdvice is what an operator does about an account that the app may not use.
const kfAdvice = "open customer service for the API in WeCom's console and grant the account to a self-built app, whose secret is the one to use"

// TryCredentials asks WeCom which kf accounts the app may use and says whether
// corp id, secret, this machine's address and the grant of the account are right.
// It sends nothing, and its bounds are those of Client.TryCredentials. Source:
// WeCom, kf/account/list (94661).
func (k *KfClient) TryCredentials(ctx context.Context) handlers.Credentials {
	for offset := 0; ; offset += listPage {
		found, more, out := k.askAccounts(ctx, offset)
		if out != nil {
			return *out
		}
		if found {
			return handlers.Credentials{State: handlers.CredentialsTaken}
		}
		if !more {
			return handlers.Credentials{State: handlers.CredentialsRefused, Code: "not_granted",
				Detail: "the app may not use this customer service account, or it does not exist",
				Do:     "compare open_kfid of the account with WeCom's console (customer service), and grant the account to the app there"}
		}
	}
}

// askAccounts asks for some accounts; a token that is refused is replaced once.
func (k *KfClient) askAccounts(ctx context.Context, offset int) (found, more bool, out *handlers.Credentials) {
	result := func(c handlers.Credentials) (bool, bool, *handlers.Credentials) { return false, false, &c }
	for n := 0; ; n++ {
		resp, token, err := k.post(ctx, "kf/account/list", map[string]int{"offset": offset, "limit": listPage})
		if err != nil {
			return result(k.untried(err))
		}
		var a struct {
			Code     *int   `json:"errcode"`
			Message  string `json:"errmsg"`
			Accounts []struct {
				ID string `json:"open_kfid"`
			} `json:"account_list"`
		}
		switch {
		case json.Unmarshal(resp.Body, &a) != nil || a.Code == nil:
			return result(strange(resp.Status))
		case k.codes[*a.Code].Class == ClassToken && n == 0:
			k.tokens.drop(token)
			continue
		case *a.Code != 0:
			meaning := first(k.codes[*a.Code].Meaning, "not in the table of codes")
			if words := egress.Redact(a.Message, k.config.Secret, token, k.kf.OpenKfID); words != "" {
				meaning += ": " + words
			}
			said := k.judge(*a.Code, meaning, egressAddress(*a.Code, a.Message))
			switch *a.Code {
			case 48002, 95010, 95011, 95012, 95017:
				said.Do = kfAdvice
			}
			return result(said)
		}
		for _, acc := range a.Accounts {
			found = found || acc.ID == k.kf.OpenKfID
		}
		return found, len(a.Accounts) >= listPage, nil
	}
}
