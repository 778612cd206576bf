package gateway

import "time"

// Brake is something that is stopped, by a person or by a rule of ours. It
// survives restarts. Whatever is stopped, everything is still received.
type Brake struct {
	Scope BrakeScope `json:"scope"`
	// Name is that of the application or account, or the conversation's id; for
	// the scope replies that of an application, or BrakeAll.
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	// Reason is a word of a rule that stopped it; empty for a person's deed.
	Reason string `json:"reason,omitempty"`
}

// BrakeScope says what is stopped.
type BrakeScope string

// The scopes.
const (
	// BrakeApp: no event is handed to the application. What its workers have is
	// finished, replies in the outbox leave.
	BrakeApp BrakeScope = "app"
	// BrakeAccount and BrakeConversation: no event of it is handed to anybody and
	// no message of it leaves. What a worker has is finished, a call under way ends.
	BrakeAccount      BrakeScope = "account"
	BrakeConversation BrakeScope = "conversation"
	// BrakeReplies: nothing that the application said leaves, or nothing at all;
	// events are handed out.
	BrakeReplies BrakeScope = "replies"
)

// BrakeAll is the name under which BrakeReplies stops every message, also those
// that no application said. No application has this name.
const BrakeAll = "all"

// BrakeScopes lists every scope.
func BrakeScopes() []BrakeScope {
	return []BrakeScope{BrakeApp, BrakeAccount, BrakeConversation, BrakeReplies}
}

// Breaker is an application whose tries all fail: it is handed one event at a
// time, as a probe, until one succeeds. What fails meanwhile is waiting.
type Breaker struct {
	App   string    `json:"app"`
	Since time.Time `json:"since"` // zero: closed, the usual state
	// ProbeAt is when the next probe is offered, Wait what is waited after it.
	ProbeAt time.Time     `json:"probe_at"`
	Wait    time.Duration `json:"-"`
}
