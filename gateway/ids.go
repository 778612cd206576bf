package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

// lower32 is RFC 4648 base32 in lower case without padding: a safe alphabet for
// subjects, file names and URLs. 16 bytes give 26 characters.
func lower32(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// EventID names a fact for ever: "ev_" and 26 characters of SHA-256 over
// platform, account, kind and the platform's id. Never over the conversation,
// so that a merge or a replay does not change it.
func EventID(platform string, it *Item) string {
	return "ev_" + digest(platform, it.AccountID, string(it.Kind), it.Key)
}

// CopyID names an event that came before and is let through again: by the place in
// the archive of what brought it, so that it is the same whenever that is read.
func CopyID(event string, pos int64, item int) string {
	return "ev_" + digest("copy", event, strconv.FormatInt(pos, 10), strconv.Itoa(item))
}

// ConvID names a conversation for ever: 26 characters of an HMAC under the
// installation's secret, so that it can be logged and used as subject token
// without telling who the customer is.
func ConvID(secret []byte, platform, account string, kind ChatKind, first Identity) string {
	m := hmac.New(sha256.New, secret)
	writeParts(m.Write, platform, account, string(kind), first.Kind, first.Value)
	return lower32(m.Sum(nil)[:16])
}

func digest(parts ...string) string {
	h := sha256.New()
	writeParts(h.Write, parts...)
	return lower32(h.Sum(nil)[:16])
}

// writeParts writes each part with its length before it, so that no two lists
// of parts have the same bytes.
func writeParts(write func([]byte) (int, error), parts ...string) {
	for _, p := range parts {
		n := len(p)
		_, _ = write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		_, _ = write([]byte(p))
	}
}

// Fingerprint names a key in the archive and in doctor without telling it: the
// first 12 characters of SHA-256 in base32. The key has at least 100 bits in
// every platform, so the name cannot be searched back.
func Fingerprint(key string) string {
	return digest("key", key)[:12]
}

// DeliveryID is the ce-id of an offer of one event: its id, with the run of a replay
// or the number of a requeue behind a dot. That of a bundle is Pending.Delivery: the
// id of its last event, and the seq of its first one behind a dot. SplitDeliveryID
// takes them apart.
func DeliveryID(event, run string, requeues int) string {
	switch {
	case run != "":
		return event + "." + run
	case requeues > 0:
		return event + ".q" + strconv.Itoa(requeues)
	default:
		return event
	}
}

// SplitDeliveryID returns the event id and the replay run of a delivery id; run
// is empty for live and requeued events and for bundles, of which it is the last
// event.
func SplitDeliveryID(id string) (event, run string) {
	event, rest, _ := strings.Cut(id, ".")
	if strings.HasPrefix(rest, "run_") {
		run = rest
	}
	return event, run
}

// ValidName says whether s can name an endpoint, account or application: 1 to
// 40 characters of lower-case letters, digits and inner hyphens. Such a name is
// a safe subject token, file name and metric label.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > 40 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
