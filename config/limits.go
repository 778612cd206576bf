package config

import "github.com/causewayhq/causeway/handlers"

// HandlerLimits are the limits in the front door's words.
func (c *Config) HandlerLimits() handlers.Limits {
	l := handlers.DefaultLimits()
	l.Body = int64(c.Limits.Body)
	l.BodyMemory = int64(c.Limits.BodyMemory)
	l.AckTimeout = c.Limits.AckTimeout
	l.Header = c.Limits.HeaderTimeout
	l.Read = c.Limits.ReadTimeout
	l.Idle = c.Limits.IdleTimeout
	return l
}
