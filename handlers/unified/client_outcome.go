package unified

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// unknownTries is at which try (gateway.Message.Tries) a refusal is final whose code
// means nothing to us. One that means retry is tried as often as configured.
const unknownTries = 2

// answered makes the outcome of an answer. A code of the table decides whatever
// the HTTP status. A refusal in words that mean nothing to us is certain under a
// status of success or of a bad request; under any other the status decides, since
// it may be a credential of ours that is wrong, or the vendor does not know itself.
// Success that does not say so in the vendor's words leaves the outcome unknown.
func (c *Client) answered(m *gateway.Message, resp *egress.Response, to string) gateway.Outcome {
	root := readJSON(resp.Body)
	s := &scope{item: root, root: root, ofRoot: map[*path]string{}}
	success := resp.Status >= 200 && resp.Status < 300
	said, code := c.sender.ok.first(s), c.sender.code.first(s)
	taken := slices.Contains(c.sender.okValues, said)
	_, known := c.sender.codes[code]
	switch {
	case success && (taken || len(c.sender.ok) == 0):
		c.throttled.Over()
		c.unhealthy.Over()
		return gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: bounded(c.sender.id.first(s), maxID)}
	case taken:
	case known, said != "" && (success || badRequest(resp.Status)):
		return c.refused(m, resp, s, code, to)
	}
	code = "http_" + strconv.Itoa(resp.Status)
	if _, known = c.sender.codes[code]; known {
		return c.refused(m, resp, s, code, to)
	}
	return c.bare(m, resp, code)
}

// badRequest says whether a status is about this message, and not about the account
// or the vendor.
func badRequest(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusConflict || status == http.StatusUnprocessableEntity
}

// refused makes the outcome of a refusal. Only codes of the table are told as they
// are: a label must be one of a few.
func (c *Client) refused(m *gateway.Message, resp *egress.Response, s *scope, code, to string) gateway.Outcome {
	now := c.now()
	hide := append(m.Reply.Words(), append([]string{to, c.config.GUID}, c.hide...)...)
	o := gateway.Outcome{Kind: gateway.OutcomeRetry, Code: code, Detail: "the vendor refused"}
	means, known := c.sender.codes[code]
	if !known {
		o.Code, o.Detail = "other", "a refusal with a code that is not in send.codes"
		if word := egress.Redact(bounded(code, maxWord), hide...); word != "" {
			o.Detail += ": " + word
		}
	}
	if said := egress.Redact(c.sender.message.first(s), hide...); said != "" {
		o.Detail += ": " + said
	}
	asked := egress.RetryAfter(resp.Header, now)
	switch means {
	case "rate":
		o.Scope, o.After, o.Blame = gateway.ScopeAccount, c.throttled.Refused(now, asked), gateway.BlamePace
	case "account":
		o.Scope, o.After, o.Blame = gateway.ScopeAccount, c.unhealthy.Refused(now, asked), gateway.BlameCredential
	case "rejected":
		o.Kind = gateway.OutcomeRejected
	case "retry":
		c.again(m, &o, 0, asked)
	default:
		c.again(m, &o, unknownTries, asked)
	}
	return o
}

// again lets a message go once more, or rejects it at its last try; 0 tries are as many
// as configured.
func (c *Client) again(m *gateway.Message, o *gateway.Outcome, tries int, asked time.Duration) {
	if tries > 0 && m.Tries() >= tries {
		o.Kind, o.Scope = gateway.OutcomeRejected, ""
		return
	}
	o.Kind, o.Scope, o.Tries = gateway.OutcomeRetry, gateway.ScopePair, tries
	o.After = max(min(time.Second<<min(max(m.Tries()-1, 0), 6), time.Minute), asked)
}

// bare makes the outcome of a status without words that say more.
func (c *Client) bare(m *gateway.Message, resp *egress.Response, code string) gateway.Outcome {
	now := c.now()
	asked := egress.RetryAfter(resp.Header, now)
	o := gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: code, Detail: "an HTTP status without words that say more"}
	switch {
	case resp.Status >= 500, resp.Status == http.StatusRequestTimeout:
		o.Kind, o.Scope = gateway.OutcomeUnknown, ""
	case resp.Status < 300:
		o.Kind, o.Scope, o.Code, o.Detail = gateway.OutcomeUnknown, "", "unreadable", "an answer that does not say whether the message was taken; see send.answer"
	case resp.Status == http.StatusTooManyRequests:
		o.After, o.Blame = c.throttled.Refused(now, asked), gateway.BlamePace
	case resp.Status == http.StatusRequestEntityTooLarge:
		o.Kind, o.Scope = gateway.OutcomeRejected, ""
	case badRequest(resp.Status):
		c.again(m, &o, unknownTries, asked)
	case resp.Status == http.StatusUnauthorized, resp.Status == http.StatusForbidden:
		o.After, o.Blame = c.unhealthy.Refused(now, asked), gateway.BlameCredential
	default: // a redirect or a wrong address: nothing of the account goes
		o.After, o.Blame = c.unhealthy.Refused(now, asked), gateway.BlameReach
	}
	return o
}
