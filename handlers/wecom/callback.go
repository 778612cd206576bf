package wecom

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// Credential is one pair as the console shows it: Token (3 to 32 letters and
// digits) and EncodingAESKey (43 characters).
type Credential struct {
	Token          string
	EncodingAESKey string
}

// EndpointConfig is what one callback URL of WeCom needs.
type EndpointConfig struct {
	// Ring is the credentials that may be in use, the current one first. Around
	// a change of the pair the platform may still use the old one.
	Ring []Credential
	// ReceiveIDs are the ids a frame may be addressed to: the corp id, or the
	// suite id. At least one.
	ReceiveIDs []string
	// Suite says that it is the command URL of a suite, where the platform
	// wants to read "success". Source: path/97172.
	Suite bool
	// Agents are our apps by corp id: a member's rename names none, and is told to
	// the conversation with each.
	Agents map[string][]int64
}

// Endpoint is one callback URL of a self-built app or a suite. It implements
// handlers.Endpoint, is immutable, and is safe for concurrent use.
type Endpoint struct {
	ring   []*Crypt
	suite  bool
	agents map[string][]int64
}

var (
	_ handlers.Endpoint = (*Endpoint)(nil)
	_ handlers.Answerer = (*Endpoint)(nil)
)

// NewEndpoint checks the credentials. An empty ring or an empty field is an
// error that wraps gateway.ErrNoSecret; errors name the place in the ring and
// the field, never a value.
func NewEndpoint(c EndpointConfig) (*Endpoint, error) {
	if len(c.Ring) == 0 {
		return nil, fmt.Errorf("no credential: %w", gateway.ErrNoSecret)
	}
	if len(c.ReceiveIDs) == 0 {
		return nil, errors.New("receive_ids is empty: name the corp id")
	}
	e := &Endpoint{suite: c.Suite, agents: c.Agents}
	for i, cred := range c.Ring {
		crypt, err := NewCrypt(cred.Token, cred.EncodingAESKey, c.ReceiveIDs)
		if err != nil {
			return nil, fmt.Errorf("credential %d: %w", i, err)
		}
		e.ring = append(e.ring, crypt)
	}
	return e, nil
}

// Answer is "success" for a suite's command URL, which is tried again without
// it, and nothing for all others: what an app answers leaves by the outbox.
func (e *Endpoint) Answer(*handlers.Request) []byte {
	if e.suite {
		return []byte("success")
	}
	return nil
}

// RefusalStatus is 403.
func (e *Endpoint) RefusalStatus() int { return http.StatusForbidden }

// Challenge answers the GET that the console sends when the URL is saved: the
// decrypted echostr and nothing around it. The platform allows one second. A
// space in echostr is a "+" that some hop decoded; no base64 holds a space.
// Source: developer.work.weixin.qq.com/document/path/90930.
func (e *Endpoint) Challenge(r *handlers.Request) ([]byte, error) {
	if len(e.ring) == 0 {
		return nil, gateway.ErrNoSecret
	}
	q, ok := parseQuery(r.RawQuery, "echostr")
	if !ok {
		return nil, fmt.Errorf("%w: want one each of msg_signature, timestamp, nonce and echostr", gateway.ErrHostile)
	}
	echo := strings.ReplaceAll(q.last, " ", "+")
	c := e.signer(q, echo)
	if c == nil {
		return nil, fmt.Errorf("%w: wrong signature", gateway.ErrUnverified)
	}
	plain, _, err := e.open(echo)
	if err != nil {
		// The Token is right and the key is not: nothing to archive here, the
		// person at the console sees the refusal. The chain is cut on purpose:
		// to the caller it is a refusal, not a sealed payload.
		return nil, fmt.Errorf("%w: signature right, echostr does not open", gateway.ErrUnverified)
	}
	return plain.text, nil
}

// Verify finds the credential whose signature over the envelope's Encrypt text
// is right, the first one where two share a Token. It opens nothing: a callback that is genuine but cannot be opened is
// verified, and Decode says gateway.ErrSealed. A right signature may come again
// at any time, since nothing in it expires; events are told apart by their keys.
func (e *Endpoint) Verify(r *handlers.Request) (string, error) {
	if len(e.ring) == 0 {
		return "", gateway.ErrNoSecret
	}
	q, ok := parseQuery(r.RawQuery, "")
	if !ok {
		return "", fmt.Errorf("%w: want one each of msg_signature, timestamp and nonce", gateway.ErrUnverified)
	}
	encrypted, err := parseEnvelope(r.Body)
	if err != nil {
		return "", fmt.Errorf("%w: %w", gateway.ErrHostile, err)
	}
	c := e.signer(q, encrypted)
	if c == nil {
		return "", fmt.Errorf("%w: wrong signature", gateway.ErrUnverified)
	}
	return c.KeyFP(), nil
}

// signer returns the first credential of the ring that made the signature. All
// are tried, so that the time taken does not tell which one it was.
func (e *Endpoint) signer(q query, encrypted string) *Crypt {
	var found *Crypt
	for _, c := range slices.Backward(e.ring) {
		if c.signed(q.signature, q.timestamp, q.nonce, encrypted) {
			found = c
		}
	}
	return found
}

// opened is a decrypted frame.
type opened struct {
	text      []byte
	receiveID string
}

// open tries every key of the ring; the error is the most telling one.
func (e *Endpoint) open(encrypted string) (o opened, keyFP string, err error) {
	for _, c := range e.ring {
		text, receiveID, oerr := c.open(encrypted)
		if oerr == nil {
			return opened{text, receiveID}, c.KeyFP(), nil
		}
		if err == nil || errors.Is(oerr, errForeign) {
			err = oerr
		}
	}
	return opened{}, "", err
}

// query is the signed parameters; last is the value of the extra one asked for.
type query struct{ signature, timestamp, nonce, last string }

// parseQuery takes exactly one value of each parameter. Other parameters are
// ignored, also those that cannot be read.
func parseQuery(raw, extra string) (query, bool) {
	values, _ := url.ParseQuery(raw) // the error tells of pairs left out; those needed are checked here
	one := func(name string) (string, bool) {
		v := values[name]
		if len(v) != 1 {
			return "", false
		}
		return v[0], true
	}
	var q query
	var ok [4]bool
	q.signature, ok[0] = one("msg_signature")
	q.timestamp, ok[1] = one("timestamp")
	q.nonce, ok[2] = one("nonce")
	ok[3] = true
	if extra != "" {
		q.last, ok[3] = one(extra)
	}
	return q, ok[0] && ok[1] && ok[2] && ok[3]
}
