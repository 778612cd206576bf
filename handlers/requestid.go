package handlers

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
)

// RequestIDHeader carries the request's name, theirs or ours.
const RequestIDHeader = "X-Request-Id"

// requestIDs names requests: the caller's own id where it is a plain word, else
// a random prefix of this process and a number.
type requestIDs struct {
	prefix string
	n      atomic.Uint64
}

func newRequestIDs() (*requestIDs, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	return &requestIDs{prefix: hex.EncodeToString(b[:]) + "-"}, nil
}

func (r *requestIDs) name(h http.Header) string {
	if v := h[RequestIDHeader]; len(v) == 1 && plainWord(v[0]) {
		return v[0]
	}
	return r.prefix + strconv.FormatUint(r.n.Add(1), 36)
}

// plainWord says whether s may be repeated in an answer and in the log.
func plainWord(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
