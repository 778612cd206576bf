package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Verdict is a worker's word on one event.
type Verdict string

// The verdicts. Retry spends a try; handback does not (a worker that is
// shutting down, full, or not the right one).
const (
	VerdictDone     Verdict = "done"
	VerdictRetry    Verdict = "retry"
	VerdictDead     Verdict = "dead"
	VerdictHandback Verdict = "handback"
)

// Answer is the one message that ends a delivery, published by a worker on
// cw.reply.<app>.<platform>.<account>.<conv>.
type Answer struct {
	// Event is the delivery id of the event answered.
	Event   string  `json:"event"`
	Verdict Verdict `json:"verdict"`
	Replies []Reply `json:"replies"`
	// AfterMS asks for the next try not before this many milliseconds; 0
	// leaves it to the application's delays. Retry and handback only.
	AfterMS int64 `json:"after_ms,omitempty"`
	// Error says why, for the operator. It is kept in the ledger, cut to 500
	// characters, and never logged.
	Error string `json:"error,omitempty"`
	// Build names the worker's version.
	Build string `json:"build,omitempty"`
	// Delivered is how often the broker had handed the offer out; every
	// delivery before this one ended without a word and is a try.
	Delivered int `json:"delivered,omitempty"`
	// Try is the header Cw-Try of the offer answered; 0 where the worker does not
	// say. It tells a second copy of an answer from another try that failed.
	Try int `json:"try,omitempty"`
}

// Outdated says that the answer speaks of an earlier time than the one for which p
// waits, and that this ends nothing: a try that was counted already is not counted
// again when its answer comes twice (its acknowledgement got lost, CW_REPLY lost its
// end in a power cut and is read once more), and what was said before a requeue
// buries nothing after it. Done always counts: the work was done.
func (a *Answer) Outdated(p *Pending) bool {
	if a.Verdict == VerdictDone {
		return false
	}
	if a.Event != p.Delivery() {
		return true
	}
	return a.Verdict != VerdictDead && a.Try > 0 && a.Try <= p.Tries
}

// Limits of an answer; CheckReply has those of a reply.
const (
	MaxReplies    = 20
	maxErrorChars = 500
)

// ErrBadAnswer is wrapped by every error of ParseAnswer.
var ErrBadAnswer = errors.New("bad answer") //nolint:gochecknoglobals // a sentinel error is a constant

// ParseAnswer reads and checks an answer. Errors name the field and what would
// be right, never the text.
func ParseAnswer(b []byte) (Answer, error) { return ParseAnswerTo("", b) }

// ParseAnswerTo is ParseAnswer for an answer to a delivery that is known: event may
// be left out, and must not name another one.
func ParseAnswerTo(delivery string, b []byte) (Answer, error) {
	var a Answer
	if err := json.Unmarshal(b, &a); err != nil {
		return a, notAnAnswer(err)
	}
	switch a.Verdict {
	case VerdictDone, VerdictRetry, VerdictDead, VerdictHandback:
	default:
		return a, fmt.Errorf("%w: verdict must be done, retry, dead or handback", ErrBadAnswer)
	}
	if a.Event == "" {
		a.Event = delivery
	}
	if a.Event == "" {
		return a, fmt.Errorf("%w: event is empty", ErrBadAnswer)
	}
	if delivery != "" && a.Event != delivery {
		return a, fmt.Errorf("%w: event must be that of the request, or left out", ErrBadAnswer)
	}
	if len(a.Replies) > MaxReplies {
		return a, fmt.Errorf("%w: more than %d replies", ErrBadAnswer, MaxReplies)
	}
	if err := checkAnswered(a.Replies, b); err != nil {
		return a, err
	}
	if a.AfterMS < 0 || a.AfterMS > int64(24*time.Hour/time.Millisecond) {
		return a, fmt.Errorf("%w: after_ms must be 0 to 24 h", ErrBadAnswer)
	}
	if a.Delivered < 0 || a.Delivered > 1<<20 {
		return a, fmt.Errorf("%w: delivered must be 0 to %d", ErrBadAnswer, 1<<20)
	}
	if a.Try < 0 {
		return a, fmt.Errorf("%w: try must not be below 0", ErrBadAnswer)
	}
	a.Error = cut(a.Error, maxErrorChars)
	a.Build = cut(a.Build, 100)
	return a, nil
}

// notAnAnswer names the field that is of another type than it should be.
func notAnAnswer(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%w: %s is of the wrong type", ErrBadAnswer, wrong.Field)
	}
	return fmt.Errorf("%w: not the JSON of an answer", ErrBadAnswer)
}

// checkAnswered checks the replies of an answer and fills in their types. raw is
// the answer as it came.
func checkAnswered(replies []Reply, raw []byte) error {
	someplace := false
	for i := range replies {
		r := &replies[i]
		complete(r)
		if err := CheckReply(r); err != nil {
			return fmt.Errorf("%w: replies[%d].%w", ErrBadAnswer, i, err)
		}
		someplace = someplace || r.Location != nil
	}
	if !someplace {
		return nil
	}
	var given struct{ Replies []json.RawMessage }
	if err := json.Unmarshal(raw, &given); err != nil {
		return fmt.Errorf("%w: not the JSON of an answer", ErrBadAnswer)
	}
	for i := range given.Replies {
		if replies[i].Location != nil && !placed(given.Replies[i]) {
			return fmt.Errorf("%w: replies[%d].location must have latitude and longitude", ErrBadAnswer, i)
		}
	}
	return nil
}

// complete fills in the type of a reply, and takes null for a field that is not
// set, as some clients write it.
func complete(r *Reply) {
	if r.Type == "" {
		r.Type = ReplyText
	}
	if r.Template != nil && string(r.Template.Components) == "null" {
		r.Template.Components = nil
	}
	if r.Flow != nil && string(r.Flow.Data) == "null" {
		r.Flow.Data = nil
	}
	if r.Card != nil && string(r.Card.Content) == "null" {
		r.Card.Content = nil
	}
}

// placed says whether a reply with a location, as it came, gives both coordinates:
// one left out looks like zero, which is a place in the Atlantic.
func placed(raw []byte) bool {
	var given struct {
		Location *struct{ Latitude, Longitude *float64 }
	}
	return json.Unmarshal(raw, &given) == nil && given.Location != nil && given.Location.Latitude != nil && given.Location.Longitude != nil
}

func cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max])
}
