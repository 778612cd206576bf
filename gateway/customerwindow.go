package gateway

import (
	"strconv"
	"time"
)

// CustomerWindow is for how long after a customer's last message a platform takes
// ours, and how many of them. The zero value has no bound.
type CustomerWindow struct {
	For time.Duration
	// Most messages after each of the customer's; 0 for any number.
	Most int
	// Instead is a template that goes to the customer in place of a reply that comes
	// too late; nil for none.
	Instead *Reply
}

// CustomerWindowMargin is how long after the end of a window the platform still
// decides: its clock and ours are two.
const CustomerWindowMargin = 5 * time.Minute

// ReasonWindow is that of messages refused before the call since the customer's window
// is over, and of their dead letters.
const ReasonWindow = "window"

// Heard is what the ledger knows of a customer's last message.
type Heard struct {
	// At is the platform's time of it; zero when there was none, or none is known: the
	// conversation may be older than the ledger. Then the platform decides.
	At time.Time
	// Sent is how many of ours left since it came, or may have.
	Sent int
}

// Closed says why a message would certainly be refused; "" when it may be taken. What
// does not need the customer's word is always let through: templates, what goes by the
// code of an event, and what is no message.
func (w *CustomerWindow) Closed(h Heard, r *Reply, now time.Time) string {
	if h.At.IsZero() || r.Handle != nil {
		return ""
	}
	switch r.Type {
	case ReplyTemplate, ReplyRead, ReplyRecall, ReplyTransfer, ReplyWelcome:
		return ""
	default:
	}
	switch {
	case w.For > 0 && now.Sub(h.At) > w.For+CustomerWindowMargin:
		return "more than " + hours(w.For) + " since the customer's last message"
	case w.Most > 0 && h.Sent >= w.Most:
		return "as many messages since the customer's last one as the platform takes"
	}
	return ""
}

func hours(d time.Duration) string { return strconv.Itoa(int(d/time.Hour)) + " hours" }

// Refusal ends a message that waits, without a call: rejected, with a dead letter.
type Refusal struct {
	Message string
	Reason  string // of message and dead letter
	Detail  string
	// Instead is sent in its place, by itself; nil for nothing. Not again within a day
	// of the last one of the conversation.
	Instead *Reply
	At      time.Time
}
