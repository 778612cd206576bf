package whatsapp

import (
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// call reads one element of value.calls: a call begins or ends. Each step of a
// call is an event of its own, in the customer's conversation; the session's
// description is in the raw part. Source: Meta, "Calling API", and test data of
// pywa.
func (s scope) call(i int, v value) gateway.Item {
	o := v.object()
	it := s.callStep(i, v, "calls", o.text("event"))
	if it.Content.Call == nil {
		return it
	}
	from := s.contacts.person(names{o.text("from_user_id"), o.text("from_parent_user_id"), o.text("from")})
	to := s.contacts.person(names{o.text("to_user_id"), o.text("to_parent_user_id"), o.text("to")})
	// Where it does not say who called, the customer is who is not us.
	ours := s.number != "" && digits(o.text("from")) == s.number
	customer := from
	if it.Content.Call.Direction == "business_initiated" || it.Content.Call.Direction == "" && ours {
		customer = to
	}
	if len(customer.Identities) == 0 {
		if one, ok := s.contacts.only(); ok {
			customer = one
		}
	}
	if len(customer.Identities) > 0 {
		it.Chat = singleChat(customer.Identities)
		if customer != to {
			it.Content.From = customer
		}
	}
	return it
}

// callStatus reads one element of value.statuses under calls: RINGING,
// ACCEPTED, REJECTED. It must never be taken for what became of a message.
func (s scope) callStatus(i int, v value) gateway.Item {
	it := s.callStep(i, v, "statuses", v.object().text("status"))
	s.recipient(&it, v.object())
	return it
}

// callStep makes the notice of one step. What has no id or step has a key over
// the whole value, like other notices.
func (s scope) callStep(i int, v value, list, step string) gateway.Item {
	it := s.partNotice(list, i, v)
	it.Content.Type = "call"
	o := v.object()
	id := bounded(o.text("id"))
	if it.Err != "" || id == "" || step == "" {
		return it
	}
	it.Key = s.prefix + "c:" + id + ":" + step
	it.OccurredAt = o.get("timestamp").time()
	it.Content.Call = &gateway.Call{
		ID:        id,
		Event:     clip(strings.ToLower(step)),
		Direction: clip(strings.ToLower(o.text("direction"))),
		Seconds:   max(0, o.get("duration").number()),
		Marker:    marker(o),
	}
	if list == "calls" {
		it.Content.Call.Status = clip(strings.ToLower(o.text("status")))
	}
	return it
}
