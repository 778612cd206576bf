package whatsapp

import (
	"github.com/causewayhq/causeway/gateway"
)

// status reads one element of value.statuses: what became of a message sent by
// us or by another app on the same number. States nobody knows are kept as they
// came. Groups get one receipt per participant, with the same id and state, so
// the participant is part of the key. Source: Meta, "Status messages webhook".
func (s scope) status(i int, v value) gateway.Item {
	o := v.object()
	if o.text("type") == "call" { // belongs under "calls"; says nothing of a message
		return s.partNotice("statuses", i, v)
	}
	id, state := o.text("id"), o.text("status")
	participant := firstText(o, "recipient_participant_id", "participant_recipient_id")
	participantUser := o.text("recipient_participant_user_id")
	inKey := participant
	if inKey == "" {
		inKey = participantUser
	}
	it := s.item(gateway.KindStatus, "s:"+id+":"+state+":"+inKey)
	it.OccurredAt = o.get("timestamp").time()
	it.Content.Type = "status"
	it.Content.ID = id
	it.Content.Status = &gateway.Status{
		MessageID: id,
		State:     gateway.StatusState(state),
		Marker:    o.text("biz_opaque_callback_data"),
		Errors:    problems(o.get("errors")),
	}
	if p := s.contacts.person(participantUser, participant); len(p.Identities) > 0 {
		it.Content.Status.Participant = &p.Identities[0]
	}
	to := o.text("recipient_id")
	switch {
	case o.text("recipient_type") == "group" || it.Content.Status.Participant != nil:
		if to != "" && len(to) <= maxIDBytes {
			it.Chat = groupChat(to)
		}
	default:
		if p := s.contacts.person(o.text("recipient_user_id"), to); len(p.Identities) > 0 {
			it.Chat = singleChat(p.Identities)
		}
	}
	switch {
	case !v.isObject():
		return spoil(it, v, "", "status is no object")
	case id == "":
		return spoil(it, v, "", "status without id")
	case state == "":
		return spoil(it, v, "", "status without state")
	case v.depth() > maxDepth:
		return spoil(it, v, id, "nested too deep")
	}
	it.Content.Raw = v.raw()
	return it
}

// echo reads one element of value.message_echoes: what a colleague wrote by
// hand in the WhatsApp Business app. It carries no marker. Its "from" is our own
// number, the conversation is that of the recipient. Source: Meta,
// "smb_message_echoes".
func (s scope) echo(_ int, v value) gateway.Item {
	o := v.object()
	id := o.text("id")
	it := s.item(gateway.KindEcho, "e:"+id)
	it.OccurredAt = o.get("timestamp").time()
	it.Content.ID = id
	it.Content.Type = o.text("type")
	group := o.text("group_id")
	if group == "" && o.text("recipient_type") == "group" {
		group = o.text("to")
	}
	if group != "" && len(group) <= maxIDBytes {
		it.Chat = groupChat(group)
	} else if p := s.contacts.person(o.text("to_user_id"), o.text("to")); len(p.Identities) > 0 {
		it.Chat = singleChat(p.Identities)
	}
	it.Content.Echo = &gateway.Echo{MessageID: id}
	if it.Chat.Kind != gateway.ChatAccount {
		it.Content.Echo.To = it.Chat.Identities
	}
	switch {
	case !v.isObject():
		return spoil(it, v, "", "echo is no object")
	case id == "":
		return spoil(it, v, "", "echo without id")
	case v.depth() > maxDepth:
		return spoil(it, v, id, "nested too deep")
	case it.Chat.Kind == gateway.ChatAccount:
		return spoil(it, v, id, "echo without recipient")
	}
	if it.Content.Type == "" {
		it.Content.Type = "unknown"
	}
	it.Content.Raw = v.raw()
	it.Content.QuotedID = o.object("context").text("id")
	// What was written matters less than that it was written: an echo whose
	// own part cannot be read is an echo all the same.
	_, _ = fillContent(&it.Content, o)
	return it
}

// problems reads a list of errors. The detail is the most telling text given.
func problems(v value) []gateway.Problem {
	var list []gateway.Problem
	for _, e := range v.elements() {
		o := e.object()
		p := gateway.Problem{
			Code:   int(o.get("code").number()),
			Title:  o.text("title"),
			Detail: o.object("error_data").text("details"),
		}
		if p.Detail == "" {
			p.Detail = o.text("message")
		}
		list = append(list, p)
	}
	return list
}

func firstText(o object, names ...string) string {
	for _, n := range names {
		if t := o.text(n); t != "" {
			return t
		}
	}
	return ""
}
