package whatsapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
	"sync"

	"github.com/causewayhq/causeway/gateway"
)

// SignatureHeader carries the proof of a POST. The older X-Hub-Signature
// (SHA-1) is ignored. Source: Meta, "Create a webhook endpoint".
const SignatureHeader = "X-Hub-Signature-256"

const signaturePrefix = "sha256="

// Sign returns the value of SignatureHeader: HMAC-SHA256 with the app secret as
// text over the raw body, in lower-case hex behind "sha256=". The body must be
// the bytes on the wire; the same JSON written anew has another signature.
func Sign(secret string, body []byte) string {
	return signaturePrefix + hex.EncodeToString(digest(secret, body))
}

func digest(secret string, body []byte) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return m.Sum(nil)
}

// parseSignature returns the digest of the one well-formed SignatureHeader. No
// header, two of them, or any other shape is false: a middle box that added a
// second one must not decide which is believed.
func parseSignature(h http.Header) ([]byte, bool) {
	values := h.Values(SignatureHeader)
	if len(values) != 1 {
		return nil, false
	}
	text, ok := strings.CutPrefix(values[0], signaturePrefix)
	if !ok || len(text) != 2*sha256.Size {
		return nil, false
	}
	sum, err := hex.DecodeString(text)
	if err != nil {
		return nil, false
	}
	return sum, true
}

// ring is the app secrets that may have signed, the current one first.
type ring struct {
	secrets []string
	fps     []string
	// macs are keyed hashes of each secret, used again: making one costs as much
	// as hashing a short body.
	macs []*sync.Pool
}

// newRing keeps the secrets that are set. Without a current secret the ring is
// empty, whatever else is in it: a deployment whose variable is unset must not
// go on under the key that was meant to be retired, nor refuse what the platform
// signs with the new one; it must be seen.
func newRing(secrets []string) ring {
	var r ring
	if len(secrets) == 0 || secrets[0] == "" {
		return r
	}
	for _, s := range secrets {
		if s == "" {
			continue
		}
		r.secrets = append(r.secrets, s)
		r.fps = append(r.fps, gateway.Fingerprint(s))
		r.macs = append(r.macs, &sync.Pool{New: func() any { return hmac.New(sha256.New, []byte(s)) }})
	}
	return r
}

// match returns the fingerprint of the secret that made sum over body.
func (r ring) match(sum, body []byte) (keyFP string, ok bool) {
	var have [sha256.Size]byte
	for i, pool := range r.macs {
		m, ok := pool.Get().(hash.Hash)
		if !ok {
			return "", false // New makes nothing else
		}
		m.Reset()
		m.Write(body)
		same := hmac.Equal(m.Sum(have[:0]), sum)
		pool.Put(m)
		if same {
			return r.fps[i], true
		}
	}
	return "", false
}
