package gateway

import "time"

// RelayPosition is how far the relay is in the archive: every payload up to and
// including Pos is relayed, and of the next one the first Item items. Behind that
// one Ahead payloads are relayed as well: they overtook it (RelayBatch.Held).
type RelayPosition struct {
	Pos   int64
	Item  int
	Ahead int64
}

// ItemState is what the relay decided about an item. A known event id turns
// ItemEvent into a duplicate inside the ledger.
type ItemState string

// The states of an item (promise 2).
const (
	ItemEvent     ItemState = "event"
	ItemDuplicate ItemState = "duplicate"
	ItemIgnored   ItemState = "ignored"
	ItemDead      ItemState = "dead"
)

// ItemRow is one decoded item on its way into the ledger.
type ItemRow struct {
	Index  int // within the payload, from 0
	State  ItemState
	Reason string // for ignored and dead; a closed set
	Detail string // for the operator; no text of the message
	Event  EventRow
	Chat   Chat
	Wanted []string // names of the applications that want it
	// SkipTaken are those of Wanted that do not want it of a taken conversation.
	SkipTaken []string
	// IfLast are those of Wanted that are offered it only if it is the last word of
	// its conversation, Unanswered others that would have wanted it earlier; see
	// Application.AnswerWithin.
	IfLast, Unanswered []string
	// Relaxed lets a duplicate through as an event of its own, see CopyID.
	Relaxed bool
	Status  *Status // evidence, for kind status
	Echo    *Echo   // evidence, for kind echo
	Sender  []Identity
	// Observed is recorded only: it gets no seq, no pending rows, is no evidence
	// and merges nothing.
	Observed Observed
	// Heard: the customer of a single chat did it. It opens their window (CustomerWindow).
	Heard bool
	// MessageID is the platform's id of a message, for KindMessage: one that was
	// revoked before it came is recorded and not offered.
	MessageID string
	// Change is set for KindChange when it names the message it is about.
	Change *ChangeRow
	Fetch  *Fetch // of its file; nil for none
	// Note is what it says of who looks after whom; nil for nothing.
	Note *StateNote
}

// ChangeRow says what a change is about. Of the changes of one type by one person
// to one message the newest by the platform's time counts, whatever comes first;
// a revoke is final.
type ChangeRow struct {
	Target string // the platform's id of the message
	Type   string // "reaction", "edit", "revoke"
	// Actor are the names of who made it, where a chat has several people; nil
	// for the other side of a single chat.
	Actor []Identity
}

// Merge says that two conversations turned out to be one: Conv, the younger, is
// part of Into now. Events keep the conversation and seq they have; new ones go
// to Into, of which nothing is offered or sent before Conv has nothing left.
type Merge struct{ Conv, Into string }

// RelayedPayload is a payload, or a slice of one with many items, on its way
// into the ledger.
type RelayedPayload struct {
	Pos        int64
	Platform   string
	Endpoint   string
	ReceivedAt time.Time
	// State is empty for a payload that was decoded; PayloadSealed,
	// PayloadDead or PayloadIgnored (with Reason) when there are no items.
	State  PayloadState
	Reason string
	Detail string
	KeyFP  string // of the key that opened it
	Items  []ItemRow
	// Last says that no items of this payload follow in a later batch.
	Last bool
}

// RelayBatch is one ledger transaction of the relay: at most 100 items.
type RelayBatch struct {
	Payloads []RelayedPayload
	// Again: these payloads come from the queue of payloads to read again (a
	// mended key, a new account, a requeued dead letter). Their events are
	// OriginBackfill; the position does not move.
	Again bool
	// Run makes it part of a replay: events are OriginReplay, on the replay
	// lane, unique per run; payload states and the position do not move.
	Run string
	// OnlyConv keeps a replay to one conversation; "" means all.
	OnlyConv string
	// Held makes these payloads, each of them whole, such as were archived behind
	// one that is not wholly relayed yet: the position stays where it is and moves
	// over them when it comes to them. Within the transaction, in order, it is
	// called for each that is not relayed yet, with every name of the conversations
	// that the payload's own names lead to; when it says true, nothing of it is
	// written. It must be quick and call nothing of the ledger.
	Held func(p *RelayedPayload, names []Name) bool
	// Loop stops conversations that turn as fast as machines.
	Loop Loop
	// The ledger keeps the rows' contents in memory for a while: whoever builds
	// a batch does not write into them afterwards.
}

// RelayResult says what the transaction made.
type RelayResult struct {
	Pending    []Pending // new pending rows, in order
	Events     int
	Duplicates int
	OutOfOrder int
	Parked     int // statuses and echoes to be judged
	Media      int // files to be fetched
	States     int // notes that were kept
	Ended      int // takeovers that are over, by the end of a session
	// Braked are conversations that were stopped, as loops or since a dead letter of
	// theirs was refused; Released those that go on, since it is not owed any more.
	Braked, Released []Brake
	// Unburied are the dead letters of items and payloads that were refused; their ID
	// is empty. See Reburied.
	Unburied []DeadLetter
	// LastN is the highest N given: the Events made here are the last ones up to it.
	LastN int64
	// Buried are the dead letters made, of items and payloads.
	Buried []DeadLetter
	// Merged are the merges of which the younger conversation has something left, or
	// had messages for later, which moved; in order.
	Merged []Merge
}

// AgainRow is a payload to be read again. Item < 0 means all items.
type AgainRow struct {
	Pos    int64
	Item   int
	Reason string
}

// ReplayRun is one replay asked for by an admin. The same ID asked twice is one
// run: it reads what was asked for first.
type ReplayRun struct {
	ID   string // "run_" + ULID, or chosen by the caller with that prefix
	By   string
	At   time.Time
	What string // for the audit: "payload pl_…", "conv …", "range …"
	// HoldReplies keeps what workers answer in state held.
	HoldReplies bool
	// What it reads: the payload at Pos, or the payloads of Conv, or those
	// received from Since to before Until, of Endpoint when it is not empty.
	Pos          int64
	Conv         string
	Since, Until time.Time
	Endpoint     string
	// UpTo is the last position it reads, that of the relay when it was first
	// asked for: what is relayed while it runs, or while it waits for a restart,
	// is live and not handed out a second time.
	UpTo int64
}
