package gateway

import "time"

// UnknownDo is what is done about a message whose outcome stayed unknown after the wait
// for evidence.
type UnknownDo string

// The ways. Whatever is done, evidence that comes later and a person's word settle it.
const (
	// UnknownContinue lets the next task leave; later parts of its own are cancelled.
	UnknownContinue UnknownDo = "continue"
	// UnknownHold lets nothing of the conversation leave for a longer time.
	UnknownHold UnknownDo = "hold"
	// UnknownResend makes one more call, which may be the second to arrive.
	UnknownResend UnknownDo = "resend_once"
)

// OnUnknown is the rule of an account.
type OnUnknown struct {
	Do UnknownDo
	// HoldFor is how much longer UnknownHold waits than for evidence.
	HoldFor time.Duration
}
