package config

import (
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
			Block:      a.OnExhausted == "block",
			BlockFor:   a.BlockFor,
			BlockTries: a.BlockTries,
			AckWait:    a.AckWait,
			HandlerMax: a.HandlerMax,
			StaleAfter: a.StaleAfter,
			Replies:    a.Replies,
			AckDone:    a.AckDone,
			SkipTaken:  a.InTakeover == "skip",
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
