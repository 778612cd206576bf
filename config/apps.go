package config

import (
	"strconv"

	"github.com/causewayhq/causeway/gateway"
)

// Apps are the applications in the gateway's words, in the order of the file.
func (c *Config) Apps() []gateway.Application {
	out := make([]gateway.Application, 0, len(c.Applications))
	for _, a := range c.Applications {
		app := gateway.Application{
			Name:       a.Name,
			Platforms:  a.Platforms,
			Accounts:   a.Accounts,
			Tries:      a.Tries,
			Delays:     a.Delays,
			AckWait:    a.AckWait,
			HandlerMax: a.HandlerMax,
			StaleAfter: a.StaleAfter,
			Replies:    a.Replies,
			AckDone:    a.AckDone,
			Builtin:    a.Builtin,
		}
		for _, k := range a.Kinds {
			app.Kinds = append(app.Kinds, gateway.Kind(k))
		}
		for _, k := range a.Chats {
			app.Chats = append(app.Chats, gateway.ChatKind(k))
		}
		out = append(out, app)
	}
	return out
}

// PlatformID is the platform's own id of the account, as gateway.Item.AccountID
// names it: the phone number id, or corp id and agent id with a slash.
func (a Account) PlatformID() string {
	switch {
	case a.Platform == "whatsapp":
		return a.PhoneNumberID
	case a.CorpID != "" && a.AgentID != 0:
		return a.CorpID + "/" + strconv.FormatInt(a.AgentID, 10)
	}
	return ""
}

func (a Account) idField() string {
	if a.Platform == "whatsapp" {
		return "phone_number_id"
	}
	return "agent_id"
}
