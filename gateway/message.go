package gateway

import (
	"strings"
	"time"
)

// MessageState is where an outgoing message stands (promise 2). Sending is an
// attempt that is open; it counts as waiting in the sums.
type MessageState string

// The states of a message.
const (
	MessageWaiting   MessageState = "waiting"
	MessageSending   MessageState = "sending"
	MessageAccepted  MessageState = "accepted"  // the platform took it
	MessageRejected  MessageState = "rejected"  // the platform refused it for good
	MessageUnknown   MessageState = "unknown"   // it may have left; never repeated by us
	MessageExpired   MessageState = "expired"   // too old to be sent
	MessageCancelled MessageState = "cancelled" // a part after an unknown or rejected one, or by an operator
	MessageHeld      MessageState = "held"      // waits for a release: of a replay, or of a takeover
)

// Marker is what we leave on a message when sending it: the message's id, the
// same for all attempts of it.
const markerPrefix = "ms_"

// OurMarker says whether s can be a marker of ours.
func OurMarker(s string) bool {
	return strings.HasPrefix(s, markerPrefix) && len(s) == len(markerPrefix)+26
}

// Open is a conversation that has something to send.
type Open struct {
	Conv string
	At   time.Time // its first message needs nothing before; zero for at once
}

// Message is one part of a task, the unit of sending. Order in a conversation
// is (DueAt, ID).
type Message struct {
	ID       string // "ms_" + ULID; the marker
	Task     string
	Part     int // from 0
	Parts    int
	App      string // empty: submitted, see Submission
	Event    string // the delivery it answers; empty likewise
	Platform string
	Account  string
	Conv     string
	DueAt    time.Time
	// ExpiresAt: no byte of it is written after this; zero for the sender's own
	// bound alone.
	ExpiresAt time.Time
	State     MessageState
	Reason    string
	Reply     Reply
	// Attempts is how many were begun; NextAt when the next may begin.
	Attempts int
	NextAt   time.Time
	// Spared is how many of the attempts spend no try: the account was refused
	// as a whole, which says nothing of this message, or an operator requeued it
	// afterwards. See Tries.
	Spared int
	// ExternalID is the platform's receipt.
	ExternalID string
	// Delivery is the furthest status seen: "", sent, delivered, read, played;
	// Failed is set by a failed status and never hidden by a lower one.
	Delivery StatusState
	Failed   *Problem
	// To is how the platform knows the recipient, newest first, without what is
	// retired: a number that was given up may be another person's.
	To []Identity
	// Behind is a conversation that was merged into this one and has messages
	// left: this one does not leave before them.
	Behind string
	// UnknownUntil: while unknown, the conversation waits for evidence until
	// then.
	UnknownUntil time.Time
	// Priority orders the conversations of an account that are ready at one moment,
	// 0 (replies) before 9; never the messages of a conversation.
	Priority int
	// Human says that a colleague wrote it; EvenInTakeover lets it leave while a
	// colleague has the conversation. See Passes.
	Human          bool
	EvenInTakeover bool
	Terms
	// TaskState is that of its task, where messages are listed for people.
	TaskState MessageState
}

// Terms are what few messages have.
type Terms struct {
	// Window is when it may leave; nil for always. No byte of it is written outside.
	Window    *SendWindow `json:"window,omitempty"`
	OnFailure OnFailure   `json:"on_failure,omitempty"`
	// Callback names the receiver of results that is told of it, instead of all.
	Callback string `json:"callback,omitempty"`
	// EndMoves says that nobody asked for ExpiresAt: it is WindowedFor after the time due,
	// and moves with that when a person moves it.
	EndMoves bool `json:"end_moves,omitempty"`
}

// Result is how far the message is, in one word: that it failed after the platform took
// it, else the furthest status, else its state. It goes only forward.
func (m *Message) Result() string {
	switch {
	case m.Failed != nil:
		return string(StatusFailed)
	case m.Delivery != "":
		return string(m.Delivery)
	}
	return string(m.State)
}

// Tries is how many attempts count for the message, one that is open included. A
// bound on tries and a growing pause of this message go by it, not by Attempts:
// waiting for the account is not failing.
func (m *Message) Tries() int { return m.Attempts - m.Spared }

// OutcomeKind is what is known after an attempt. There are four.
type OutcomeKind string

// The outcomes.
const (
	OutcomeAccepted OutcomeKind = "accepted" // the platform answered with its receipt
	OutcomeRetry    OutcomeKind = "retry"    // certainly not sent; may be tried again
	OutcomeRejected OutcomeKind = "rejected" // certainly not sent; never will be
	OutcomeUnknown  OutcomeKind = "unknown"  // may have been sent
)

// Scope says who else must wait after a retry outcome.
type Scope string

// The scopes of a retry.
const (
	ScopePair    Scope = "pair"    // this conversation only
	ScopeAccount Scope = "account" // every conversation of the account
	// ScopeTemplates: every template of the account, which is how a business begins a
	// conversation. Answers in one that a customer began go on.
	ScopeTemplates Scope = "templates"
)

// Share names what several accounts have in common, so that all of them wait when
// one is refused with ScopeAccount or ScopeTemplates for its sake.
type Share string

// The shares.
const (
	ShareWABA Share = "waba" // a WhatsApp Business Account has several numbers
	ShareApp  Share = "app"  // an app of Meta, which the access token is of
	// ShareAccess is what one access token may do with one WhatsApp Business Account.
	ShareAccess Share = "access"
	ShareCorp   Share = "corp" // the accounts of one kind of a WeCom corp
)

// Unbounded tries end only with the message's time: what is answered so is told to
// wait, and has not failed.
const Unbounded = -1

// Outcome is the result of one attempt, made by a platform client.
type Outcome struct {
	Kind       OutcomeKind
	ExternalID string
	// After is the least wait before the next attempt (retry); 0 leaves it
	// to the outbox.
	After time.Duration
	Scope Scope
	// Share is what the refusal of an account is about; "" for itself.
	Share Share
	// Blame says what a retry is about; "" for one that leaves the state of the
	// account as it is.
	Blame Blame
	// Tries is how often a message that is answered so may be tried in all: 0 as
	// configured (Retry), Unbounded as long as it may wait.
	Tries int
	// Code is the platform's code or a word of ours ("timeout", "refused",
	// "http_503"); a closed set per platform, safe as a label.
	Code string
	// Detail is for the operator; it carries no secret, text or number.
	Detail string
	// Aliases are identities of the recipient learned from the answer.
	Aliases []Identity
}

// Attempt is one call of a platform, stored before the call is made.
type Attempt struct {
	ID        string // "at_" + ULID
	Message   string
	N         int // 1, 2, ...
	StartedAt time.Time
	// VoidAfter: no byte of the request is written after this instant, so an
	// attempt found open later than VoidAfter + 5 s has its final outcome.
	VoidAfter time.Time
	EndedAt   time.Time
	Outcome   *Outcome
}
