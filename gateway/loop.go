package gateway

import "time"

// Loop is when a conversation is taken for two machines that talk to each other: Turns
// turns in a row, in each of which somebody wrote, was answered by an application, and
// wrote again, all of it Within so long. It is stopped then (BrakeConversation, reason
// "loop") until a person lets it go, or for Rest; 0 turns: never, 0 rest: no end by
// itself. Turns are counted in memory, and from one again after a restart.
type Loop struct {
	Turns        int
	Within, Rest time.Duration
	// Waits is how long applications that collect wait by themselves, by name, which
	// is no part of a turn.
	Waits map[string]time.Duration
}

// BrakeLoop is the reason of a conversation that was stopped as a loop, BrakeByGateway
// who stopped it.
const (
	BrakeLoop      = "loop"
	BrakeByGateway = "gateway"
)
