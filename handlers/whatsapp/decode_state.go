package whatsapp

import (
	"github.com/causewayhq/causeway/gateway"
)

// isState says whether a field without items of its own tells how an account, a
// number or a conversation is from now on. Alerts, templates, flows and security
// notes tell that something happened.
func isState(field string) bool {
	switch field {
	case "account_update", "account_review_update", "account_settings_update", "business_capability_update",
		"business_username_update", "business_username_updates", "messaging_handovers",
		"phone_number_name_update", "phone_number_quality_update":
		return true
	}
	return false
}

// preference reads one element of value.user_preferences: a customer does or
// does not want marketing. Source: Meta, "user_preferences".
func (s scope) preference(i int, v value) gateway.Item {
	o := v.object()
	it := s.partNotice("user_preferences", i, v)
	if it.Err != "" {
		return it
	}
	it.Kind = gateway.KindState
	p := s.contacts.person(names{o.text("user_id"), o.text("parent_user_id"), o.text("wa_id")})
	if len(p.Identities) > 0 {
		it.Chat, it.Content.From = singleChat(p.Identities), p
	}
	return it
}

// stateSync reads one element of value.state_sync: an entry of the address book
// of the WhatsApp Business app was added, changed or removed. The card is ours of
// the customer, so it does not say who wrote. Source: Meta, "smb_app_state_sync".
func (s scope) stateSync(i int, v value) gateway.Item {
	o := v.object()
	it := s.partNotice("state_sync", i, v)
	if it.Err != "" {
		return it
	}
	c := o.object("contact")
	if o.text("type") != "contact" || c == nil {
		return it
	}
	it.Kind = gateway.KindState
	it.Content.Type = "contact"
	if a := o.text("action"); a != "" {
		it.Content.Type += "_" + clip(a) // contact_add, contact_remove
	}
	if it.OccurredAt.IsZero() {
		it.OccurredAt = o.object("metadata").get("timestamp").time()
	}
	phone := firstText(c, "phone_number", "wa_id")
	entry := gateway.ContactCard{Name: clip(firstText(c, "full_name", "first_name"))}
	if phone != "" {
		entry.Phones = []string{clip(phone)}
	}
	it.Content.Contacts = []gateway.ContactCard{entry}
	if p := s.contacts.person(names{c.text("user_id"), c.text("parent_user_id"), phone}); len(p.Identities) > 0 {
		it.Chat = singleChat(p.Identities)
	}
	return it
}

// group reads one element of value.groups: a group was made or closed, somebody
// joined or left, its settings changed, it was suspended. Source: Meta, "Groups".
func (s scope) group(i int, v value) gateway.Item {
	o := v.object()
	it := s.partNotice("groups", i, v)
	if it.Err != "" {
		return it
	}
	it.Content.Type = typeOf(firstText(o, "type"))
	if it.Content.Type == "unknown" {
		it.Content.Type = typeOf(s.field)
	}
	id := o.text("group_id")
	if id == "" || len(id) > maxIDBytes {
		return it // making it failed: a notice of the account
	}
	it.Kind = gateway.KindState
	it.Chat = groupChat(id)
	return it
}

// userAction makes a notice of one element of value.user_actions. The element
// names nobody; when exactly one contact came along it is theirs.
func (s scope) userAction(i int, v value) gateway.Item {
	it := s.partNotice("user_actions", i, v)
	if t := v.object().text("action_type"); t != "" && it.Err == "" {
		it.Content.Type = clip(t)
	}
	return s.ofOnly(it)
}

// automaticEvent makes a notice of one element of value.automatic_events: what
// Meta takes a conversation for (a lead, a purchase). Its id is that of a message
// of the customer, whom it does not name.
func (s scope) automaticEvent(i int, v value) gateway.Item {
	it := s.partNotice("automatic_events", i, v)
	if it.Err == "" {
		it.Content.ID = bounded(v.object().text("id"))
	}
	return s.ofOnly(it)
}

// ofOnly puts an item into the conversation of the one person who came along.
func (s scope) ofOnly(it gateway.Item) gateway.Item {
	if p, ok := s.contacts.only(); ok && it.Err == "" {
		it.Chat, it.Content.From = singleChat(p.Identities), p
	}
	return it
}
