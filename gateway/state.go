package gateway

import "time"

// State is who looks after a customer, a chat or a conversation now. It is
// published in CW_STATE and answered on cw.current.<app>. The JSON Schema is
// testdata/schema/state.json.
type State struct {
	Conv     string   `json:"conv"`
	Platform string   `json:"platform"`
	Account  string   `json:"account"`
	Chat     ChatKind `json:"chat"`
	// Owner is the colleague's userid as the platform wrote it; empty for nobody, or
	// nobody known. Where several have the customer it is the newest; Members are
	// all of them, newest first.
	Owner   string   `json:"owner,omitempty"`
	Members []Member `json:"members,omitempty"`
	// Session is where a session of customer service stands, Servicer who has it.
	Session  SessionState `json:"session,omitempty"`
	Servicer string       `json:"servicer,omitempty"`
	// LastHumanAt is when a colleague last wrote by hand; null for never.
	LastHumanAt *time.Time `json:"last_human_at"`
	// Takeover is set while a colleague has the conversation: replies are held.
	Takeover *Taken `json:"takeover,omitempty"`
	// Source says who told it: the platform just now, or the ledger by the events
	// that came. At is as of when: the moment it was asked, or the platform's time of
	// the newest event; null when there was none.
	Source Source     `json:"source"`
	At     *time.Time `json:"at"`
	// Rev grows with each change in the ledger.
	Rev int64 `json:"rev,omitempty"`
}

// Member is a colleague who has a customer.
type Member struct {
	UserID string `json:"userid"`
	// Since is when it began; null where that is not known.
	Since *time.Time `json:"since"`
}

// Source is who told a state.
type Source string

// The sources.
const (
	SourcePlatform Source = "platform"
	SourceLedger   Source = "ledger"
)

// SessionState is where a session of customer service stands.
type SessionState string

// The states of a session. Source: WeCom, kf/service_state/get (94669).
const (
	SessionNew       SessionState = "new"       // nobody took it yet
	SessionAssistant SessionState = "assistant" // the bot has it
	SessionPool      SessionState = "pool"      // it waits for a colleague
	SessionHuman     SessionState = "human"     // a colleague has it
	SessionEnded     SessionState = "ended"     // until the customer writes again
)

// StateNote is what one event says of who looks after somebody. The ledger keeps,
// by the platform's time and whatever comes first, the newest of each member and of
// the session; of two in one second the one archived later.
type StateNote struct {
	// Word is about Member; empty says nothing of owners.
	Word   NoteWord
	Member Identity
	// Session and its servicer from now on; empty says nothing.
	Session  SessionState
	Servicer Identity
}

// NoteWord is what an event says of a member and a customer.
type NoteWord string

// The words.
const (
	NoteHas   NoteWord = "has"   // looks after them from now on
	NoteSeen  NoteWord = "seen"  // does so at least now; nothing began
	NoteGone  NoteWord = "gone"  // does so no more
	NoteMoved NoteWord = "moved" // somebody else does; who is not told
)

// Subject is a conversation or key with its state in the ledger.
type Subject struct {
	State
	Identities []Identity
}
