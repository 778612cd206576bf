package config

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Loop is when a conversation is taken for two machines that talk to each other, and
// stopped.
type Loop struct {
	// Turns in a row, each of them question, answer and the next question; 0: never.
	// [10]
	Turns int `yaml:"turns" validate:"min=0,max=1000"`
	// Within is how long such a turn takes at most. [2s]
	Within time.Duration `yaml:"within" validate:"min=100ms,max=1m"`
	// Rest is when it is let go by itself; 0: only by causeway resume. [10m]
	Rest time.Duration `yaml:"rest" validate:"min=0s,max=168h"`
}

// Rule is the loop in the gateway's words.
func (l Loop) Rule() gateway.Loop {
	return gateway.Loop{Turns: l.Turns, Within: l.Within, Rest: l.Rest}
}

func defaultLoop() Loop { return Loop{Turns: 10, Within: 2 * time.Second, Rest: 10 * time.Minute} }
