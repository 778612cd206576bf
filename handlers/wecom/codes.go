package wecom

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// CodeClass says what an errcode means for a message of ours that was answered
// with it. Every errcode but 0 says that the message was not taken.
type CodeClass string

// The classes. Source: WeCom, "global error codes" (90455), sorted by what a
// sender can do about each.
const (
	ClassBusy  CodeClass = "busy"  // a fault of the moment: again, this conversation only, bounded
	ClassRate  CodeClass = "rate"  // too fast: the account waits
	ClassToken CodeClass = "token" // the access token is used up: one refresh, one more try
	// Nothing of the account goes before a person acts: on secret, permission or address,
	// or on what WeCom has closed.
	ClassCredential CodeClass = "credential"
	ClassPolicy     CodeClass = "policy"
	ClassNotNow     CodeClass = "not_now"   // the platform's rules do not allow it now; not tried again
	ClassPermanent  CodeClass = "permanent" // this message never goes
)

// blame is what an account is refused for with a code of the class.
func (c CodeClass) blame() gateway.Blame {
	switch c {
	case ClassRate:
		return gateway.BlamePace
	case ClassToken, ClassCredential:
		return gateway.BlameCredential
	case ClassPolicy:
		return gateway.BlamePolicy
	case ClassBusy, ClassNotNow, ClassPermanent:
	}
	return ""
}

// stops says whether nothing of the account goes before a person acts.
func (c CodeClass) stops() bool { return c == ClassCredential || c == ClassPolicy }

// Code is one row of the table.
type Code struct {
	Code  int
	Class CodeClass
	// Wait is the first wait, which grows while refusals go on.
	Wait time.Duration
	// Tries bounds class busy: at this try (gateway.Message.Tries) and later the
	// message is rejected. 0 is as often as configured (gateway.Retry).
	Tries   int
	Meaning string
}

// Codes is the table of the codes that the calls of a sender can answer with:
// gettoken, message/send, message/update_template_card, message/recall,
// media/upload, externalcontact/send_welcome_msg, and of customer service
// kf/sync_msg, kf/send_msg, kf/send_msg_on_event,
// kf/service_state/trans and kf/account/list. Decide by
// errcode only; errmsg changes. A code that is not in it is tried once more, then the message is rejected with the code "other". Which
// code a used or expired response_code is answered with is not documented; by
// this rule it is rejected at last.
func Codes() []Code {
	return []Code{
		{-1, ClassBusy, time.Second, 3, "system busy"},
		{6000, ClassBusy, time.Second, 0, "data changed by somebody else at the same time"},
		{41063, ClassBusy, time.Second, 0, "not possible at this moment"},

		// The block lasts as long as the window: 60 s, 60 min or the day. It is of a corp and
		// an API, so of all its accounts of a kind; a group's webhook, which is of no corp
		// here, is refused for itself alone.
		{45009, ClassRate, time.Minute, 0, "call frequency of the corporation reached"},
		{45011, ClassRate, time.Minute, 0, "call frequency reached"},
		{45033, ClassRate, time.Second, 0, "too many calls at once"},

		{40001, ClassToken, 0, 0, "access token or secret not valid"},
		{40014, ClassToken, 0, 0, "access token not valid"},
		{41001, ClassToken, 0, 0, "access token missing"},
		{42001, ClassToken, 0, 0, "access token expired"},
		{42009, ClassCredential, 0, 0, "suite token expired"},
		{40082, ClassCredential, 0, 0, "suite token not valid"},

		{40013, ClassCredential, 0, 0, "corporation id not valid"},
		{40091, ClassCredential, 0, 0, "secret not valid"},
		{45031, ClassPolicy, 0, 0, "app cannot be used"},
		{48001, ClassCredential, 0, 0, "API not granted"},
		{48002, ClassCredential, 0, 0, "API forbidden"},
		{48004, ClassPolicy, 0, 0, "API blocked for its past use"},
		{48006, ClassPolicy, 0, 0, "API closed"},
		{50003, ClassPolicy, 0, 0, "app disabled"},
		{60011, ClassCredential, 0, 0, "no permission for the member or department"},
		{codeAddress, ClassCredential, 0, 0, "source address not in the app's list"},
		{301002, ClassCredential, 0, 0, "no permission for this app"},
		{301007, ClassPolicy, 0, 0, "corporation disabled"},
		{93004, ClassPolicy, 0, 0, "robot disabled"},
		{301052, ClassPolicy, 0, 0, "archive expired"},
		{301053, ClassPolicy, 0, 0, "archive not opened"},
		{95011, ClassCredential, 0, 0, "customer service account not granted"},
		{95012, ClassCredential, 0, 0, "customer service account not granted"},
		{95017, ClassPolicy, 0, 0, "customer service function closed"},

		{codeMsgToken, ClassNotNow, 0, 0, "token of the callback not valid, or its ten minutes are over"},
		{95010, ClassPolicy, 0, 0, "the corporation does not use customer service"},
		{95001, ClassNotNow, 0, 0, "five messages since the customer's last one"},
		{95002, ClassNotNow, 0, 0, "more than 48 hours since the customer's last message"},
		{95013, ClassNotNow, 0, 0, "session has ended"},
		{95014, ClassNotNow, 0, 0, "the member does not serve this account, or is not on duty"},
		{95016, ClassNotNow, 0, 0, "not possible in this session state"},
		{95018, ClassNotNow, 0, 0, "session is with a colleague"},
		{95019, ClassNotNow, 0, 0, "not possible in this session state"},
		{41050, ClassNotNow, 0, 0, "welcome code expired"},
		{41051, ClassNotNow, 0, 0, "welcome already sent, or the customer has begun to write"},
		{41096, ClassNotNow, 0, 0, "another welcome is being sent by this code"},

		{40003, ClassPermanent, 0, 0, "userid not valid"},
		{40004, ClassPermanent, 0, 0, "type of the media file not valid"},
		{40005, ClassPermanent, 0, 0, "type of the upload not valid"},
		{40006, ClassPermanent, 0, 0, "size of the media file not valid"},
		{40007, ClassPermanent, 0, 0, "media id not valid, or its three days are over"},
		{40008, ClassPermanent, 0, 0, "message type not valid"},
		{40009, ClassPermanent, 0, 0, "size of the picture not valid"},
		{40011, ClassPermanent, 0, 0, "size of the video not valid"},
		{40031, ClassPermanent, 0, 0, "recipient list not valid"},
		{40033, ClassPermanent, 0, 0, "body not valid"},
		{40035, ClassPermanent, 0, 0, "parameter not valid"},
		{40056, ClassPermanent, 0, 0, "agent id not valid"},
		{40058, ClassPermanent, 0, 0, "parameter not valid"},
		{40063, ClassPermanent, 0, 0, "parameter is empty"},
		{40096, ClassPermanent, 0, 0, "external userid not valid"},
		{41005, ClassPermanent, 0, 0, "media file is missing"},
		{41006, ClassPermanent, 0, 0, "media id is missing"},
		{44001, ClassPermanent, 0, 0, "media file is empty"},
		{44004, ClassPermanent, 0, 0, "text is empty"},
		{45001, ClassPermanent, 0, 0, "media file too large"},
		{45002, ClassPermanent, 0, 0, "text too long"},
		{45004, ClassPermanent, 0, 0, "description too long"},
		{45007, ClassPermanent, 0, 0, "voice message too long"},
		{45008, ClassPermanent, 0, 0, "too many articles"},
		{47001, ClassPermanent, 0, 0, "body is not JSON"},
		{46004, ClassPermanent, 0, 0, "member does not exist"},
		{60111, ClassPermanent, 0, 0, "userid does not exist"},
		{81013, ClassPermanent, 0, 0, "no recipient is valid"},
		{82001, ClassPermanent, 0, 0, "no recipient is given"},
		{82004, ClassPermanent, 0, 0, "recipient not valid"},
		{84061, ClassPermanent, 0, 0, "member and customer are not connected"},
		{86001, ClassPermanent, 0, 0, "chat id not valid"},
		{86003, ClassPermanent, 0, 0, "chat does not exist"},
		{86008, ClassPermanent, 0, 0, "not a member of the chat"},
		{86216, ClassPermanent, 0, 0, "chat cannot be used"},
		{86217, ClassPermanent, 0, 0, "chat cannot be used"},
		{93000, ClassPermanent, 0, 0, "robot was removed or its key is not valid"},
		{93008, ClassPermanent, 0, 0, "robot is not in the group"},
		{95000, ClassPermanent, 0, 0, "customer service account not valid"},
		{95003, ClassNotNow, 0, 0, "as many customers as the corporation may serve"},
		{95004, ClassPermanent, 0, 0, "customer service account not valid"},
		{95008, ClassPermanent, 0, 0, "too many items in the menu"},
		{95009, ClassPermanent, 0, 0, "type of an item of the menu not valid"},
	}
}

// codeAddress: the call came from an address that the app does not trust.
const codeAddress = 60020

// codeOther stands for a code outside the table.
const codeOther = "other"

// unknownTries is at which try a code outside the table is given up.
const unknownTries = 2

func newCodeTable() map[int]Code {
	t := make(map[int]Code)
	for _, c := range Codes() {
		t[c.Code] = c
	}
	return t
}

// busyWait is the wait of one conversation after n tries: 1 s, 2 s, 4 s ...,
// at most a minute.
func busyWait(first time.Duration, tries int) time.Duration {
	return min(first<<min(max(tries-1, 0), 10), time.Minute)
}

// reject makes the outcome of a message that never goes.
func reject(code, detail string) gateway.Outcome {
	return gateway.Outcome{Kind: gateway.OutcomeRejected, Code: code, Detail: detail}
}
