package whatsapp

import (
	"github.com/causewayhq/causeway/gateway"
)

// status reads one element of value.statuses: what became of a message sent by
// us or by another app on the same number. States nobody knows are kept as they
// came. Groups get one receipt per participant, with the same id and state, so
// the participant is part of the key; Meta's samples spell that field in two
// ways. Source: Meta, "Status messages webhook" and "Groups".
func (s scope) status(i int, v value) gateway.Item {
	o := v.object()
	if o.text("type") == "call" { // belongs under "calls"; says nothing of a message
		return s.callStatus(i, v)
	}
	state := o.text("status")
	participant := names{
		user:   firstText(o, "recipient_participant_user_id", "participant_recipient_user_id"),
		parent: firstText(o, "recipient_participant_parent_user_id", "participant_recipient_parent_user_id"),
		phone:  firstText(o, "recipient_participant_id", "participant_recipient_id"),
	}
	inKey := participant.phone
	if inKey == "" {
		inKey = participant.user
	}
	it := s.begin(gateway.KindStatus, "s:", o)
	it.Key += ":" + state + ":" + inKey
	it.Content.Type = "status"
	it.Content.Status = &gateway.Status{
		MessageID: it.Content.ID,
		State:     gateway.StatusState(clip(state)),
		Marker:    marker(o),
		Errors:    problems(o.get("errors")),
	}
	if p := s.contacts.person(participant); len(p.Identities) > 0 {
		it.Content.Status.Participant = &p.Identities[0]
	}
	s.recipient(&it, o)
	why := fault(v, &it, "status")
	if why == "" && state == "" {
		why = "status without state"
	}
	if why != "" {
		return s.spoil(it, v, why)
	}
	it.Content.Raw = v.raw()
	return it
}

// recipient puts a receipt into the conversation of whom the message went to. A
// failed one to a number names neither contact nor user id; one that names nobody
// stays with the account.
func (s scope) recipient(it *gateway.Item, o object) {
	to := o.text("recipient_id")
	if o.text("recipient_type") == "group" || it.Content.Status != nil && it.Content.Status.Participant != nil {
		if to != "" && len(to) <= maxIDBytes {
			it.Chat = groupChat(to)
		}
		return
	}
	p := s.contacts.person(names{
		user: o.text("recipient_user_id"),
		// Until 5 May 2026 Meta wrote the second form.
		parent: firstText(o, "recipient_parent_user_id", "parent_recipient_user_id"),
		phone:  to,
	})
	if len(p.Identities) > 0 {
		it.Chat = singleChat(p.Identities)
	}
}

// maxMarker is what Meta takes and plays back; a longer one is none.
const maxMarker = 512

func marker(o object) string {
	m := o.text("biz_opaque_callback_data")
	if len(m) > maxMarker {
		return ""
	}
	return m
}
