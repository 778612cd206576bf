package gateway

import "time"

// Lane orders what waits in a conversation: live events go before replays.
type Lane int

// The lanes. A backfilled event has a seq and is on the live lane.
const (
	LaneLive   Lane = 0
	LaneReplay Lane = 1
)

// Pending is one event that waits for one application. The ledger's primary key
// is (App, Conv, Lane, Seq); the smallest one of a conversation is its head.
type Pending struct {
	App  string
	Conv string
	Lane Lane
	// Seq is the event's seq on the live lane, its N on the replay lane.
	Seq     int64
	N       int64 // the event's row
	Event   string
	Run     string
	Tries   int       // spent
	NextAt  time.Time // not before; zero means now
	Round   int       // grows with every re-offer; part of the offer's id
	Requeue int       // how often an admin requeued it
	// Blocked is since when it holds its conversation although every try was
	// spent (Application.Block); zero for what does not.
	Blocked time.Time
	// Lead is the N of the first event of the bundle that this row belongs to, which
	// may be itself; 0 while that is not settled, which is always so where nothing is
	// collected. See Collect.
	Lead int64
	// Last is the id of a bundle's last event, on the row that leads it; "" for a
	// bundle of one.
	Last string
	// Row is the event itself, where whoever made this had it at hand; else
	// nil. It saves the gate a read.
	Row *EventRow
}

// Delivery is the ce-id of an offer of this row, or of the bundle that it leads.
func (p *Pending) Delivery() string {
	if p.Last != "" {
		return bundled(p.Last, p.Seq)
	}
	return DeliveryID(p.Event, p.Run, p.Requeue)
}

// EventState is the state of an event for one application (promise 2).
type EventState string

// The states of an event for one application.
const (
	EventPending EventState = "pending"
	EventSettled EventState = "settled"
	EventDead    EventState = "dead"
	EventDropped EventState = "dropped"
)

// EventBlocked is shown instead of EventPending for an event that holds its
// conversation (Pending.Blocked). The ledger counts it as pending.
const EventBlocked EventState = "blocked"

// Reasons of dropped events, beside an operator's.
const (
	ReasonUnanswered = "unanswered" // recovered too late to be answered, see Application.AnswerWithin
	ReasonRemoved    = "removed"    // its application is not configured any more
)

// Reasons of dead letters. They are metric labels: a closed set.
const (
	ReasonTries      = "tries"       // every try failed, of an event or a message
	ReasonBlockTries = "block_tries" // it held its conversation until block_tries were spent
	ReasonBlockFor   = "block_for"   // it held its conversation for block_for, and the last try failed
	ReasonVerdict    = "verdict"     // the worker said dead
	ReasonSilent     = "silent"      // deliveries ended without a word until the broker gave up
	ReasonWatchdog   = "watchdog"    // a handler ran longer than handler_max
	ReasonStale      = "stale"       // too old when its turn came
	ReasonTooLate    = "too_late"    // the code that came with it had ended: nobody can be greeted any more
	ReasonNoAccount  = "no_account"  // item: account not configured
	ReasonTooLarge   = "too_large"   // event: no message of the broker holds it
	ReasonBadItem    = "bad_item"    // item: not readable
	ReasonBadPayload = "bad_payload" // payload: verified, not decodable
	ReasonRejected   = "rejected"    // message: the platform refused it for good
	ReasonExpired    = "expired"     // message: it could not be sent in all the time that messages get
)

// ReasonNotBuried is why something that was to be a dead letter still waits: the
// ledger refused the letter. It spends no try and is given up later.
const ReasonNotBuried = "not_buried"
