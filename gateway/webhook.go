package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed request, after Standard Webhooks 1.0.0
// (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
const (
	WebhookHeaderID        = "webhook-id"        // the same in every try
	WebhookHeaderTimestamp = "webhook-timestamp" // of this try, Unix seconds
	WebhookHeaderSignature = "webhook-signature" // "v1,<base64>", several with spaces
)

// WebhookTolerance is how far the timestamp of a request may be from the
// receiver's clock, as the published libraries have it.
const WebhookTolerance = 5 * time.Minute

// webhookPrefix stands before the base64 of a secret.
const webhookPrefix = "whsec_"

// ErrWebhookSignature is every error of WebhookKeys.Verify. It says no more, so
// that a forger learns nothing from it.
var ErrWebhookSignature = errors.New("webhook: not signed by us") //nolint:gochecknoglobals // a sentinel error is a constant

// WebhookKeys are the secrets of one receiver, the current one first. A request
// is signed with each, so that the receiver can change over at any moment.
type WebhookKeys struct{ keys [][]byte }

// ParseWebhookKeys reads secrets as Standard Webhooks writes them: "whsec_" and
// the base64 of 24 to 64 bytes. Empty ones are left out; at least one is needed.
// The error shows nothing of a secret.
func ParseWebhookKeys(secrets ...string) (WebhookKeys, error) {
	var k WebhookKeys
	for _, s := range secrets {
		if s == "" {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, webhookPrefix))
		if err != nil || !strings.HasPrefix(s, webhookPrefix) || len(key) < 24 || len(key) > 64 {
			return WebhookKeys{}, errors.New("must be whsec_ and the base64 of 24 to 64 random bytes")
		}
		k.keys = append(k.keys, key)
	}
	if len(k.keys) == 0 {
		return k, errors.New("is empty; must be whsec_ and the base64 of 24 to 64 random bytes")
	}
	return k, nil
}

// Sign returns the value of webhook-signature for a body sent at the given time.
// It goes with id and the time's Unix seconds in their headers. The id holds no
// dot, which separates what is signed.
func (k WebhookKeys) Sign(id string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	var b strings.Builder
	for i, key := range k.keys {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("v1,")
		b.WriteString(base64.StdEncoding.EncodeToString(webhookMAC(key, id, stamp, body)))
	}
	return b.String()
}

// Headers are the three headers of a request sent at the given time, for a setter
// such as http.Header.Set.
func (k WebhookKeys) Headers(id string, at time.Time, body []byte, set func(name, value string)) {
	set(WebhookHeaderID, id)
	set(WebhookHeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	set(WebhookHeaderSignature, k.Sign(id, at, body))
}

// Verify checks a request by its headers, get being such as http.Header.Get: one of
// its signatures is of one of the keys over exactly these bytes, and its time at
// most WebhookTolerance from now. The error is ErrWebhookSignature.
func (k WebhookKeys) Verify(get func(name string) string, body []byte, now time.Time) error {
	id, stamp := get(WebhookHeaderID), get(WebhookHeaderTimestamp)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" || now.Sub(time.Unix(seconds, 0)).Abs() > WebhookTolerance {
		return ErrWebhookSignature
	}
	for _, s := range strings.Fields(get(WebhookHeaderSignature)) {
		given, ours := strings.CutPrefix(s, "v1,")
		mac, err := base64.StdEncoding.DecodeString(given)
		if !ours || err != nil {
			continue // another scheme, which some receivers understand
		}
		for _, key := range k.keys {
			if hmac.Equal(mac, webhookMAC(key, id, stamp, body)) {
				return nil
			}
		}
	}
	return ErrWebhookSignature
}

// Seal vouches for a text that is handed out and comes back, such as a token, with
// the current key. purpose keeps seals of different kinds apart.
func (k WebhookKeys) Seal(purpose, text string) string { return seal(k.keys[0], purpose, text) }

// Sealed says whether Seal made exactly this seal for the text, with any of the keys.
func (k WebhookKeys) Sealed(purpose, text, given string) bool {
	for _, key := range k.keys {
		if hmac.Equal([]byte(given), []byte(seal(key, purpose, text))) {
			return true
		}
	}
	return false
}

// seal is compared as text: base64 has several ways to write the same bytes. What is
// hashed begins with a byte that no id has, so that no request's signature is a seal.
func seal(key []byte, purpose, text string) string {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte("\x00" + purpose + "\x00" + text)) // a hash takes everything
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func webhookMAC(key []byte, id, stamp string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(h, "%s.%s.", id, stamp) // a hash takes everything
	_, _ = h.Write(body)
	return h.Sum(nil)
}
