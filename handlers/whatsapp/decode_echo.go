package whatsapp

import (
	"github.com/causewayhq/causeway/gateway"
)

// echo reads one element of value.message_echoes: what a colleague wrote by
// hand in the WhatsApp Business app. It carries no marker. Its "from" is our own
// number, the conversation is that of the recipient. Colleagues also react, edit
// and revoke: those are echoes with a target. Source: Meta,
// "smb_message_echoes"; a field "message_echoes" is in Meta's subscription list
// without a page of its own, and is read alike.
func (s scope) echo(_ int, v value) gateway.Item {
	o := v.object()
	it := s.begin(gateway.KindEcho, "e:", o)
	s.sentTo(&it, o, names{o.text("to_user_id"), o.text("to_parent_user_id"), o.text("to")})
	return s.echoOf(it, v, o)
}

// standbyEcho reads an echo of what the owner of a thread sent: the body of its
// send call lies inside. Source: Meta, "standby", by way of meta-whatsapp-rs.
func (s scope) standbyEcho(i int, v value) gateway.Item {
	o := v.object()
	body := o.get("message")
	if !body.isObject() {
		return s.echo(i, v) // shaped like other echoes
	}
	sent := body.object()
	it := s.begin(gateway.KindEcho, "e:", o)
	it.Content.Type = typeOf(sent.text("type"))
	if sent.text("type") == "" && sent.get("text").isObject() {
		it.Content.Type = "text" // the send call's default
	}
	s.sentTo(&it, sent, names{user: sent.text("recipient"), phone: sent.text("to")})
	it.Content.Echo.Marker = marker(sent)
	it = s.echoOf(it, v, sent)
	if sent.text("type") == "interactive" { // asked, where a callback's would be the answer
		it.Content.Type = "interactive"
		it.Content.Text = sent.object("interactive").object("body").text("text")
	}
	return it
}

// sentTo puts an echo into the conversation of its recipient.
func (s scope) sentTo(it *gateway.Item, o object, to names) {
	group := o.text("group_id")
	if group == "" && o.text("recipient_type") == "group" {
		group = o.text("to")
	}
	if group != "" && len(group) <= maxIDBytes {
		it.Chat = groupChat(group)
	} else if p := s.contacts.person(to); len(p.Identities) > 0 {
		it.Chat = singleChat(p.Identities)
	}
	it.Content.Echo = &gateway.Echo{MessageID: it.Content.ID}
	if it.Chat.Kind != gateway.ChatAccount {
		it.Content.Echo.To = it.Chat.Identities
	}
}

// echoOf finishes an echo whose content is in o.
func (s scope) echoOf(it gateway.Item, v value, o object) gateway.Item {
	why := fault(v, &it, "echo")
	if why == "" && it.Chat.Kind == gateway.ChatAccount {
		why = "echo without recipient"
	}
	if why != "" {
		return s.spoil(it, v, why)
	}
	// What was written matters less than that it was written: an echo whose
	// own part cannot be read is an echo all the same.
	_, _ = fillContent(&it.Content, o)
	if it.Content.QuotedID == "" {
		it.Content.QuotedID = bounded(o.object("context").text("message_id")) // a send call's
	}
	it.Content.Raw = v.raw()
	return it
}
