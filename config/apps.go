package config

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Apps are the applications in the gateway's words, in the order of the file.
func (c *Config) Apps() []gateway.Application {
	out := make([]gateway.Application, 0, len(c.Applications))
	for i := range c.Applications {
		a := &c.Applications[i]
		app := gateway.Application{
			Name:         a.Name,
			Platforms:    a.Platforms,
			Accounts:     a.Accounts,
			Tries:        a.Tries,
			Delays:       a.Delays,
			Block:        a.OnExhausted == "block",
			BlockFor:     a.BlockFor,
			BlockTries:   a.BlockTries,
			AckWait:      a.AckWait,
			HandlerMax:   a.HandlerMax,
			StaleAfter:   a.StaleAfter,
			AnswerWithin: a.AnswerWithin, From: a.from(),
			Replies:   a.Replies,
			Collect:   a.Collect.rule(),
			AckDone:   a.AckDone,
			SkipTaken: a.InTakeover == "skip",
			Builtin:   a.Builtin,
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

// rule is what is collected, in the gateway's words.
func (c *Collect) rule() gateway.Collect {
	if c == nil {
		return gateway.Collect{}
	}
	return gateway.Collect{Wait: c.Wait, Longest: c.Longest, Max: c.Max}
}

// from is where the application begins; it was validated.
func (a *Application) from() gateway.From {
	at, _ := time.Parse(time.RFC3339, a.From)
	return gateway.From{Beginning: a.From == "beginning", Time: at}
}

func validFrom(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return s == "now" || s == "beginning" || err == nil
}

// Relaxed says that an event of this kind that came before is an event of its own.
func (d Dedup) Relaxed(k gateway.Kind) bool {
	word := map[gateway.Kind]string{gateway.KindMessage: d.Message, gateway.KindChange: d.Change, gateway.KindState: d.State, gateway.KindNotice: d.Notice}
	return word[k] == "relaxed"
}
