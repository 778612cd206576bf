package gateway

import "time"

// ReplyPosition is how far the intake is in CW_REPLY. Created tells one life
// of the stream from the next; a bare sequence says nothing.
type ReplyPosition struct {
	Created time.Time
	Seq     uint64
}

// TakenAnswer is one message of CW_REPLY: application and conversation come
// from its subject, which the broker's permissions guard.
type TakenAnswer struct {
	Seq  uint64
	App  string
	Conv string
	Data []byte
}

// Settlement is one answer for the ledger.
type Settlement struct {
	App    string
	Conv   string
	Answer Answer
}

// Settled is what an answer did.
type Settled struct {
	App, Conv string
	// Late: the event was not pending any more, or never was. Nothing of the
	// answer is used.
	Late     bool
	Was      Pending
	Decision Decision
	// Also are the other events of the bundle that Was leads, in order: they got the
	// same decision. Empty for most.
	Also []SettledAlso
	// Head is what the application's conversation waits with now; nil for
	// nothing. For a retry it is the same event with a higher round.
	Head     *Pending
	Messages int    // parts put into the outbox
	Dead     string // id of the dead letter made
	Build    string // of the worker, as its answer says; "" where none answered
}

// SettledAlso is an event that was settled together with the one before it.
type SettledAlso struct {
	Was  Pending
	Dead string // id of the dead letter made
}

// Offer is a head on its way into the gate. Event is the event, or of a bundle the
// last one; Before are those before it, in order.
type Offer struct {
	Pending Pending
	Event   EventRow
	Before  []EventRow
}

// OfferState is what the gate's server said to an offer.
type OfferState string

// The states of an offer.
const (
	OfferTaken     OfferState = "taken"     // stored now
	OfferDuplicate OfferState = "duplicate" // this id was stored before
	OfferClosed    OfferState = "closed"    // the conversation's place is not free yet
	OfferFull      OfferState = "full"      // no room in the stream or the store
	OfferFailed    OfferState = "failed"    // no answer; offer again
	OfferTooLarge  OfferState = "too large" // even without its raw part; never stored
)

// Offered is the server's answer to one offer.
type Offered struct {
	State OfferState
	Seq   uint64 // of the stream; for taken and duplicate
	Err   error
}

// GateState is what the broker says about an application's gate.
type GateState struct {
	Created   time.Time // life of the stream
	LastSeq   uint64
	Messages  uint64 // offers in the stream
	Delivered uint64 // highest stream sequence handed to a worker
	AckFloor  uint64 // every offer up to this one is acked, as the broker sees it
	Pulls     int    // workers waiting for work
	Unacked   int    // handed out, not acked
	Paused    bool
}

// OpenOffer is an offer found in the gate's stream.
type OpenOffer struct {
	Account  string
	Conv     string
	Delivery string
	Round    int
	Seq      uint64
}

// Exhausted is the broker's word that it gave up on an offer.
type Exhausted struct {
	App        string
	Seq        uint64
	Deliveries int
}
