package whatsapp

import (
	"github.com/causewayhq/causeway/gateway"
)

// message reads one element of value.messages: something a customer did. What
// a bot can answer is a message, what it says of an earlier one is a change, new
// ids of the customer are state, and all other types, known or not, are notices
// with their raw part. All are in the same conversation, so that they keep their
// place in its order. Source: Meta, webhooks reference, "messages".
func (s scope) message(_ int, v value) gateway.Item {
	o := v.object()
	it := s.begin(gateway.KindNotice, "m:", o)
	if it.Content.Type == "system" {
		s.system(&it, o)
	} else {
		who := s.contacts.person(names{o.text("from_user_id"), o.text("from_parent_user_id"), o.text("from")})
		if own := ownNumber(o); own != "" {
			all := identities{phones: who.Identities}
			all.add(own)
			who.Identities = all.phones
		}
		if len(who.Identities) > 0 || who.Name != "" || who.Username != "" {
			it.Content.From = who
		}
		if len(who.Identities) > 0 {
			it.Chat = singleChat(who.Identities)
		}
	}
	if group := o.text("group_id"); group != "" && len(group) <= maxIDBytes {
		it.Chat = groupChat(group)
	}
	if why := fault(v, &it, "message"); why != "" {
		return s.spoil(it, v, why)
	}
	if it.Chat.Kind == gateway.ChatAccount {
		return s.spoil(it, v, "message without sender")
	}
	kind, why := fillContent(&it.Content, o)
	if why != "" {
		return s.spoil(it, v, why)
	}
	if it.Content.Identity != nil {
		kind = gateway.KindState
	}
	it.Kind = kind
	it.Content.Raw = v.raw()
	return it
}

// begin makes an item of an element that has an id, a time and a type.
func (s scope) begin(kind gateway.Kind, class string, o object) gateway.Item {
	id := o.text("id")
	it := s.item(kind, class+id)
	it.OccurredAt = o.get("timestamp").time()
	it.Content.ID = bounded(id)
	it.Content.Type = typeOf(o.text("type"))
	return it
}

// typeOf is a type as published; "unknown" where none is given.
func typeOf(s string) string {
	if s == "" {
		return "unknown"
	}
	return clip(s)
}

// fault says what makes an element unreadable as a whole.
func fault(v value, it *gateway.Item, what string) string {
	switch {
	case !v.isObject():
		return what + " is no object"
	case v.depth() > maxDepth:
		return "nested too deep"
	case it.Content.ID != "":
		return ""
	case v.object().text("id") == "":
		return what + " without id"
	default:
		return what + " with an id that is too long"
	}
}

// spoil turns an item into a dead one, keeping what is known of it.
func (s scope) spoil(it gateway.Item, v value, why string) gateway.Item {
	it.Err = badItem + why
	if it.Content.ID == "" {
		it.Key = s.prefix + hashOf(v)
	}
	if !v.isObject() {
		it.Content.Type = "broken"
	}
	if v.depth() <= maxDepth {
		it.Content.Raw = v.raw()
	}
	return it
}

// ownNumber is the phone number that a customer sent when we asked for it by a
// contact-request button: the platform filled it in, so it names the customer
// like their "from". A card that they chose themselves names anybody.
func ownNumber(o object) string {
	if o.text("type") != "contacts" {
		return ""
	}
	cards := o.get("contacts").elements()
	if len(cards) != 1 || cards[0].object().text("origin") != contactRequest {
		return ""
	}
	phones := cards[0].object().get("phones").elements()
	if len(phones) != 1 {
		return ""
	}
	id := phones[0].object().text("wa_id")
	if !isNumber(id) {
		return ""
	}
	return id
}
