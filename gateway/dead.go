package gateway

import "time"

// DeadLetter is something that was given up, with its reason, until a person
// requeues or drops it.
type DeadLetter struct {
	ID       string    `json:"id"`   // "dl_" + ULID
	Kind     string    `json:"kind"` // event, message, item, payload
	At       time.Time `json:"at"`
	Reason   string    `json:"reason"`
	Detail   string    `json:"detail,omitempty"`
	App      string    `json:"app,omitempty"`
	Platform string    `json:"platform,omitempty"`
	Account  string    `json:"account,omitempty"`
	Conv     string    `json:"conv,omitempty"`
	Event    string    `json:"event,omitempty"`
	N        int64     `json:"-"`
	Message  string    `json:"message,omitempty"`
	Payload  string    `json:"payload,omitempty"`
	Pos      int64     `json:"-"`
	Item     int       `json:"item,omitempty"`
	Tries    int       `json:"tries,omitempty"`
	State    string    `json:"state"` // open, requeued, dropped
	By       string    `json:"by,omitempty"`
	// Note is why a person dropped it.
	Note string `json:"note,omitempty"`
}

// RequeueOrder is where requeued things go among the newer ones of their
// conversation, for people: every place that tells it says the same.
const RequeueOrder = "A requeued event goes back to its old place: before the newer events of its conversation that still wait, " +
	"after those handled meanwhile and the one a worker has in hand. A requeued message is due now: behind those of its " +
	"conversation that were due before. An item or a payload is read again: what it holds are new events, behind all others."

// DeadStats says how many dead letters a filter selects, and of what.
type DeadStats struct {
	Total int64 `json:"total"`
	// By reason, account, application and kind, most first.
	Reasons  []DeadCount `json:"reasons"`
	Accounts []DeadCount `json:"accounts"`
	Apps     []DeadCount `json:"apps"`
	Kinds    []DeadCount `json:"kinds"`
	// Hours are the newest hours in which one was buried, newest first, at most
	// 48; Earlier counts those before them.
	Hours   []DeadHour `json:"hours"`
	Earlier int64      `json:"earlier"`
}

// DeadCount is a number of dead letters. Name is empty where they have none.
type DeadCount struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// DeadHour is how many were buried in the hour that began at At.
type DeadHour struct {
	At    time.Time `json:"at"`
	Count int64     `json:"count"`
}

// DeadOpen is a kept count of open dead letters.
type DeadOpen struct {
	Kind, App, Account, Reason string
	Count                      int64
}

// DeadPlan says what moving the dead letters of a filter would move.
type DeadPlan struct {
	Letters       int64       `json:"letters"`
	Kinds         []DeadCount `json:"kinds"`
	Conversations int64       `json:"conversations"`
	// Convs are at most 20 of them, most letters first.
	Convs []DeadConv `json:"convs"`
}

// DeadConv is a conversation with dead letters. Waiting counts what waits in it
// now, for any application, up to 1,000.
type DeadConv struct {
	Conv    string `json:"conv"`
	Letters int64  `json:"letters"`
	Waiting int64  `json:"waiting"`
}

// DeadMoved counts what moving many did. Skipped ones were in another state by
// then.
type DeadMoved struct{ Moved, Skipped int }

// Reburied is what another try made of dead letters of items and payloads that the
// ledger refused to take when they were due.
type Reburied struct {
	Buried   []DeadLetter
	Released []Brake // conversations that waited for them and go on
	Refused  int     // again
	// Next is when the next one is to be tried; zero when none is owed.
	Next time.Time
}

// Requeued is what a requeue set moving.
type Requeued struct {
	Pending *Pending // an event waits again
	Conv    string   // a message waits again in this conversation
	Again   bool     // a payload is to be read again
	// Merged tells again of the merges that let others wait for what waits now.
	Merged []Merge
}
