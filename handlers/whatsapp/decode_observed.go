package whatsapp

import (
	"github.com/causewayhq/causeway/gateway"
)

// The items of this file are recorded and never offered: what was written
// before a number was connected, and what another application answers. Their keys
// have a prefix of their own, so that none of them can be taken for, or swallow,
// the message itself.

// standby reads the copies that an application gets while another one has the
// conversation. They lie one level deeper than everywhere else. Source: Meta,
// "standby", by way of meta-whatsapp-rs (pages of August to November 2026).
func (d *decoder) standby(s scope) {
	s.observed, s.prefix = gateway.ObservedStandby, "sb:"
	inner := s.value.object().get("standby")
	if !inner.isObject() {
		d.add(s.changeNotice())
		return
	}
	if people := inner.object().get("contacts"); !people.isNull() {
		s.contacts = newContacts(people)
	} else {
		s.contacts = newContacts(s.value.object().get("contacts"))
	}
	d.members(s, inner.object())
}

// history reads a chunk of old messages: value.history[].threads[].messages[].
// Media that were placeholders in a chunk follow as value.messages or
// value.message_echoes under the same field; they are facts of their own, since
// the placeholder has the same id. A refusal to share the history is news of
// today about the account. Source: Meta, "history" and "Onboarding business app
// users".
func (d *decoder) history(s scope) {
	s.contacts = newContacts(s.value.object().get("contacts"))
	past := s
	past.observed, past.prefix = gateway.ObservedHistory, "hi:"
	before := len(d.items)
	for i, v := range s.value.object().get("history").elements() {
		if d.full() {
			return
		}
		o := v.object()
		switch {
		case !v.isObject():
			d.add(past.broken(v, "chunk is no object"))
		case len(o.get("errors").elements()) > 0:
			d.add(s.partNotice("history", i, v))
		}
		for _, t := range o.get("threads").elements() {
			if d.full() {
				return
			}
			d.thread(past, t)
		}
	}
	follow := past
	follow.prefix = "hi:f:"
	for _, m := range s.value.object() {
		switch {
		case m.name == "history", !m.val.isArray(), m.name == "contacts":
			continue
		case m.name == "errors":
			d.each(m, s.valueError)
		case m.name == "messages", m.name == "message_echoes":
			d.each(m, func(_ int, v value) gateway.Item { return follow.pastMessage(v, &gateway.Party{}) })
		default:
			d.each(m, func(i int, v value) gateway.Item { return past.partNotice(m.name, i, v) })
		}
	}
	if len(d.items) == before {
		d.add(past.changeNotice()) // progress, or a form of next year
	}
}

// thread reads the old messages with one customer. Who that is says its context
// or, in older callbacks, its id alone, a phone number.
func (d *decoder) thread(s scope, v value) {
	o := v.object()
	list := o.get("messages")
	if !v.isObject() || !list.isArray() && !list.isNull() {
		d.add(s.broken(v, "thread without a list of messages"))
		return
	}
	about := o.object("context")
	who := names{about.text("user_id"), about.text("parent_user_id"), firstText(about, "wa_id")}
	var ids identities
	ids.addUserID(who.user, who.parent)
	ids.add(who.phone)
	if id := o.text("id"); isNumber(id) || bsuidShape.MatchString(id) || len(ids.list()) == 0 {
		ids.add(id)
	}
	customer := s.contacts.person(who)
	for _, id := range customer.Identities {
		if id.Kind == "bsuid" {
			ids.bsuids = addOnce(ids.bsuids, id)
		} else {
			ids.phones = addOnce(ids.phones, id)
		}
	}
	customer.Identities = ids.list()
	if u := handle(about.text("username")); u != "" {
		customer.Username = u
	}
	for _, m := range list.elements() {
		if d.full() {
			return
		}
		d.add(s.pastMessage(m, customer))
	}
}

// pastMessage reads one old message. It is ours when its "from" is our number or
// it names a recipient, and never by its user id: Meta's own sample puts the
// customer's there. An old message of ours is an echo of the past.
func (s scope) pastMessage(v value, customer *gateway.Party) gateway.Item {
	o := v.object()
	from, to := o.text("from"), o.text("to")
	ours := s.number != "" && digits(from) == s.number
	toUs := s.number != "" && digits(to) == s.number
	other := names{o.text("from_user_id"), o.text("from_parent_user_id"), from}
	if ours || to != "" && !toUs || o.text("to_user_id") != "" {
		return s.pastEcho(v, o, customer)
	}
	it := s.begin(gateway.KindNotice, "m:", o)
	who := s.merged(customer, other)
	if len(who.Identities) > 0 {
		it.Content.From, it.Chat = who, singleChat(who.Identities)
	}
	if group := o.text("group_id"); group != "" && len(group) <= maxIDBytes {
		it.Chat = groupChat(group)
	}
	why := fault(v, &it, "message")
	if why == "" && it.Chat.Kind == gateway.ChatAccount {
		why = "message without sender"
	}
	if why != "" {
		return s.spoil(it, v, why)
	}
	kind, why := fillContent(&it.Content, o)
	if why != "" {
		return s.spoil(it, v, why)
	}
	it.Kind = kind
	it.Content.Raw = v.raw()
	return it
}

func (s scope) pastEcho(v value, o object, customer *gateway.Party) gateway.Item {
	it := s.begin(gateway.KindEcho, "e:", o)
	s.sentTo(&it, o, names{})
	if it.Chat.Kind != gateway.ChatGroup {
		who := s.merged(customer, names{o.text("to_user_id"), o.text("to_parent_user_id"), o.text("to")})
		if len(who.Identities) > 0 {
			it.Chat = singleChat(who.Identities)
			it.Content.Echo.To = who.Identities
		}
	}
	return s.echoOf(it, v, o)
}

// merged is the customer of a thread with what one of its messages says of
// them.
func (s scope) merged(customer *gateway.Party, more names) *gateway.Party {
	also := s.contacts.person(more)
	p := &gateway.Party{Name: customer.Name, Username: customer.Username}
	if p.Name == "" {
		p.Name = also.Name
	}
	if p.Username == "" {
		p.Username = also.Username
	}
	p.Identities = append(p.Identities, customer.Identities...)
	for _, id := range also.Identities {
		p.Identities = addOnce(p.Identities, id)
	}
	return p
}
