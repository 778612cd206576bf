package gateway

import (
	"bytes"
	"encoding/json"
	"time"
)

// Takeover is what an account does when a colleague writes to a customer by hand: the
// conversation is taken for a while, and what applications answer meanwhile is held.
type Takeover struct {
	// For is how long after the colleague's last message; 0: colleagues take nothing.
	For time.Duration
	// Then is what becomes of held replies when it is over. Requested messages leave
	// then in any case: somebody asked for them, and they have a time of their own.
	Then Then
}

// Then is what becomes of what was held.
type Then string

// The ways of letting go. A reply that waited for half an hour behind a colleague's
// answers is nearly always stale, so it is dropped unless asked otherwise.
const (
	ThenDrop Then = "drop" // cancelled, reason "takeover"
	ThenSend Then = "send" // waits again, in its old place
)

// Taken says who has a conversation, as published in states and events.
type Taken struct {
	// By is the colleague's userid, or the name of the token with which a person's
	// message was requested; empty where the platform does not tell.
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since"`
	// Until is when it ends if the colleague writes nothing more.
	Until time.Time `json:"until"`
}

// ReasonTakeover is that of held and cancelled messages, and of events that an
// application did not want of a taken conversation.
const ReasonTakeover = "takeover"

// Passes says that a message leaves although a colleague has the conversation: it is
// the colleague's own, or was requested so.
func (m *Message) Passes() bool { return m.EvenInTakeover || m.Human }

// MarkTaken returns stored content with Content.Takeover set, as Supersede does.
func MarkTaken(content []byte, t *Taken) ([]byte, error) {
	said, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	out := append(append(make([]byte, 0, len(content)+len(said)+16), `{"takeover":`...), said...)
	if len(bytes.TrimSpace(content)) <= 2 { // "{}" or nothing
		return append(out, '}'), nil
	}
	return append(append(out, ','), content[1:]...), nil
}
