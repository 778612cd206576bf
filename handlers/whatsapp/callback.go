package whatsapp

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// EndpointConfig is what one callback URL of a Meta app needs.
type EndpointConfig struct {
	// Secrets is the ring of app secrets: current, previous, old. Meta
	// documents no time with two signatures after a reset, so the previous one
	// stays until its retries have ended (up to 7 days). Empty places behind
	// the first are left out; an empty first one closes the endpoint.
	Secrets []string
	// VerifyToken is the text chosen by us and typed into the App Dashboard.
	VerifyToken string
}

// Endpoint is one callback URL of a Meta app; it serves every number of the
// app. It implements handlers.Endpoint, is immutable, and is safe for concurrent
// use.
type Endpoint struct {
	ring        ring
	verifyToken string
}

var _ handlers.Endpoint = (*Endpoint)(nil)

// NewEndpoint makes an Endpoint. It does not fail: without credentials the
// endpoint answers gateway.ErrNoSecret.
func NewEndpoint(c EndpointConfig) *Endpoint {
	return &Endpoint{ring: newRing(c.Secrets), verifyToken: c.VerifyToken}
}

// RefusalStatus is 401.
func (e *Endpoint) RefusalStatus() int { return http.StatusUnauthorized }

// Challenge answers the GET that Meta sends when a callback URL or its verify
// token is saved: hub.challenge, as opaque text. The GET carries no signature.
// Source: Meta, "Create a webhook endpoint".
func (e *Endpoint) Challenge(r *handlers.Request) ([]byte, error) {
	if e.verifyToken == "" {
		return nil, gateway.ErrNoSecret
	}
	values, _ := url.ParseQuery(r.RawQuery) // the error tells of pairs left out; those needed are checked here
	var got [3]string
	for i, name := range []string{"hub.mode", "hub.verify_token", "hub.challenge"} {
		v := values[name]
		if len(v) != 1 {
			return nil, fmt.Errorf("%w: want one %s", gateway.ErrHostile, name)
		}
		got[i] = v[0]
	}
	if got[2] == "" {
		return nil, fmt.Errorf("%w: hub.challenge is empty", gateway.ErrHostile)
	}
	// Hashed first, so that the time tells nothing about the length either.
	want, have := sha256.Sum256([]byte(e.verifyToken)), sha256.Sum256([]byte(got[1]))
	if subtle.ConstantTimeCompare(want[:], have[:]) != 1 || got[0] != "subscribe" {
		return nil, fmt.Errorf("%w: wrong hub.mode or hub.verify_token", gateway.ErrUnverified)
	}
	return []byte(got[2]), nil
}

// Verify checks the one SignatureHeader against the raw body under every secret
// of the ring and returns the fingerprint of the one that fits. A signed body
// may be anything; whether it is an envelope is seen by Decode, so that what is
// genuine is archived in any case. Nothing signed names a time: an old POST can
// come again, and only the keys of its items tell.
func (e *Endpoint) Verify(r *handlers.Request) (string, error) {
	if len(e.ring.secrets) == 0 {
		return "", gateway.ErrNoSecret
	}
	sum, ok := parseSignature(r.Header)
	if !ok {
		return "", fmt.Errorf("%w: want one well-formed signature", gateway.ErrUnverified)
	}
	keyFP, ok := e.ring.match(sum, r.Body)
	if !ok {
		return "", fmt.Errorf("%w: wrong signature", gateway.ErrUnverified)
	}
	return keyFP, nil
}
