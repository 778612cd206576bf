package whatsapp

import (
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// message reads one element of value.messages: something a customer did. The
// types whose content is read are messages; all others, known or not, are
// notices with their raw part, in the same conversation, so that they keep their
// place in its order. Source: Meta, webhooks reference, "messages".
func (s scope) message(_ int, v value) gateway.Item {
	o := v.object()
	id := o.text("id")
	it := s.item(gateway.KindNotice, "m:"+id)
	it.OccurredAt = o.get("timestamp").time()
	it.Content.ID = id
	it.Content.Type = o.text("type")
	who := s.sender(o)
	if len(who.Identities) > 0 || who.Name != "" {
		it.Content.From = who
	}
	group := o.text("group_id")
	switch {
	case group != "" && len(group) <= maxIDBytes:
		it.Chat = groupChat(group)
	case len(who.Identities) > 0:
		it.Chat = singleChat(who.Identities)
	}
	if why := s.messageFault(v, id, it.Chat.Kind); why != "" {
		return spoil(it, v, id, why)
	}
	it.Content.Raw = v.raw()
	it.Content.QuotedID = o.object("context").text("id")
	if it.Content.Type == "" {
		it.Content.Type = "unknown"
	}
	isMessage, why := fillContent(&it.Content, o)
	if why != "" {
		return spoil(it, v, id, why)
	}
	if isMessage {
		it.Kind = gateway.KindMessage
	}
	return it
}

// messageFault says what makes an element unreadable as a whole.
func (s scope) messageFault(v value, id string, chat gateway.ChatKind) string {
	switch {
	case !v.isObject():
		return "message is no object"
	case id == "":
		return "message without id"
	case v.depth() > maxDepth:
		return "nested too deep"
	case chat == gateway.ChatAccount:
		return "message without sender"
	}
	return ""
}

// spoil turns an item into a dead one, keeping what is known of it.
func spoil(it gateway.Item, v value, id, why string) gateway.Item {
	it.Err = badItem + why
	if id == "" {
		it.Key = hashOf(v)
	}
	if it.Content.Type == "" {
		it.Content.Type = "broken"
	}
	if v.depth() <= maxDepth {
		it.Content.Raw = v.raw()
	}
	return it
}

// sender names who wrote. A system message tells of new ids of a customer: the
// old ones lead, since the conversation is theirs, and the new ones are learned
// with it. Its "from" is the old number, or missing.
func (s scope) sender(o object) *gateway.Party {
	from, userID := o.text("from"), o.text("from_user_id")
	if o.text("type") != "system" {
		return s.contacts.person(userID, from)
	}
	sys := o.object("system")
	known := s.contacts.person(userID, from)
	var before, after identities
	before.addUserID(sys.text("previous_user_id"))
	after.addUserID(sys.text("user_id"))
	after.add(sys.text("wa_id"))
	list := before.list()
	for _, id := range slices.Concat(known.Identities, after.list()) {
		list = addOnce(list, id)
	}
	return &gateway.Party{Name: known.Name, Identities: list}
}

// fillContent reads the types a bot can answer. It is used for echoes too. why
// tells of a known type whose own part cannot be read.
func fillContent(c *gateway.Content, o object) (isMessage bool, why string) {
	switch c.Type {
	case "text":
		body := o.object("text").get("body")
		if !body.isString() {
			return false, "text without body"
		}
		c.Text = body.text()
	case "image", "audio", "voice", "video", "document", "sticker":
		return fillMedia(c, o.get(c.Type))
	case "interactive":
		return fillInteractive(c, o.get("interactive"))
	case "button":
		b := o.get("button")
		if !b.isObject() {
			return false, "button is no object"
		}
		c.Choice = &gateway.Choice{ID: b.object().text("payload"), Title: b.object().text("text")}
	default:
		return false, ""
	}
	return true, ""
}

// fillMedia reads a reference to a file. The object is missing where Meta could
// not fetch the file (error 131052, over 100 MB): the customer wrote all the
// same. A file name is the sender's word, never a path of ours.
func fillMedia(c *gateway.Content, v value) (bool, string) {
	if v.isNull() {
		return true, ""
	}
	if !v.isObject() {
		return false, c.Type + " is no object"
	}
	m := v.object()
	c.Media = &gateway.Media{
		ID:       m.text("id"),
		MIME:     m.text("mime_type"),
		SHA256:   m.text("sha256"),
		Filename: m.text("filename"),
		URL:      m.text("url"),
	}
	c.Text = m.text("caption")
	if c.Type == "audio" && string(m.get("voice")) == "true" {
		c.Type = "voice"
	}
	return true, ""
}

// fillInteractive reads the answer to a button or list message. Others (flows,
// call permission) are notices under their own type; the object may be missing,
// with the reason in value.errors.
func fillInteractive(c *gateway.Content, v value) (bool, string) {
	if v.isNull() {
		return false, ""
	}
	if !v.isObject() {
		return false, "interactive is no object"
	}
	o := v.object()
	kind := o.text("type")
	if kind != "" {
		c.Type = kind
	}
	if kind != "button_reply" && kind != "list_reply" {
		return false, ""
	}
	r := o.get(kind)
	if !r.isObject() {
		return false, kind + " is no object"
	}
	c.Choice = &gateway.Choice{
		ID:          r.object().text("id"),
		Title:       r.object().text("title"),
		Description: r.object().text("description"),
	}
	return true, ""
}
