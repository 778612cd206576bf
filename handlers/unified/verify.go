package unified

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // several vendors sign with HMAC-SHA1, which is not broken
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// Verification says what proves a callback. All that is set must hold, and
// something must be set. Secrets are a ring, the current one first; an empty one
// proves nothing.
type Verification struct {
	Token     *TokenProof
	HMAC      *HMACProof
	Addresses []netip.Prefix
}

// TokenProof is a secret in a header, behind a prefix such as "Bearer ".
type TokenProof struct {
	Header, Prefix string
	Secrets        []string
}

// HMACProof is a signature over the raw body in a header, behind a prefix such as
// "sha256=".
type HMACProof struct {
	Header, Prefix string
	SHA1           bool // in place of SHA-256
	Base64         bool // in place of hex, of either case
	Secrets        []string
}

// EndpointConfig is one callback URL.
type EndpointConfig struct {
	Verification Verification
	Decoding     Decoding
	// Answer is what the vendor wants to read in the answer to a callback.
	Answer string
}

// Endpoint implements handlers.Endpoint, handlers.Witness and handlers.Answerer.
type Endpoint struct {
	proof   Verification
	decoder *decoder
	answer  []byte
}

// NewEndpoint makes an endpoint. Errors: the first of Decoding.Problems.
func NewEndpoint(c EndpointConfig) (*Endpoint, error) {
	d, problems := c.Decoding.compile()
	if len(problems) > 0 {
		return nil, fmt.Errorf("decode.%s: %s", problems[0].Field, problems[0].Text)
	}
	return &Endpoint{proof: c.Verification, decoder: d, answer: []byte(c.Answer)}, nil
}

// RefusalStatus is 401.
func (e *Endpoint) RefusalStatus() int { return http.StatusUnauthorized }

// Answer is the text that the vendor wants to read.
func (e *Endpoint) Answer(*handlers.Request) []byte { return e.answer }

// Challenge refuses: vendors of this kind do not prove URLs by a GET.
func (e *Endpoint) Challenge(*handlers.Request) ([]byte, error) {
	return nil, fmt.Errorf("%w: nothing is answered to a GET here", gateway.ErrNotFound)
}

// What is kept of a request beside its body, so that it can be verified again: the
// address, and which secret was shown. A secret itself is never kept.
const (
	keptClient = "Causeway-Client"
	keptToken  = "Causeway-Token"
)

// Keep implements handlers.Witness. The signature of a body is no secret.
func (e *Endpoint) Keep(r *handlers.Request) http.Header {
	kept := http.Header{}
	if t := e.proof.Token; t != nil {
		if shown, ok := header(r, t.Header, t.Prefix); ok {
			kept.Set(keptToken, gateway.Fingerprint(shown))
		}
	}
	if h := e.proof.HMAC; h != nil {
		if _, ok := header(r, h.Header, ""); ok {
			kept.Set(h.Header, r.Header.Get(h.Header))
		}
	}
	if len(e.proof.Addresses) > 0 {
		if a, err := netip.ParseAddr(r.Client); err == nil {
			kept.Set(keptClient, a.Unmap().String())
		}
	}
	return kept
}

// Verify holds a request against everything that is configured. keyFP names the
// secret of the signature, else of the token; it is empty where addresses alone
// prove a callback.
func (e *Endpoint) Verify(r *handlers.Request) (keyFP string, err error) {
	p := &e.proof
	if p.Token == nil && p.HMAC == nil && len(p.Addresses) == 0 {
		return "", gateway.ErrNoSecret
	}
	if len(p.Addresses) > 0 {
		if err := p.address(r); err != nil {
			return "", err
		}
	}
	if p.Token != nil {
		if keyFP, err = p.Token.verify(r); err != nil {
			return "", err
		}
	}
	if p.HMAC != nil {
		if keyFP, err = p.HMAC.verify(r); err != nil {
			return "", err
		}
	}
	return keyFP, nil
}

// unverified makes a refusal; why is a sentence of ours.
func unverified(why string) error { return fmt.Errorf("%w: %s", gateway.ErrUnverified, why) }

// header is the one value of a header behind its prefix, which is compared without
// case; false when it is missing, doubled or another.
func header(r *handlers.Request, name, prefix string) (string, bool) {
	values := r.Header.Values(name)
	if len(values) != 1 || len(values[0]) < len(prefix) || !strings.EqualFold(values[0][:len(prefix)], prefix) {
		return "", false
	}
	v := values[0][len(prefix):]
	return v, v != ""
}

func (p *Verification) address(r *handlers.Request) error {
	client := r.Client
	if r.Kept {
		client = r.Header.Get(keptClient)
	}
	a, err := netip.ParseAddr(client)
	if err != nil {
		return unverified("the client's address is not known")
	}
	for _, known := range p.Addresses {
		if known.Contains(a.Unmap()) {
			return nil
		}
	}
	return unverified("the client's address is not in the list")
}

// verify compares fingerprints of what was shown and of every secret, so that the
// time taken tells neither length nor beginning of one.
func (t *TokenProof) verify(r *handlers.Request) (string, error) {
	var shown string
	if r.Kept {
		shown = r.Header.Get(keptToken)
	} else if token, ok := header(r, t.Header, t.Prefix); ok {
		shown = gateway.Fingerprint(token)
		// The fingerprint is short; the whole must be right as well.
		if !anyOf(t.Secrets, []byte(token)) {
			return "", unverified("wrong token")
		}
	}
	if shown == "" {
		return "", unverified("no token in the header")
	}
	found := ""
	for _, secret := range t.Secrets {
		if fp := gateway.Fingerprint(secret); secret != "" && subtle.ConstantTimeCompare([]byte(fp), []byte(shown)) == 1 {
			found = fp
		}
	}
	if found == "" {
		return "", unverified("wrong token")
	}
	return found, nil
}

// anyOf compares by hashes, since lengths tell something too.
func anyOf(secrets []string, shown []byte) bool {
	sum, found := sha256.Sum256(shown), 0
	for _, secret := range secrets {
		have := sha256.Sum256([]byte(secret))
		if secret != "" {
			found |= subtle.ConstantTimeCompare(have[:], sum[:])
		}
	}
	return found == 1
}

func (h *HMACProof) verify(r *handlers.Request) (string, error) {
	text, ok := header(r, h.Header, h.Prefix)
	if !ok {
		return "", unverified("no signature in the header")
	}
	signature, err := h.decode(text)
	if err != nil {
		return "", unverified("malformed signature")
	}
	found := ""
	for _, secret := range h.Secrets {
		if secret == "" {
			continue
		}
		if m := h.sum(secret, r.Body); hmac.Equal(m, signature) {
			found = gateway.Fingerprint(secret)
		}
	}
	if found == "" {
		return "", unverified("wrong signature")
	}
	return found, nil
}

func (h *HMACProof) sum(secret string, body []byte) []byte {
	of := sha256.New
	if h.SHA1 {
		of = sha1.New
	}
	m := hmac.New(of, []byte(secret))
	_, _ = m.Write(body) // never fails
	return m.Sum(nil)
}

func (h *HMACProof) decode(text string) ([]byte, error) {
	if !h.Base64 {
		return hex.DecodeString(text)
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(text); err == nil {
			return b, nil
		}
	}
	return nil, errors.New("not base64")
}

// Sign makes the header's value for a body under the current secret.
func (h *HMACProof) Sign(body []byte) string {
	sum := h.sum(h.Secrets[0], body)
	if h.Base64 {
		return h.Prefix + base64.StdEncoding.EncodeToString(sum)
	}
	return h.Prefix + hex.EncodeToString(sum)
}

// Prove adds to a callback what proves it under the current secrets, for those who
// play the vendor.
func (p *Verification) Prove(h http.Header, body []byte) {
	if p.Token != nil {
		h.Set(p.Token.Header, p.Token.Prefix+p.Token.Secrets[0])
	}
	if p.HMAC != nil {
		h.Set(p.HMAC.Header, p.HMAC.Sign(body))
	}
}
