package handlers

import (
	"context"
	"net/http"

	"github.com/causewayhq/causeway/gateway"
)

// Request is one callback as it came, after the body was read within its limit.
type Request struct {
	RawQuery string
	Header   http.Header
	Body     []byte // nil on GET
	// Client is the address that the request came from, for a Witness; of those
	// that trusted proxies name, the real one.
	Client string
	// Kept says that it is read from the store, to be verified once more: Header
	// then holds what was kept of it, the words of Witness.Keep among it. It is
	// never set on what comes from outside.
	Kept bool
}

// Witness is an Endpoint that goes by more of a request than its query, its body
// and the headers that are kept of every callback.
type Witness interface {
	// Keep is what else must be kept so that Verify can be asked again when a
	// secret was mended. It holds no secret. Pure, as Verify is.
	Keep(r *Request) http.Header
}

// Answerer is an Endpoint whose platform wants to read something in the answer to
// a callback. The front door asks for it when the callback is on disk; whatever it
// says, the status is 200.
type Answerer interface {
	// Answer is the body, JSON or text/plain; empty for none. It asks nobody: what
	// it says follows from the callback and the configuration.
	Answer(r *Request) []byte
}

// Poller is an Endpoint whose platform also comes to ask how far something is. Such
// a question tells nothing, so it is answered at once, and neither archived nor
// told apart from its repetitions: the one exception to "200 means on disk".
type Poller interface {
	// Poll answers a callback that Verify accepted; false for one that is no
	// question, which is archived like any other. It never fails: without the
	// store it says that there is nothing new yet.
	Poll(ctx context.Context, r *Request) (answer []byte, polled bool)
}

// Endpoint is what a platform must provide for one callback URL. The platform
// packages implement it; the front door calls Challenge and Verify, the relay
// calls Decode. All three are pure: no I/O, no clock, safe for concurrent use.
type Endpoint interface {
	// Challenge answers the platform's GET verification with the body to send
	// back. Errors: gateway.ErrUnverified, gateway.ErrHostile (a parameter is
	// missing or doubled), gateway.ErrNoSecret, gateway.ErrNotFound (the platform
	// has no such verification).
	Challenge(r *Request) ([]byte, error)
	// Verify says whether the callback is genuine, over the raw bytes, and
	// which key proved it (gateway.Fingerprint). Errors: gateway.ErrUnverified,
	// gateway.ErrHostile (the outer envelope is none of the platform's),
	// gateway.ErrNoSecret. No error text holds a secret or a part of the body.
	Verify(r *Request) (keyFP string, err error)
	// Decode opens and reads a payload that Verify accepted. One odd item is an
	// item with Err and harms no other. Errors: gateway.ErrSealed (no key of
	// today opens it, or it is addressed to somebody else),
	// gateway.ErrUndecodable. No items and no error: there is nothing in it
	// for us. keyFP names the key that opened it.
	Decode(p *gateway.Payload) (items []gateway.Item, keyFP string, err error)
	// RefusalStatus is the HTTP status for an unverified callback: 401 for
	// WhatsApp, 403 for WeCom.
	RefusalStatus() int
}
