package egress

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Lost is the outcome of a send that got no answer, for every platform: what may have
// left is unknown, and only what certainly did not may go again. One that was void or
// cancelled says nothing of the account or the message; any other makes all of it wait, as unreached
// says at now.
func Lost(err error, unreached *Pause, now time.Time) gateway.Outcome {
	var e *Error
	if !errors.As(err, &e) {
		return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: WordOther}
	}
	o := gateway.Outcome{Kind: gateway.OutcomeRetry, Code: e.Word, Detail: e.Error()}
	switch {
	case e.Written:
		o.Kind = gateway.OutcomeUnknown
	case e.Word == WordVoid || e.Word == WordCanceled:
		o.Scope, o.Tries = gateway.ScopePair, gateway.Unbounded
	default:
		o.Scope, o.After, o.Blame = gateway.ScopeAccount, unreached.Refused(now, 0), gateway.BlameReach
	}
	return o
}
