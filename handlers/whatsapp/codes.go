package whatsapp

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// CodeClass says what a platform code means for a message of ours that was
// answered with it.
type CodeClass string

// The classes. Source: Meta's list of error codes, sorted by what a sender can
// do about each.
const (
	// ClassThrottle: too fast; certainly not sent, safe to send again.
	ClassThrottle CodeClass = "throttle"
	// ClassTransient: Meta had a fault. Nothing in the documentation says that
	// a message answered so was not taken, so the outcome is unknown.
	ClassTransient CodeClass = "transient"
	// ClassMaintenance: our number cannot be used just now, by Meta's own
	// account of it; certainly not sent, sent again later.
	ClassMaintenance CodeClass = "maintenance"
	// ClassBusy: this message cannot go just now, by Meta's own account of it;
	// certainly not sent, sent again later, Tries times in all, then rejected.
	ClassBusy CodeClass = "busy"
	// ClassTemplates: nothing leaves just now that begins a conversation, by Meta's own
	// account of it; certainly not sent, sent again later. Answers go on.
	ClassTemplates CodeClass = "templates"
	// ClassPermanent: this message to this recipient never goes.
	ClassPermanent CodeClass = "permanent"
	// ClassCredential: token or permission; certainly not sent, and nothing of the
	// account will be before a person acts.
	ClassCredential CodeClass = "credential"
	// ClassPolicy: restriction, payment, registration or name of the number;
	// likewise.
	ClassPolicy CodeClass = "policy"
)

// blame is what an account is refused for with a code of the class.
func (c CodeClass) blame() gateway.Blame {
	switch c {
	case ClassThrottle:
		return gateway.BlamePace
	case ClassCredential:
		return gateway.BlameCredential
	case ClassPolicy:
		return gateway.BlamePolicy
	default:
		return ""
	}
}

// Code is one row of the table: Meta's code, what follows from it, and a meaning
// in our own words for the operator.
type Code struct {
	Code  int
	Class CodeClass
	// Scope says who waits; Wait is the first wait, which grows while refusals
	// of an account go on.
	Scope   gateway.Scope
	Wait    time.Duration
	Meaning string
	// Tries is how often a busy one is sent; 0 for the other classes.
	Tries int
}

// Codes is the table of the codes a send can be answered with. A code is decided
// by its number only: Meta's HTTP statuses are not reliable (all throttles are
// 400, some permanent ones 500), titles change, subcodes are deprecated.
//
// The rule for faults (what is a definite answer, what is unknown):
//   - a code of this table in the body is a definite answer, whatever the HTTP
//     status, unless its class is transient;
//   - class transient (1, 2, 131000, 131016, 133004) and is_transient beside a
//     code that is not in the table: unknown, not repeated by us;
//   - an HTTP 5xx or 408 without such a code, an answer that cannot be read, no
//     answer, or a connection lost after the first byte of the request:
//     unknown. Whether a 500 came before or after Meta took the message cannot
//     be seen from outside;
//   - a code that is not in the table, without is_transient and under a status of
//     400 and above but 408, 429 and 5xx: rejected, with the code "other" and the
//     number in the detail. Meta's new codes so far have been about the message,
//     and what is sent again without knowing why hammers. Under 429 it is a
//     throttle of the account;
//   - a 4xx or 3xx without a code was said by something between us and Meta:
//     certainly not sent, the account waits.
func Codes() []Code {
	const (
		pair      = gateway.ScopePair
		account   = gateway.ScopeAccount
		templates = gateway.ScopeTemplates
	)
	return []Code{
		{4, ClassThrottle, account, time.Minute, "too many calls of the app", 0},
		{613, ClassThrottle, account, time.Minute, "too many calls of one kind of the app", 0},
		{80007, ClassThrottle, account, time.Minute, "too many calls of the WhatsApp Business Account", 0},
		{130429, ClassThrottle, account, time.Second, "throughput of the phone number reached", 0},
		{131056, ClassThrottle, pair, time.Second, "too many messages to this customer in a short time", 0},

		{131048, ClassTemplates, templates, 5 * time.Minute, "spam limit of the phone number reached", 0},
		{131064, ClassTemplates, templates, 5 * time.Minute, "templates of the WhatsApp Business Account are limited", 0},

		{131208, ClassThrottle, pair, time.Second, "too many group operations of the phone number", 0},

		{131053, ClassBusy, pair, 5 * time.Second, "the file could not be fetched or taken", 2},
		{134101, ClassBusy, pair, time.Minute, "template is being synchronized, which takes up to ten minutes", 15},

		{1, ClassTransient, "", 0, "unknown API error", 0},
		{2, ClassTransient, "", 0, "API service temporarily unavailable", 0},
		{131000, ClassTransient, "", 0, "something went wrong at the platform", 0},
		{131016, ClassTransient, "", 0, "service overloaded or temporarily unavailable", 0},
		{133004, ClassTransient, "", 0, "server temporarily unavailable", 0},

		{131057, ClassMaintenance, account, time.Minute, "phone number in maintenance", 0},
		{2494100, ClassMaintenance, account, time.Minute, "phone number in maintenance, its throughput is being raised", 0},

		{100, ClassPermanent, "", 0, "a parameter is not valid", 0},
		{131008, ClassPermanent, "", 0, "a required parameter is missing", 0},
		{131009, ClassPermanent, "", 0, "a parameter's value is not valid", 0},
		{131020, ClassPermanent, "", 0, "the group has no other member", 0},
		{131021, ClassPermanent, "", 0, "recipient is the sender", 0},
		{131026, ClassPermanent, "", 0, "message undeliverable to this recipient", 0},
		{131030, ClassPermanent, "", 0, "recipient not in the test number's list", 0},
		{131041, ClassPermanent, "", 0, "the group does not exist or we are not in it", 0},
		{131047, ClassPermanent, "", 0, "more than 24 hours since the customer's last message", 0},
		{131049, ClassPermanent, "", 0, "held back by the platform for the customer's experience; not before 24 hours", 0},
		{131050, ClassPermanent, "", 0, "recipient stopped marketing messages", 0},
		{131051, ClassPermanent, "", 0, "message type not supported", 0},
		{131052, ClassPermanent, "", 0, "a file sent by a customer could not be fetched", 0},
		{131055, ClassPermanent, "", 0, "method not allowed", 0},
		{131062, ClassPermanent, "", 0, "not possible for a recipient without a phone number", 0},
		{131063, ClassPermanent, "", 0, "recipient cannot be used", 0},
		{131207, ClassPermanent, "", 0, "the group is suspended", 0},
		{131212, ClassPermanent, "", 0, "not a participant of the group", 0},
		{130403, ClassPermanent, "", 0, "recipient is blocked by the business", 0},
		{130472, ClassPermanent, "", 0, "recipient is part of an experiment", 0},
		{130497, ClassPermanent, "", 0, "not allowed in the recipient's country", 0},
		{132000, ClassPermanent, "", 0, "template parameter count differs", 0},
		{132001, ClassPermanent, "", 0, "template does not exist", 0},
		{132005, ClassPermanent, "", 0, "template text too long", 0},
		{132007, ClassPermanent, "", 0, "template violates a policy", 0},
		{132012, ClassPermanent, "", 0, "template parameter format differs", 0},
		{132015, ClassPermanent, "", 0, "template is paused", 0},
		{132016, ClassPermanent, "", 0, "template is disabled", 0},
		{132068, ClassPermanent, "", 0, "flow is blocked", 0},
		{132069, ClassPermanent, "", 0, "flow is throttled", 0},
		{134100, ClassPermanent, "", 0, "only marketing templates are possible here", 0},
		{134102, ClassPermanent, "", 0, "template not available here", 0},
		{135000, ClassPermanent, "", 0, "request not accepted", 0},
		{137000, ClassPermanent, "", 0, "recipient's identity key changed", 0},

		{0, ClassCredential, account, 30 * time.Second, "access token not valid", 0},
		{190, ClassCredential, account, 30 * time.Second, "access token expired or not valid", 0},
		{3, ClassCredential, account, 30 * time.Second, "app lacks a capability", 0},
		{10, ClassCredential, account, 30 * time.Second, "permission missing", 0},
		{33, ClassCredential, account, 30 * time.Second, "phone number id does not exist or is not visible to the token", 0},
		{131005, ClassCredential, account, 30 * time.Second, "access denied", 0},
		{368, ClassPolicy, account, 30 * time.Second, "account restricted for a policy violation", 0},
		{131031, ClassPolicy, account, 30 * time.Second, "account locked", 0},
		{131042, ClassPolicy, account, 30 * time.Second, "payment of the account", 0},
		{131044, ClassPolicy, account, 30 * time.Second, "payment of the account", 0},
		{134011, ClassPolicy, account, 30 * time.Second, "payment terms not accepted", 0},
		{131045, ClassPolicy, account, 30 * time.Second, "phone number's certificate", 0},
		{133006, ClassPolicy, account, 30 * time.Second, "phone number not verified", 0},
		{133010, ClassPolicy, account, 30 * time.Second, "phone number not registered", 0},
		{133016, ClassPolicy, account, 30 * time.Second, "phone number's registration is locked for a time", 0},
		{131037, ClassPolicy, account, 30 * time.Second, "display name not approved", 0},
		{136024, ClassPolicy, account, 30 * time.Second, "display name of the phone number", 0},
	}
}

// shareOf is whom a code is about beyond the phone number. Throttles are counted, 4 and
// 613, by the app, 80007 by the WhatsApp Business Account. A token that ended is that
// of all numbers that use it; what it may not do, it may not do with any number of this
// WABA, and may with another one's. A restriction or a bill is the whole WABA's, and so
// are templates of a wrong category. Source: Meta, Graph API "Rate limits" and "Error
// handling", WhatsApp "Error codes".
func shareOf(code int) gateway.Share {
	switch code {
	case 4, 613, 0, 190:
		return gateway.ShareApp
	case 80007, 368, 131031, 131042, 131044, 134011, 131064:
		return gateway.ShareWABA
	case 3, 10, 131005:
		return gateway.ShareAccess
	}
	if code >= 200 && code <= 299 {
		return gateway.ShareAccess
	}
	return ""
}

// codeTable finds a code; codes 200 to 299 are all "permission missing".
type codeTable map[int]Code

func newCodeTable() codeTable {
	t := make(codeTable)
	for _, c := range Codes() {
		t[c.Code] = c
	}
	return t
}

func (t codeTable) find(code int) (Code, bool) {
	if c, ok := t[code]; ok {
		return c, true
	}
	if code >= 200 && code <= 299 {
		return Code{code, ClassCredential, gateway.ScopeAccount, 30 * time.Second, "permission missing", 0}, true
	}
	return Code{}, false
}
