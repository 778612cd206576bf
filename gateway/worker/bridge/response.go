package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// The outcomes of a call, a closed set, safe as metric label.
const (
	Done        = "done"        // answered, empty included
	Later       = "later"       // 202
	Busy        = "busy"        // 429, 503 with Retry-After
	Refused     = "refused"     // a 4xx that speaks of the event
	Failed      = "failed"      // any other status
	Unreadable  = "unreadable"  // no answer by its form or size
	Timeout     = "timeout"     // reached, and no response in time
	Broken      = "broken"      // the connection ended before the response did
	Unreachable = "unreachable" // never connected
)

const (
	busyFor  = 5 * time.Second // without Retry-After
	awayFor  = time.Second     // before an event comes again whose endpoint was not reached; the circuit waits longer
	mostBusy = time.Hour
)

// result is a call in the worker's words.
type result struct {
	word    string
	fault   fault
	why     string // of the endpoint, for the operator
	replies []gateway.Reply
	err     error // as a worker.Handler returns it
}

func failedTry(word, format string, args ...any) result {
	err := fmt.Errorf(format, args...)
	return result{word: word, fault: fails, why: err.Error(), err: worker.Retry(err, 0)}
}

// judge makes the result of a response.
func judge(delivery string, resp response, now time.Time) result {
	code := resp.code
	if after, ok := retryAfter(resp.header.Get("Retry-After"), now); code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable && ok {
		return result{word: Busy, err: worker.Handback(after)}
	}
	switch {
	case code == http.StatusAccepted:
		return result{word: Later}
	case code/100 == 2 && len(bytes.TrimSpace(resp.body)) == 0:
		return result{word: Done}
	case code/100 == 2:
		return answered(delivery, resp.body)
	case code/100 == 3:
		return failedTry(Failed, "the endpoint answered %d: redirects are not followed; configure the address it leads to", code)
	case code/100 == 4 && !ofTheEndpoint(code):
		return result{word: Refused, err: worker.Dead(fmt.Errorf("the endpoint answered %d", code))}
	}
	return failedTry(Failed, "the endpoint answered %d", code)
}

// ofTheEndpoint are the 4xx that speak of the endpoint, or of the moment, and not of
// the event: another one would be answered the same.
func ofTheEndpoint(code int) bool {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusGone, http.StatusMisdirectedRequest, http.StatusTooEarly:
		return true
	}
	return false
}

// answered takes the answer of a body. The bot's own retry says nothing of the
// endpoint, which works.
func answered(delivery string, body []byte) result {
	a, err := gateway.ParseAnswerTo(delivery, body)
	if err != nil {
		return failedTry(Unreadable, "the endpoint's answer cannot be used: %w", err)
	}
	r := result{word: Done}
	after := time.Duration(a.AfterMS) * time.Millisecond
	switch a.Verdict {
	case gateway.VerdictDone:
		r.replies = a.Replies
	case gateway.VerdictRetry:
		r.err = worker.Retry(said(a.Error), after)
	case gateway.VerdictDead:
		r.err = worker.Dead(said(a.Error))
	case gateway.VerdictHandback:
		r.err = worker.Handback(after)
	}
	return r
}

func said(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// retryAfter reads seconds or a date; false when there is none. Nothing comes again
// at once or after more than an hour.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(max(time.Duration(seconds)*time.Second, time.Second), mostBusy), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), time.Second), mostBusy), true
	}
	return busyFor, false
}
