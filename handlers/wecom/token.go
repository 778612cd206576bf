package wecom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/causewayhq/causeway/handlers/egress"
)

// Life of a token when the answer does not tell it, and the part of it after
// which a new one is fetched. Source: WeCom, gettoken (91039): 7200 s, may end
// early; fetching again within the life gives the same token.
const (
	defaultTokenLife = 2 * time.Hour
	renewPercent     = 85
)

// tokenError is a token that could not be had. Nothing was sent.
type tokenError struct {
	Code  string // errcode or a word of egress
	Text  string // for the operator, without secrets
	After time.Duration
	// Errcode is what the platform answered; 0 when it answered none.
	Errcode int
	// Address is this machine's as the platform saw it, with 60020.
	Address string
}

func (e *tokenError) Error() string { return "wecom: access token: " + e.Code }

// tokens holds the access token of one app. Callers share one fetch; a failed
// fetch is not repeated before its pause is over, since WeCom blocks an address
// that goes on with a wrong secret. It is safe for concurrent use and starts no
// goroutine: the first caller fetches, the others wait.
type tokens struct {
	url    func() string // holds the secret: never in an error or a log
	secret string
	codes  map[int]Code
	egress *egress.Client
	now    func() time.Time

	// rejected paces fetches that WeCom refused, failed those that did not
	// come through.
	rejected, failed egress.Pause

	mu      sync.Mutex
	token   string
	renewAt time.Time
	endsAt  time.Time
	lastErr *tokenError
	flight  chan struct{} // closed when the running fetch is over; nil when none runs
}

func newTokens(c ClientConfig, e *egress.Client, now func() time.Time) *tokens {
	return &tokens{
		url: func() string {
			q := url.Values{"corpid": {c.CorpID}, "corpsecret": {c.Secret}}
			return apiURL(c.APIBase, "gettoken", q)
		},
		secret:   c.Secret,
		codes:    newCodeTable(),
		egress:   e,
		now:      now,
		rejected: egress.Pause{First: 30 * time.Second, Max: 15 * time.Minute},
		failed:   egress.Pause{First: time.Second, Max: time.Minute},
	}
}

// get returns a token that should be good. It fetches one when there is none or
// when the present one is past 85 % of its life; if that fails the present one
// is used to its end. The error is a *tokenError or the context's.
func (t *tokens) get(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		now := t.now()
		good := t.token != "" && now.Before(t.endsAt)
		wait := max(t.rejected.Left(now), t.failed.Left(now))
		switch {
		case good && (now.Before(t.renewAt) || t.flight != nil || wait > 0):
			token := t.token
			t.mu.Unlock()
			return token, nil
		case t.flight != nil:
			flight := t.flight
			t.mu.Unlock()
			select {
			case <-flight:
			case <-ctx.Done():
				return "", ctx.Err()
			}
			continue
		case wait > 0 && t.lastErr != nil:
			err := *t.lastErr
			err.After = wait
			t.mu.Unlock()
			return "", &err
		}
		flight := make(chan struct{})
		t.flight = flight
		t.mu.Unlock()

		token, life, err := t.fetch(ctx)

		t.mu.Lock()
		switch {
		case err == nil:
			// Counted from before the call: rather early than late.
			t.token, t.endsAt = token, now.Add(life)
			t.renewAt = now.Add(life * renewPercent / 100)
			t.lastErr = nil
			t.failed.Over()
			t.rejected.Over()
		case good:
			token, err = t.token, nil
		}
		var failure *tokenError
		if errors.As(err, &failure) {
			t.lastErr = failure
		}
		t.flight = nil
		t.mu.Unlock()
		close(flight)
		return token, err
	}
}

// drop forgets a token that the platform refused, unless another one has taken
// its place already.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// fetch calls gettoken. A context that ends fails with the context's error,
// which is not remembered: the next caller fetches for itself.
func (t *tokens) fetch(ctx context.Context) (string, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url(), nil)
	if err != nil {
		// The parser's error would hold the URL.
		return "", 0, t.refused("bad_url", "api_base of the account is not a URL")
	}
	resp, err := t.egress.Do(req, time.Time{})
	if err != nil {
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		e := &tokenError{Code: egress.WordOther, Text: err.Error(), After: t.failed.Refused(t.now(), 0)}
		var word *egress.Error
		if errors.As(err, &word) {
			e.Code = word.Word
		}
		return "", 0, e
	}
	var a struct {
		Code    *int   `json:"errcode"`
		Message string `json:"errmsg"`
		Token   string `json:"access_token"`
		Life    int64  `json:"expires_in"`
	}
	switch {
	case json.Unmarshal(resp.Body, &a) != nil, a.Code == nil && a.Token == "":
		least := egress.RetryAfter(resp.Header, t.now())
		return "", 0, &tokenError{Code: "http_" + strconv.Itoa(resp.Status), Text: "the answer to gettoken cannot be read",
			After: t.failed.Refused(t.now(), least)}
	case a.Code != nil && *a.Code != 0:
		return "", 0, t.answered(*a.Code, a.Message)
	case a.Token == "":
		return "", 0, t.refused("unreadable", "the answer to gettoken holds no token")
	}
	life := defaultTokenLife
	if a.Life > 0 && a.Life < 30*24*3600 {
		life = time.Duration(a.Life) * time.Second
	}
	return a.Token, life, nil
}

// answered makes the error of an errcode.
func (t *tokens) answered(code int, message string) *tokenError {
	c, known := t.codes[code]
	label, text := strconv.Itoa(code), c.Meaning
	if !known {
		label, text = codeOther, fmt.Sprintf("code %d, not in the table", code)
	}
	address := egressAddress(code, message)
	if address != "" {
		text += "; " + addressAdvice(address)
	} else if words := egress.Redact(message, t.secret); words != "" {
		text += ": " + words
	}
	if known && (c.Class == ClassBusy || c.Class == ClassRate) {
		return &tokenError{Code: label, Text: text, After: t.failed.Refused(t.now(), c.Wait), Errcode: code}
	}
	e := t.refused(label, text)
	e.Errcode, e.Address = code, address
	return e
}

func (t *tokens) refused(code, text string) *tokenError {
	return &tokenError{Code: code, Text: text, After: t.rejected.Refused(t.now(), 0)}
}
