package wecom

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// sendAnswer is the answer of message/send. Code is a pointer because 0 means
// taken and its absence means nothing.
type sendAnswer struct {
	Code         *int   `json:"errcode"`
	Message      string `json:"errmsg"`
	InvalidUser  string `json:"invaliduser"`
	Unlicensed   string `json:"unlicenseduser"`
	ID           string `json:"msgid"`
	ResponseCode string `json:"response_code"`
}

// lost makes the outcome of a call that got no answer.
func (c *Client) lost(err error) gateway.Outcome {
	var e *egress.Error
	if !errors.As(err, &e) {
		return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: egress.WordOther}
	}
	o := gateway.Outcome{Code: e.Word, Detail: e.Error()}
	switch {
	case e.Written:
		o.Kind = gateway.OutcomeUnknown
	case e.Word == egress.WordVoid || e.Word == egress.WordCanceled:
		o.Kind, o.Scope = gateway.OutcomeRetry, gateway.ScopePair
	default:
		o.Kind, o.Scope = gateway.OutcomeRetry, gateway.ScopeAccount
		o.After = c.unreached.Refused(c.now(), 0)
	}
	return o
}

// answered makes the outcome of an answer; again says that the token was
// refused. A body with an errcode is a definite answer whatever the HTTP status;
// 0 counts only under 200. Without one, a 5xx, a 408 or a 2xx that cannot be
// read is unknown, and any other status was said by something between us and
// WeCom: not sent, the account waits.
func (c *Client) answered(m *gateway.Message, resp *egress.Response, token, userID string) (o gateway.Outcome, again bool) {
	var a sendAnswer
	if json.Unmarshal(resp.Body, &a) != nil || a.Code == nil || (*a.Code == 0 && resp.Status != http.StatusOK) {
		return c.bare(resp), false
	}
	if *a.Code == 0 {
		return c.taken(&a), false
	}
	return c.refused(m, resp, &a, token, userID)
}

// taken makes the outcome of errcode 0. A recipient named as invalid was not
// sent to: a partial failure by WeCom's words, a whole one for one recipient.
func (c *Client) taken(a *sendAnswer) gateway.Outcome {
	switch {
	case a.InvalidUser != "":
		return reject("invaliduser", "the member does not exist or cannot see the app")
	case a.Unlicensed != "":
		return reject("unlicenseduser", "the member has no license for the API")
	}
	c.throttled.Over()
	c.unhealthy.Over()
	o := gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: a.ID}
	if strings.Contains(strings.ToLower(a.Message), "warning") {
		o.Detail = "taken with a warning about the body"
	}
	return o
}

// refused makes the outcome of an errcode; see Codes.
func (c *Client) refused(m *gateway.Message, resp *egress.Response, a *sendAnswer, token, userID string) (o gateway.Outcome, again bool) {
	now := c.now()
	code, known := c.codes[*a.Code]
	o = gateway.Outcome{Kind: gateway.OutcomeRetry, Code: strconv.Itoa(*a.Code), Detail: code.Meaning}
	if !known {
		o.Code, o.Detail = "other", fmt.Sprintf("code %d, not in the table", *a.Code)
		code = Code{Class: ClassBusy, Wait: busyWait(1e9, 1), Tries: unknownTries}
	}
	if words := egress.Redact(a.Message, token, c.config.Secret, m.Reply.Text, userID); words != "" {
		o.Detail += ": " + words
	}
	asked := egress.RetryAfter(resp.Header, now)
	switch code.Class {
	case ClassToken:
		o.Scope = gateway.ScopeAccount
		return o, true
	case ClassBusy:
		if m.Tries() >= code.Tries {
			o.Kind = gateway.OutcomeRejected
			break
		}
		o.Scope, o.After = gateway.ScopePair, max(busyWait(code.Wait, m.Tries()), asked)
	case ClassRate:
		o.Scope, o.After = gateway.ScopeAccount, c.throttled.Refused(now, max(asked, code.Wait))
	case ClassUnhealthy:
		o.Scope, o.After = gateway.ScopeAccount, c.unhealthy.Refused(now, asked)
	case ClassNotNow, ClassPermanent:
		o.Kind = gateway.OutcomeRejected
	}
	return o, false
}

// bare makes the outcome of an answer without an errcode.
func (c *Client) bare(resp *egress.Response) gateway.Outcome {
	now := c.now()
	asked := egress.RetryAfter(resp.Header, now)
	o := gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "http_" + strconv.Itoa(resp.Status),
		Detail: "an HTTP status without an errcode"}
	switch {
	case resp.Status >= 500, resp.Status == http.StatusRequestTimeout, resp.Status < 300:
		o.Kind, o.Scope = gateway.OutcomeUnknown, ""
		if resp.Status < 300 {
			o.Code = "unreadable"
		}
	case resp.Status == http.StatusTooManyRequests:
		o.After = c.throttled.Refused(now, asked)
	case resp.Status == http.StatusRequestEntityTooLarge:
		o.Kind, o.Scope = gateway.OutcomeRejected, ""
	default:
		o.After = c.unhealthy.Refused(now, asked)
	}
	return o
}
