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
	// Row is the event itself, where whoever made this had it at hand; else
	// nil. It saves the gate a read.
	Row *EventRow
}

// Delivery is the ce-id of an offer of this row.
func (p *Pending) Delivery() string { return DeliveryID(p.Event, p.Run, p.Requeue) }

// Decision is what one answer does to a pending event. It is made by Decide and
// carried out by the ledger in one transaction.
type Decision struct {
	State  EventState // settled, dead, or pending for another round
	Reason string
	Tries  int       // the new count
	NextAt time.Time // for pending
	Detail string    // the worker's error, for the operator
	// Replies to put into the outbox when settled.
	Replies []Reply
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

// Reasons of dead letters. They are metric labels: a closed set.
const (
	ReasonTries      = "tries"       // every try failed, of an event or a message
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

// Decide applies a verdict. tries is what the ledger holds for the event; a
// delivery that ended without a word before this answer counts as a try, but an
// answer of done always wins.
func Decide(app *Application, tries int, a *Answer, now time.Time) Decision {
	silent := max(a.Delivered-1, 0)
	switch a.Verdict {
	case VerdictDone:
		d := Decision{State: EventSettled, Reason: "done", Tries: tries + silent + 1}
		if app.Replies {
			d.Replies = a.Replies
		}
		return d
	case VerdictDead:
		return Decision{State: EventDead, Reason: ReasonVerdict, Tries: tries + silent + 1, Detail: a.Error}
	case VerdictHandback:
		return Decision{State: EventPending, Reason: "handback", Tries: tries, NextAt: after(now, a.AfterMS), Detail: a.Error}
	case VerdictRetry:
		return failed(app, tries+silent+1, ReasonTries, a.AfterMS, a.Error, now)
	}
	return failed(app, tries+1, ReasonTries, 0, "unknown verdict", now)
}

// DecideSilent applies a delivery that ended without a word: an ack without an
// answer, or a worker that died.
func DecideSilent(app *Application, tries int, now time.Time) Decision {
	if app.AckDone {
		return Decision{State: EventSettled, Reason: "ack", Tries: tries + 1}
	}
	return failed(app, tries+1, ReasonSilent, 0, "no answer", now)
}

func failed(app *Application, tries int, reason string, afterMS int64, detail string, now time.Time) Decision {
	if tries >= max(app.Tries, 1) {
		return Decision{State: EventDead, Reason: reason, Tries: tries, Detail: detail}
	}
	d := Decision{State: EventPending, Reason: "retry", Tries: tries, Detail: detail, NextAt: now.Add(app.Delay(tries))}
	if afterMS > 0 {
		d.NextAt = after(now, afterMS)
	}
	return d
}

func after(now time.Time, ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(ms) * time.Millisecond)
}
