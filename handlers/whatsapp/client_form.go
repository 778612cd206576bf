package whatsapp

import (
	"context"
	"strings"
	"sync"

	"github.com/causewayhq/causeway/gateway"
)

// Three countries have two forms of a mobile number in use, and Meta's list of
// recipients of a test number compares digits: a customer whose messages come from
// one form may be listed under the other, and is refused with 131030. Argentina puts
// a 9 behind 54, Mexico put a 1 behind 52, Brazil puts a 9 behind the two digits of
// the area; which one an account has depends on when it was made. Source: "Specifics
// of sending messages to numbers of different countries" (green-api.com, whapi.cloud)
// and "Phone Numbers: Argentina" (waha.devlike.pro), read in November 2026; for
// 131030 kevinrivm/vocero-crm #35, for the others nyaruka/courier #433 and chatwoot
// #14048.
//
// This is about the address of a call and nothing else: no identity is made of it.

// codeNotListed certainly says that the message was not taken.
const codeNotListed = "131030"

// otherForm is the other form of a mobile number of those countries, in digits; ""
// for every other text, and for a landline of Brazil.
func otherForm(number string) string {
	if !isNumber(number) {
		return ""
	}
	n := len(number)
	switch {
	case strings.HasPrefix(number, "549") && n == 13:
		return "54" + number[3:]
	case strings.HasPrefix(number, "54") && n == 12:
		return "549" + number[2:]
	case strings.HasPrefix(number, "521") && n == 13:
		return "52" + number[3:]
	case strings.HasPrefix(number, "52") && n == 12:
		return "521" + number[2:]
	case strings.HasPrefix(number, "55") && n == 13 && number[4] == '9':
		return number[:4] + number[5:]
	case strings.HasPrefix(number, "55") && n == 12 && number[4] >= '6':
		return number[:4] + "9" + number[4:]
	}
	return ""
}

// forms remembers numbers that were taken under their other form only, while the
// process lives. Meta lists five recipients of a test number, so these are few.
type forms struct {
	mu    sync.Mutex
	other map[string]struct{}
}

const formsKept = 1000

func (f *forms) has(number string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.other[number]
	return ok
}

func (f *forms) set(number string, other bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !other:
		delete(f.other, number)
		return
	case f.other == nil || len(f.other) >= formsKept:
		f.other = make(map[string]struct{})
	}
	f.other[number] = struct{}{}
}

// sendInForm makes the call, and when the recipient is not in the list, one more
// with the other form of the number; the marker is the same. The second answer
// counts unless it is the same refusal.
func (c *Client) sendInForm(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	to, _ := recipient(out.Message.To)
	other := ""
	if to.Kind == "phone" {
		other = otherForm(to.Value)
	}
	if other == "" {
		return c.call(ctx, out, "")
	}
	first, second, turned := "", other, c.forms.has(to.Value)
	if turned {
		first, second = other, ""
	}
	o := c.call(ctx, out, first)
	if o.Kind != gateway.OutcomeRejected || o.Code != codeNotListed {
		return o
	}
	again := c.call(ctx, out, second)
	switch {
	case again.Kind == gateway.OutcomeAccepted:
		c.forms.set(to.Value, !turned)
	case again.Code == codeNotListed:
		return o
	}
	return again
}
