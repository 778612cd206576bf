package gateway

import "time"

// Conversation is what the ledger knows of one conversation, for operators.
// It holds identities and no text.
type Conversation struct {
	Conv       string     `json:"conv"`
	Platform   string     `json:"platform"`
	Account    string     `json:"account"`
	Chat       ChatKind   `json:"chat"`
	Identities []Identity `json:"identities"`
	// MergedInto is the conversation that this one became part of: new events are
	// there. Merged are those that became part of this one, newest first.
	MergedInto string               `json:"merged_into,omitempty"`
	Merged     []MergedConversation `json:"merged,omitempty"`
	LastSeq    int64                `json:"last_seq"`
	// LastHumanAt is when a colleague last wrote by hand; null for never.
	LastHumanAt *time.Time `json:"last_human_at"`
	// State is who looks after the customer, chat or session, by the events that
	// came; nil where none told.
	State *State `json:"state,omitempty"`
	// Holds are what stops it now: itself, its account, an application that something of
	// it waits for, or replies.
	Holds []Brake `json:"holds,omitempty"`
	// Offers are its events that are out with applications now.
	Offers   []ConversationOffer   `json:"offers,omitempty"`
	Events   []ConversationEvent   `json:"events"`
	Messages []ConversationMessage `json:"messages"`
}

// MergedConversation is one that became part of another. While it is Draining it
// has something pending or unsent, and the other one waits for it.
type MergedConversation struct {
	Conv     string    `json:"conv"`
	At       time.Time `json:"at"`
	Draining bool      `json:"draining,omitempty"`
}

// ConversationEvent is a line of a conversation's history.
type ConversationEvent struct {
	Event      string                `json:"event"`
	Run        string                `json:"run,omitempty"`
	Seq        int64                 `json:"seq,omitempty"`
	Kind       Kind                  `json:"kind"`
	Type       string                `json:"type"`
	Origin     Origin                `json:"origin"`
	ReceivedAt time.Time             `json:"received_at"`
	OccurredAt *time.Time            `json:"occurred_at,omitempty"` // the platform's
	Echo       Judgement             `json:"echo,omitempty"`
	Observed   Observed              `json:"observed,omitempty"`
	Superseded string                `json:"superseded,omitempty"`
	States     map[string]EventState `json:"states,omitempty"` // by application
	// Verdicts are how it ended, by application.
	Verdicts map[string]EventVerdict `json:"verdicts,omitempty"`
	// Tries are those that failed, in order; Waits what it waits for, by application.
	Tries []EventTry           `json:"tries,omitempty"`
	Waits map[string]EventWait `json:"waits,omitempty"`
	// Text is there only for those who asked and may.
	Text string `json:"text,omitempty"`
}

// EventTry is a try of an application that failed, with the worker's error. Try counts
// from 1, and anew behind a requeue.
type EventTry struct {
	App    string    `json:"app"`
	Try    int       `json:"try"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Error  string    `json:"error,omitempty"`
}

// EventWait is how an event waits for an application: with so many tries spent, and not
// before NextAt.
type EventWait struct {
	Tries  int        `json:"tries"`
	NextAt *time.Time `json:"next_at,omitempty"`
}

// ConversationOffer is what is out with an application: its delivery is in the stream,
// and With a worker when one was handed it.
type ConversationOffer struct {
	App      string `json:"app"`
	Delivery string `json:"delivery"`
	Round    int    `json:"round"`
	With     bool   `json:"with_worker"`
}

// EventVerdict is how an event ended for an application.
type EventVerdict struct {
	Reason string    `json:"reason"`
	Tries  int       `json:"tries"`
	At     time.Time `json:"at"`
}

// ConversationMessage is an outgoing message without its text.
type ConversationMessage struct {
	Message  string       `json:"message"`
	Event    string       `json:"event"`
	Part     int          `json:"part"`
	Type     ReplyType    `json:"type,omitempty"`
	State    MessageState `json:"state"`
	Reason   string       `json:"reason,omitempty"`
	Delivery StatusState  `json:"delivery,omitempty"`
	Failed   *Problem     `json:"failed,omitempty"`
	Attempts int          `json:"attempts"`
	DueAt    time.Time    `json:"due_at"`
	// Text is there only for those who asked and may.
	Text string `json:"text,omitempty"`
	// Calls are the attempts to send it, oldest first.
	Calls []MessageCall `json:"calls,omitempty"`
	// Statuses are the distinct transitions seen, with the platform's time.
	Statuses []SeenStatus `json:"statuses,omitempty"`
	// Members tells how far a message to a group got with each of them.
	Members []MemberReceipt `json:"members,omitempty"`
}

// MessageCall is one attempt to send a message. EndedAt and Outcome are not there
// while it is under way.
type MessageCall struct {
	StartedAt time.Time   `json:"started_at"`
	EndedAt   *time.Time  `json:"ended_at,omitempty"`
	Outcome   OutcomeKind `json:"outcome,omitempty"`
	Code      string      `json:"code,omitempty"`
}

// MemberReceipt is how far a message to a group got with one member: the furthest
// state seen and, beside it, a failure, which is not the message's.
type MemberReceipt struct {
	Member   Identity    `json:"member"`
	Delivery StatusState `json:"delivery,omitempty"`
	Failed   *Problem    `json:"failed,omitempty"`
	At       time.Time   `json:"at"`
}

// SeenStatus is one distinct status of a message.
type SeenStatus struct {
	State StatusState `json:"state"`
	At    time.Time   `json:"at"`
}

// Receipts is what a platform told of a message.
type Receipts struct {
	// Statuses are the distinct transitions seen, with the platform's time.
	Statuses []SeenStatus `json:"statuses,omitempty"`
	// Members tells how far a message to a group got with each of them.
	Members []MemberReceipt `json:"members,omitempty"`
}

// AuditEntry is one deed of an admin.
type AuditEntry struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	What   string    `json:"what"`
	Target string    `json:"target"`
	// Count is how many things a deed on many moved so far; Note why, where a
	// person said so.
	Count int64  `json:"count,omitempty"`
	Note  string `json:"note,omitempty"`
}

// ListedConversation is a line of a list of conversations. What is not counted in
// its list is zero.
type ListedConversation struct {
	Conv     string   `json:"conv"`
	Platform string   `json:"platform"`
	Account  string   `json:"account"`
	Chat     ChatKind `json:"chat"`
	// Events is how many of the newest events are its own.
	Events int64 `json:"events,omitempty"`
	// Waiting counts its events that wait for their verdict, up to 1,000 where it
	// is not what the list is about.
	Waiting int64 `json:"waiting,omitempty"`
	// Since is when the event came that has waited longest, or the one without an
	// answer; Last when the newest event came.
	Since *time.Time `json:"since,omitempty"`
	Last  *time.Time `json:"last,omitempty"`
	Tries int        `json:"tries,omitempty"` // of the event that has waited longest
	// Why is what became of the event without an answer: settled, dead, dropped,
	// recovered or not wanted.
	Why string `json:"why,omitempty"`
}
