package egress

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxDetail bounds a redacted text in characters.
const maxDetail = 200

// Redact makes a platform's own words fit for an operator: each of hide (the
// secrets of the call, the recipient, the text sent) is masked wherever it
// occurs, as are runs of five and more digits, message ids and the query part
// of URLs; control characters go; the rest is cut to 200 characters. The
// platforms do play back what they were sent ("Malformed access token ...").
func Redact(text string, hide ...string) string {
	// First of all: bytes left out later could join the halves of a secret.
	text = strings.ToValidUTF8(text, "")
	for _, h := range hide {
		if len(h) >= 3 {
			text = strings.ReplaceAll(text, h, "***")
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	for i, w := range words {
		words[i] = redactWord(w)
	}
	out := strings.Join(words, " ")
	if utf8.RuneCountInString(out) > maxDetail {
		out = string([]rune(out)[:maxDetail])
	}
	return out
}

// longNumber is what may be a telephone number, in the digits of any script.
var longNumber = regexp.MustCompile(`\p{Nd}{5,}`)

// redactWord masks one word. The rules do not exclude each other: a message id
// may stand in a URL's query, and a number in its path.
func redactWord(w string) string {
	if strings.Contains(w, "://") {
		if i := strings.IndexByte(w, '?'); i >= 0 {
			w = w[:i] + "?***"
		}
	}
	if i := strings.Index(w, "wamid."); i >= 0 {
		w = w[:i] + "wamid.***"
	}
	return longNumber.ReplaceAllString(w, "***")
}

// RetryAfter reads the header of that name, seconds or a date (RFC 9110,
// 10.2.3); 0 when it is missing or not readable, at most one day.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseInt(v, 10, 32); err == nil {
		return min(max(time.Duration(s)*time.Second, 0), 24*time.Hour)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(t.Sub(now), 0), 24*time.Hour)
	}
	return 0
}
