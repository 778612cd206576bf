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
}

// Requeued is what a requeue set moving.
type Requeued struct {
	Pending *Pending // an event waits again
	Conv    string   // a message waits again in this conversation
	Again   bool     // a payload is to be read again
	// Merged tells again of the merges that let others wait for what waits now.
	Merged []Merge
}
