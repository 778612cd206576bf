package gateway

import (
	"bytes"
	"encoding/json"
	"time"
)

// HandleWelcome is the kind of the handle that greets a new customer: WeCom's
// WelcomeCode and welcome_code, 20 s.
const HandleWelcome = "welcome"

// HandleSession is the kind of the handle that comes with a change of a session of
// customer service: 48 h, of its end 20 s.
const HandleSession = "session"

// Deadline is when the code ends for which an event is handed out: that of a
// welcome handle. Zero for all others: what a card's code lets one do is the
// smaller part of what its event says.
func (e *EventRow) Deadline() time.Time {
	if e.Kind == KindMessage || e.Kind == KindChange || !bytes.Contains(e.Content, []byte(`"`+HandleWelcome+`"`)) {
		return time.Time{}
	}
	var c struct {
		Handle *Handle `json:"handle"`
	}
	if json.Unmarshal(e.Content, &c) != nil || c.Handle == nil || c.Handle.Kind != HandleWelcome || c.Handle.Until == nil {
		return time.Time{}
	}
	return *c.Handle.Until
}

// Deadline is that of its event where Row is there. A replay has none, nor has what
// a person requeued: they are handed out although the code has ended.
func (p *Pending) Deadline() time.Time {
	if p.Row == nil || p.Lane != LaneLive || p.Requeue > 0 {
		return time.Time{}
	}
	return p.Row.Deadline()
}

// DecideBefore is Decide for an event with a deadline; a zero one changes nothing.
// There is one try, and an answer that comes at the deadline or later is too late:
// only "done, nothing to say" still counts, since nothing is lost by it.
func DecideBefore(deadline time.Time, app *Application, p *Pending, a *Answer, now time.Time) Decision {
	if deadline.IsZero() {
		return Decide(app, p, a, now)
	}
	silent := a.Verdict == VerdictDone && (len(a.Replies) == 0 || !app.Replies)
	if !now.Before(deadline) && !silent {
		return TooLate(p.Tries + max(a.Delivered, 1))
	}
	return Decide(app.Once(), p, a, now)
}

// TooLate buries an event whose deadline has passed.
func TooLate(tries int) Decision {
	return Decision{State: EventDead, Reason: ReasonTooLate, Tries: tries, Detail: "the code that came with it had ended"}
}

// Once is the application with one try, which blocks nothing.
func (a *Application) Once() *Application {
	once := *a
	once.Tries, once.Block = 1, false
	return &once
}
