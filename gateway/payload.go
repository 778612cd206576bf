package gateway

import (
	"net/http"
	"time"
)

// Payload is one verified callback, or one page that we fetched, exactly as it
// came: the archive's row.
type Payload struct {
	// Pos is the place in the archive: it grows by one per payload and is the
	// order of archiving, which is the order of everything later. 0 before
	// the archive took it.
	Pos int64
	// ID is the public name, "pl_" and a ULID; time-ordered.
	ID string
	// Platform is "whatsapp", "wecom" or "unified"; Endpoint the configured name
	// of the callback URL that took it; of a page that we fetched "kf:" and the
	// name of the account.
	Platform string
	Endpoint string
	// ReceivedAt is our clock when the body was complete.
	ReceivedAt time.Time
	// RequestLine is method, path with raw query, and protocol, as received.
	RequestLine string
	// Header holds the chosen headers (content type, signature, user agent).
	Header http.Header
	// Body is the raw body, byte for byte.
	Body []byte
	// KeyFP is the fingerprint of the key that verified the callback, never
	// the key.
	KeyFP string
}

// Pulled is how far a source that we fetch from was read.
type Pulled struct {
	// Source names it: platform, and the platform's own id of the account.
	Source string
	// Cursor is the platform's; empty for the oldest that it keeps.
	Cursor string
	// Since is when we first asked for it: what is older is history.
	Since time.Time
}

// Reject is a callback that could not be verified. It is kept in a bounded
// store and never acted on; readmit verifies it again.
type Reject struct {
	ID      int64
	At      time.Time
	Reason  string // "no signature", "wrong signature", ... ; no detail of ours
	Payload Payload
}

// PayloadState says what became of an archived payload.
type PayloadState string

// The states of promise 2 for payloads; pending is the absence of a state row.
const (
	PayloadPending   PayloadState = "pending"   // archived, not yet relayed
	PayloadRelayed   PayloadState = "relayed"   // at least one item became an event
	PayloadDuplicate PayloadState = "duplicate" // every item of it was known already
	PayloadIgnored   PayloadState = "ignored"   // verified, but holds nothing for us
	PayloadSealed    PayloadState = "sealed"    // verified, not readable with today's keys
	PayloadDead      PayloadState = "dead"      // verified, not decodable, or every item dead
)
