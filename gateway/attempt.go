package gateway

import "time"

// AttemptEnd closes an attempt with what is known.
type AttemptEnd struct {
	Attempt string
	Message string
	At      time.Time
	Outcome Outcome
	// NextAt is when a retry may begin; UnknownUntil how long an unknown one
	// waits for evidence. For a harmless reply (ReplyType.Harmless) NextAt is
	// also that of an unknown outcome, and zero says that no other try is worth
	// while: the message expires, and no other part of its task with it.
	NextAt       time.Time
	UnknownUntil time.Time
	// Spent says of a retry that its tries are spent: the message is rejected with
	// ReasonTries and a dead letter.
	Spent bool
	// By is "answer" or "restart" (the attempt was found open).
	By string
	// Next is asked when the message was accepted, in the commit: which attempt of the
	// conversation's head begins with it, as NextMessage would tell it; nil for none. It
	// must be quick and not ask the ledger, and may be asked again, when only the last
	// answer counts: the commit is made anew.
	Next func(head *Message) *Attempt
	// Begun is set by the ledger: the attempt of Next, if it began, with its ID and N.
	Begun *Attempt
	// Last is set by the ledger when Next was to be asked and no message of the
	// conversation is open.
	Last bool
	// Merged is set by the ledger: what the aliases of the outcome made one.
	Merged []Merge
}

// Outgoing is a message handed to a platform client.
type Outgoing struct {
	Message Message
	// VoidAfter: not one byte of the request may be written after this.
	VoidAfter time.Time
}
