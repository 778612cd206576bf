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
	// Next is the attempt of the conversation's next message, nil for none: it begins in
	// the same commit, when the message was accepted and the next one is the head that
	// may leave. Begun is set by the ledger: that it did, with ID and N in Next.
	Next  *Attempt
	Begun bool
	// Merged is set by the ledger: what the aliases of the outcome made one.
	Merged []Merge
}

// Outgoing is a message handed to a platform client.
type Outgoing struct {
	Message Message
	// VoidAfter: not one byte of the request may be written after this.
	VoidAfter time.Time
}
