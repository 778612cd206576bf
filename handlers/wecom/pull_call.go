package wecom

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/handlers/egress"
)

// faultKind says what to do about a call that brought no page.
type faultKind int

const (
	refusedFault   faultKind = iota // a person must act; asked again, slowly
	unreachedFault                  // passes by itself
	rateFault                       // asked too often
	crowdFault                      // too many at once
	tokenFault                      // the bell's token is used up: again without it
	cursorFault                     // the cursor is not taken: again from the oldest
	sizeFault                       // the page is too large: fewer messages
)

// fault is a call that brought no page. It holds no secret, id or text.
type fault struct {
	Code, Detail string
	kind         faultKind
	wait         time.Duration // the least
}

// syncRequest is the body of kf/sync_msg. Source: WeCom 94670. Some take cursor
// and token for alternatives; the document does not say so, and gives both in its
// example: the cursor says from where, the token that we were asked to come.
type syncRequest struct {
	Cursor   string `json:"cursor,omitempty"`
	Token    string `json:"token,omitempty"`
	Limit    int    `json:"limit"`
	Voice    int    `json:"voice_format"` // 0: AMR
	OpenKfID string `json:"open_kfid"`
}

// sync fetches one page. An access token that WeCom refuses is replaced once.
func (k *KfClient) sync(ctx context.Context, cursor, token string, limit int) (body []byte, page *syncPage, wrong *fault) {
	for n := 0; ; n++ {
		resp, access, err := k.post(ctx, "kf/sync_msg", &syncRequest{Cursor: cursor, Token: token, Limit: limit, OpenKfID: k.kf.OpenKfID})
		if err != nil {
			return nil, nil, k.syncLost(err)
		}
		var p syncPage
		if json.Unmarshal(resp.Body, &p) != nil || p.Code == nil || resp.Status != http.StatusOK {
			return nil, nil, &fault{Code: "http_" + strconv.Itoa(resp.Status), Detail: "the answer is not one of kf/sync_msg",
				kind: unreachedFault, wait: egress.RetryAfter(resp.Header, k.now())}
		}
		code := *p.Code
		switch {
		case code == 0:
			return resp.Body, &p, nil
		case k.codes[code].Class == ClassToken && n == 0:
			k.tokens.drop(access)
			continue
		}
		return nil, nil, k.syncRefused(code, p.Message, cursor, token, access, egress.RetryAfter(resp.Header, k.now()))
	}
}

// syncLost sorts a call without an answer, and one that did not begin for want of
// an access token.
func (k *KfClient) syncLost(err error) *fault {
	var t *tokenError
	var e *egress.Error
	switch {
	case errors.As(err, &t):
		f := &fault{Code: "token_" + t.Code, Detail: "no access token: " + t.Text, wait: t.After}
		switch class := k.codes[t.Errcode].Class; {
		case class == ClassRate:
			f.kind = rateFault
		case class == ClassBusy, t.Errcode == 0 && t.Code != "bad_url":
			f.kind = unreachedFault
		}
		return f
	case errors.As(err, &e) && e.Word == egress.WordTooLarge:
		return &fault{Code: e.Word, Detail: "the page is larger than what is taken at once", kind: sizeFault}
	case errors.As(err, &e):
		return &fault{Code: e.Word, Detail: e.Error(), kind: unreachedFault}
	}
	return &fault{Code: egress.WordOther, Detail: "WeCom could not be asked", kind: unreachedFault}
}

// syncRefused sorts an errcode. With which code a cursor is refused is not
// documented: the codes of a parameter are taken for it where there is one, since
// all else of the call is what it always is.
func (k *KfClient) syncRefused(number int, message, cursor, token, access string, asked time.Duration) *fault {
	c, known := k.codes[number]
	f := &fault{Code: strconv.Itoa(number), Detail: c.Meaning, wait: max(c.Wait, asked)}
	if !known {
		f.Code, f.Detail = codeOther, "code "+strconv.Itoa(number)+", not in the table"
	}
	if address := egressAddress(number, message); address != "" {
		f.Detail += "; " + addressAdvice(address)
	} else if words := egress.Redact(message, k.config.Secret, access, token, cursor, k.kf.OpenKfID); words != "" {
		f.Detail += ": " + words
	}
	switch {
	case number == codeMsgToken && token != "":
		f.kind = tokenFault
	case (number == codeMsgToken || number == 40035 || number == 40058) && cursor != "":
		f.kind = cursorFault
	case number == 45033:
		f.kind = crowdFault
	case c.Class == ClassRate:
		f.kind = rateFault
	case c.Class == ClassBusy:
		f.kind = unreachedFault
	}
	return f
}

// codeMsgToken: the token of the bell is not valid, or too old.
const codeMsgToken = 95007
