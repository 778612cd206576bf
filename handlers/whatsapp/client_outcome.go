package whatsapp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// sendAnswer is either shape of an answer: a receipt or an error.
type sendAnswer struct {
	Contacts []struct {
		WaID   string `json:"wa_id"`
		UserID string `json:"user_id"`
	} `json:"contacts"`
	Messages []struct {
		ID string `json:"id"`
	} `json:"messages"`
	// Success is the whole answer to marking read.
	Success bool        `json:"success"`
	Error   *graphError `json:"error"`
}

// graphError is Meta's error object. Code is a pointer because 0 is a code
// ("not authenticated") and its absence is not.
type graphError struct {
	Message   string `json:"message"`
	Code      *int   `json:"code"`
	Subcode   int    `json:"error_subcode"`
	Transient bool   `json:"is_transient"`
	More      struct {
		Details string `json:"details"`
	} `json:"error_data"`
	TraceID string `json:"fbtrace_id"`
}

// answered makes the outcome of an answer.
func (c *Client) answered(m *gateway.Message, resp *egress.Response, to gateway.Identity) gateway.Outcome {
	var a sendAnswer
	readable := json.Unmarshal(resp.Body, &a) == nil
	switch {
	case readable && a.Error != nil && a.Error.Code != nil:
		return c.refused(m, resp, a.Error, to)
	case resp.Status >= 200 && resp.Status <= 299 && m.Reply.Type == gateway.ReplyRead:
		if !readable || !a.Success {
			return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "unreadable", Detail: "the answer does not say success"}
		}
		c.throttled.Over()
		c.unhealthy.Over()
		return gateway.Outcome{Kind: gateway.OutcomeAccepted}
	case resp.Status >= 200 && resp.Status <= 299:
		if !readable || len(a.Messages) == 0 || a.Messages[0].ID == "" {
			return gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "unreadable", Detail: "the answer holds no message id"}
		}
		c.throttled.Over()
		c.unhealthy.Over()
		if m.Reply.Type == gateway.ReplyTemplate {
			c.templates.Over()
		}
		o := gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: a.Messages[0].ID}
		if to.Kind != "group" && len(a.Contacts) == 1 {
			o.Aliases = aliases(a.Contacts[0].WaID, a.Contacts[0].UserID)
		}
		return o
	}
	return c.bare(resp)
}

// aliases are the names under which Meta knows the recipient; either may be
// missing.
func aliases(waID, userID string) []gateway.Identity {
	var ids []gateway.Identity
	if userID != "" {
		ids = append(ids, gateway.Identity{Kind: "bsuid", Value: userID})
	}
	if waID != "" {
		ids = append(ids, gateway.Identity{Kind: "phone", Value: waID})
	}
	return ids
}

// refused makes the outcome of an error body; see Codes for the rule.
func (c *Client) refused(m *gateway.Message, resp *egress.Response, e *graphError, to gateway.Identity) gateway.Outcome {
	now := c.egress.Now()
	number := *e.Code
	if number == 100 && e.Subcode == 33 {
		// "Unsupported post request": the only object named in the path is
		// our own phone number id.
		number = 33
	}
	code, known := c.codes.find(number)
	o := gateway.Outcome{Code: strconv.Itoa(number), Detail: code.Meaning}
	if !known {
		o.Code, o.Detail = "other", "code "+strconv.Itoa(number)+", not in the table"
	}
	o.Detail = c.detail(o.Detail, e, m, to)
	asked := max(egress.RetryAfter(resp.Header, now), usageWait(resp.Header))
	retry := func(p *egress.Pause) gateway.Outcome {
		if known {
			o.Share, o.Blame = shareOf(number), code.Class.blame()
		}
		o.Kind, o.Scope, o.After = gateway.OutcomeRetry, gateway.ScopeAccount, p.Refused(now, max(asked, code.Wait))
		if known {
			o.Scope = code.Scope
		}
		return o
	}
	switch {
	case known && code.Class == ClassThrottle && code.Scope == gateway.ScopePair:
		o.Kind, o.Scope, o.After = gateway.OutcomeRetry, gateway.ScopePair, max(pairWait(m.Tries()), asked)
		o.Blame, o.Tries = gateway.BlamePace, gateway.Unbounded
	case known && code.Class == ClassThrottle, known && code.Class == ClassMaintenance:
		return retry(&c.throttled)
	case known && code.Class == ClassTemplates:
		return retry(&c.templates)
	case known && (code.Class == ClassCredential || code.Class == ClassPolicy):
		return retry(&c.unhealthy)
	case known && code.Class == ClassBusy && m.Tries() < code.Tries:
		o.Kind, o.Scope, o.After = gateway.OutcomeRetry, gateway.ScopePair, max(code.Wait, asked)
		o.Tries = code.Tries
	case known && code.Class == ClassBusy:
		o.Kind = gateway.OutcomeRejected
	case known && code.Class == ClassPermanent:
		o.Kind = gateway.OutcomeRejected
	case known: // transient
		o.Kind = gateway.OutcomeUnknown
	case e.Transient || faulty(resp.Status) || resp.Status < 300:
		o.Kind = gateway.OutcomeUnknown
	case resp.Status == http.StatusTooManyRequests:
		o.Blame = gateway.BlamePace
		return retry(&c.throttled)
	default:
		o.Kind = gateway.OutcomeRejected
	}
	return o
}

// FailedLater is what a code says about more than the message with whose status it came:
// a retry, as the answer of a call with that code is. ok is false for one that is about
// the message alone, or that no status can mean: a token that is refused is refused at
// the call. It changes no pause: the status may be old, or one of hundreds. Source: Meta,
// "Error codes": the same code comes in either way.
func (c *Client) FailedLater(number int) (o gateway.Outcome, ok bool) {
	code, _ := c.codes.find(number)
	switch code.Class {
	case ClassThrottle, ClassMaintenance, ClassTemplates, ClassPolicy:
		return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: code.Scope, Share: shareOf(number), Blame: code.Class.blame(),
			Code: strconv.Itoa(number), Detail: code.Meaning, After: code.Wait}, true
	case ClassCredential, ClassBusy, ClassPermanent, ClassTransient:
	}
	return gateway.Outcome{}, false
}

// faulty are the statuses that do not tell whether the request was taken.
func faulty(status int) bool { return status >= 500 || status == http.StatusRequestTimeout }

// bare makes the outcome of an answer without a code in its body.
func (c *Client) bare(resp *egress.Response) gateway.Outcome {
	now := c.egress.Now()
	asked := egress.RetryAfter(resp.Header, now)
	o := gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "http_" + strconv.Itoa(resp.Status),
		Detail: "an HTTP status without an error of the platform"}
	switch {
	case faulty(resp.Status) || resp.Status < 300:
		o.Kind, o.Scope = gateway.OutcomeUnknown, ""
	case resp.Status == http.StatusTooManyRequests:
		o.After, o.Blame = c.throttled.Refused(now, asked), gateway.BlamePace
	case resp.Status == http.StatusRequestEntityTooLarge:
		o.Kind, o.Scope = gateway.OutcomeRejected, ""
	default: // by something between us and Meta
		o.After, o.Blame = c.unhealthy.Refused(now, asked), gateway.BlameReach
	}
	return o
}

// pairWait is Meta's advice for 131056: 4^n seconds, n = 0, 1, 2 ... It ends at
// 4^4, since the deepest debt of a pair, 45 messages at one in 6 s, is paid back
// in 270 s.
func pairWait(tries int) time.Duration {
	return time.Second << (2 * min(max(tries-1, 0), 4))
}

// usageWait reads X-Business-Use-Case-Usage, where Meta says in minutes when a
// throttled account may go on; 0 when it says nothing. Source: Meta, "Rate
// limits", estimated_time_to_regain_access.
func usageWait(h http.Header) time.Duration {
	var usage map[string][]struct {
		Minutes float64 `json:"estimated_time_to_regain_access"`
	}
	if json.Unmarshal([]byte(h.Get("X-Business-Use-Case-Usage")), &usage) != nil {
		return 0
	}
	most := 0.0
	for _, uses := range usage {
		for _, u := range uses {
			most = max(most, u.Minutes)
		}
	}
	return time.Duration(min(most, 24*60) * float64(time.Minute))
}

// detail adds what Meta wrote, fit to be read by an operator.
func (c *Client) detail(meaning string, e *graphError, m *gateway.Message, to gateway.Identity) string {
	said := e.More.Details
	if said == "" {
		said = e.Message
	}
	hide := append([]string{c.config.AccessToken, to.Value, to.As}, m.Reply.Words()...)
	detail := meaning
	if said = egress.Redact(said, hide...); said != "" {
		detail += ": " + said
	}
	if trace := egress.Redact(e.TraceID, hide...); trace != "" && len(trace) <= 64 {
		detail += " (fbtrace " + trace + ")"
	}
	return detail
}
