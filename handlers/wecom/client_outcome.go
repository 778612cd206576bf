package wecom

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// sendAnswer is the answer of message/send and, without names and id, appchat/send. Code is a pointer because 0 means
// taken and its absence means nothing.
type sendAnswer struct {
	Code         *int   `json:"errcode"`
	Message      string `json:"errmsg"`
	InvalidUser  names  `json:"invaliduser"`
	InvalidParty names  `json:"invalidparty"`
	InvalidTag   names  `json:"invalidtag"`
	Unlicensed   names  `json:"unlicenseduser"`
	ID           string `json:"msgid"`
}

// names is whom an answer names. message/send writes one text with "|" between,
// update_template_card a list; whether there is anybody is all that is asked.
type names bool

// UnmarshalJSON is for encoding/json.
func (n *names) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `null`, `""`, `[]`, `[""]`:
		*n = false
	default:
		*n = true
	}
	return nil
}

// answered makes the outcome of an answer; again says that the token was
// refused. A body with an errcode is a definite answer whatever the HTTP status;
// 0 counts only under 200. Without one, a 5xx, a 408 or a 2xx that cannot be
// read is unknown, and any other status was said by something between us and
// WeCom: not sent, the account waits.
func (c *Client) answered(m *gateway.Message, resp *egress.Response, token, to string) (o gateway.Outcome, again bool) {
	var a sendAnswer
	if json.Unmarshal(resp.Body, &a) != nil || a.Code == nil || (*a.Code == 0 && resp.Status != http.StatusOK) {
		return c.bare(resp), false
	}
	if *a.Code == 0 {
		return c.taken(&a), false
	}
	return c.refused(m, resp, &a, token, to)
}

// taken makes the outcome of errcode 0. A recipient named as invalid was not
// sent to: a partial failure by WeCom's words, a whole one for one recipient.
func (c *Client) taken(a *sendAnswer) gateway.Outcome {
	c.throttled.Over()
	c.unhealthy.Over()
	switch {
	case bool(a.InvalidUser):
		return reject("invaliduser", "the member does not exist or cannot see the app")
	case bool(a.Unlicensed):
		return reject("unlicenseduser", "the member has no license for the API")
	}
	o := gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: a.ID}
	switch {
	case strings.Contains(strings.ToLower(a.Message), "warning"):
		o.Detail = "taken with a warning about the body"
	case bool(a.InvalidParty || a.InvalidTag):
		o.Detail = "taken; the answer names departments or tags, which were not addressed"
	}
	return o
}

// refused makes the outcome of an errcode; see Codes.
func (c *Client) refused(m *gateway.Message, resp *egress.Response, a *sendAnswer, token, to string) (o gateway.Outcome, again bool) {
	now := c.now()
	code, known := c.codes[*a.Code]
	o = gateway.Outcome{Kind: gateway.OutcomeRetry, Code: strconv.Itoa(*a.Code), Detail: code.Meaning}
	if !known {
		o.Code, o.Detail = codeOther, fmt.Sprintf("code %d, not in the table", *a.Code)
		code = Code{Class: ClassBusy, Wait: busyWait(1e9, 1), Tries: unknownTries}
	}
	if address := egressAddress(*a.Code, a.Message); address != "" {
		o.Detail += "; " + addressAdvice(address)
	} else if said := egress.Redact(a.Message, append(m.Reply.Words(), token, c.config.Secret, to)...); said != "" {
		o.Detail += ": " + said
	}
	asked := egress.RetryAfter(resp.Header, now)
	o.Blame = code.Class.blame()
	switch code.Class {
	case ClassToken:
		o.Scope = gateway.ScopeAccount
		return o, true
	case ClassBusy:
		if code.Tries > 0 && m.Tries() >= code.Tries {
			o.Kind = gateway.OutcomeRejected
			break
		}
		o.Scope, o.After, o.Tries = gateway.ScopePair, max(busyWait(code.Wait, m.Tries()), asked), code.Tries
	case ClassRate:
		o.Scope, o.After, o.Share = gateway.ScopeAccount, c.throttled.Refused(now, max(asked, code.Wait)), gateway.ShareCorp
	case ClassCredential, ClassPolicy:
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
		o.After, o.Blame = c.throttled.Refused(now, asked), gateway.BlamePace
	case resp.Status == http.StatusRequestEntityTooLarge:
		o.Kind, o.Scope = gateway.OutcomeRejected, ""
	default: // by something between us and WeCom
		o.After, o.Blame = c.unhealthy.Refused(now, asked), gateway.BlameReach
	}
	return o
}

// egressAddress reads out of the words of 60020 ("not allow to access from your
// ip, ... from ip: 203.0.113.7, more info at ...") which address WeCom saw; ""
// when it is another code or there is none.
func egressAddress(code int, message string) string {
	if code != codeAddress {
		return ""
	}
	_, rest, ok := strings.Cut(message, "from ip:")
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " ")
	if i := strings.IndexFunc(rest, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }); i >= 0 {
		rest = rest[:i]
	}
	a, err := netip.ParseAddr(rest)
	if err != nil {
		return ""
	}
	return a.String()
}

// addressAdvice is what an operator does about 60020.
func addressAdvice(address string) string {
	return "WeCom sees this machine as " + address + ": add that address to the app's trusted addresses in WeCom's console; it takes about a minute"
}
