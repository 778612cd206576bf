package gateway

import "time"

// AccountState says how an account fares as a sender. Only what leaves depends on
// it: what comes in is always taken.
type AccountState string

// The states of an account.
const (
	AccountHealthy AccountState = "healthy"
	// AccountSlowed: the platform said that we are too fast; it recovers by itself.
	AccountSlowed AccountState = "slowed"
	// AccountPaused: the platform refuses the credentials.
	AccountPaused AccountState = "paused"
	// AccountIsolated: the platform refuses the account, or nothing of it gets
	// through.
	AccountIsolated AccountState = "isolated"
)

// Stopped says whether messages of the account wait for a probe to succeed.
func (s AccountState) Stopped() bool { return s == AccountPaused || s == AccountIsolated }

// Blame says what a refusal is about that is no word about the message. They are
// metric labels: a closed set.
type Blame string

// The blames. None of them is a time-out: that says nothing about credentials.
const (
	BlamePace       Blame = "pace"       // too fast
	BlameCredential Blame = "credential" // token, secret, permission, address
	BlamePolicy     Blame = "policy"     // restricted, banned, not paid, not registered
	BlameReach      Blame = "reach"      // the platform was not reached
	BlameFailures   Blame = "failures"   // many calls in a row had no usable answer
)

// State is that of an account refused so.
func (b Blame) State() AccountState {
	switch b {
	case BlamePace:
		return AccountSlowed
	case BlameCredential:
		return AccountPaused
	case BlamePolicy, BlameFailures:
		return AccountIsolated
	case BlameReach:
	}
	return AccountHealthy
}

// AccountHealth is how one account fares, and since when. Of what is stopped or slowed it
// is kept in the ledger, so that a restart does not begin with a burst of refusals.
type AccountHealth struct {
	Account string
	State   AccountState
	Reason  Blame
	// Code and Detail are the outcome's that began it.
	Code, Detail string
	Since        time.Time
	// ProbeAt is when one message, or the platform's cheap question, tries again.
	ProbeAt time.Time
	Probes  int // that failed; of a slowed one, as it is kept, how often its pace was halved
	// KeyFP is the fingerprint of the credentials that were refused: with others the
	// account is healthy until the platform says otherwise.
	KeyFP string
}
