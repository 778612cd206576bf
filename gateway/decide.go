package gateway

import "time"

// Decision is what one answer does to a pending event. It is made by Decide and
// carried out by the ledger in one transaction.
type Decision struct {
	State  EventState // settled, dead, or pending for another round
	Reason string
	Tries  int       // the new count
	NextAt time.Time // for pending
	Detail string    // the worker's error, for the operator
	// Failed: it was a try and the try failed. Not for what the worker gave up, which
	// is its word.
	Failed bool
	// Blocked is the new Pending.Blocked, for pending.
	Blocked time.Time
	// Replies to put into the outbox when settled.
	Replies []Reply
}

// Decide applies a verdict to an event. A delivery that ended without a word before
// this answer counts as a try, but an answer of done always wins.
func Decide(app *Application, p *Pending, a *Answer, now time.Time) Decision {
	silent := max(a.Delivered-1, 0)
	switch a.Verdict {
	case VerdictDone:
		d := Decision{State: EventSettled, Reason: "done", Tries: p.Tries + silent + 1}
		if app.Replies {
			d.Replies = a.Replies
		}
		return d
	case VerdictDead:
		return Decision{State: EventDead, Reason: ReasonVerdict, Tries: p.Tries + silent + 1, Detail: a.Error}
	case VerdictHandback:
		return Decision{State: EventPending, Reason: "handback", Tries: p.Tries, NextAt: after(now, a.AfterMS), Detail: a.Error, Blocked: p.Blocked}
	case VerdictRetry:
		return failed(app, p, p.Tries+silent+1, ReasonTries, a.AfterMS, a.Error, now)
	}
	return failed(app, p, p.Tries+1, ReasonTries, 0, "unknown verdict", now)
}

// DecideSilent applies a delivery that ended without a word: an ack without an
// answer, or a worker that died.
func DecideSilent(app *Application, p *Pending, now time.Time) Decision {
	if app.AckDone {
		return Decision{State: EventSettled, Reason: "ack", Tries: p.Tries + 1}
	}
	return failed(app, p, p.Tries+1, ReasonSilent, 0, "no answer", now)
}

func failed(app *Application, p *Pending, tries int, reason string, afterMS int64, detail string, now time.Time) Decision {
	if tries >= max(app.Tries, 1) {
		return exhausted(app, p, tries, reason, afterMS, detail, now)
	}
	d := Decision{State: EventPending, Reason: "retry", Tries: tries, Detail: detail, NextAt: now.Add(app.Delay(tries)), Failed: true}
	if afterMS > 0 {
		d.NextAt = after(now, afterMS)
	}
	return d
}

// GiveUp is what becomes of an event of which no more is to be hoped, whatever
// tries it has left: a dead letter, or it holds its conversation.
func GiveUp(app *Application, p *Pending, tries int, reason, detail string, now time.Time) Decision {
	return exhausted(app, p, tries, reason, 0, detail, now)
}

// exhausted buries an event whose tries are spent, or lets it hold its
// conversation. A cap ends that by a try that fails at or behind it, never by
// itself: an application that is down, paused or tripped buries nothing, and the
// last try comes at the end of BlockFor, not a delay before it.
func exhausted(app *Application, p *Pending, tries int, reason string, afterMS int64, detail string, now time.Time) Decision {
	d := Decision{State: EventDead, Reason: reason, Tries: tries, Detail: detail, Failed: true}
	if !app.Block {
		return d
	}
	since := p.Blocked
	if since.IsZero() {
		since = now
	}
	end := since.Add(app.BlockFor)
	switch {
	case tries >= app.BlockTries:
		d.Reason = ReasonBlockTries
		return d
	case !now.Before(end):
		d.Reason = ReasonBlockFor
		return d
	}
	d.State, d.Reason, d.Blocked, d.NextAt = EventPending, "blocked", since, now.Add(app.Delay(tries))
	if afterMS > 0 {
		d.NextAt = after(now, afterMS)
	}
	if d.NextAt.After(end) {
		d.NextAt = end
	}
	return d
}

// Worked says that the worker did its work, whatever it said.
func (d Decision) Worked() bool {
	return d.State == EventSettled || d.State == EventDead && d.Reason == ReasonVerdict
}

// Spared turns a failed try into waiting: the application as a whole does not work
// (Breaker), so nothing is spent. Other decisions stay as they are.
func (d Decision) Spared(app *Application, p *Pending, now time.Time) Decision {
	if !d.Failed {
		return d
	}
	return Decision{State: EventPending, Reason: "tripped", Tries: p.Tries, NextAt: now.Add(app.Delay(1)), Detail: d.Detail, Failed: true, Blocked: p.Blocked}
}

func after(now time.Time, ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(ms) * time.Millisecond)
}
