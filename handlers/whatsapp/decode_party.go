package whatsapp

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/causewayhq/causeway/gateway"
)

// bsuidShape is the form of a business-scoped user id: country, a dot, "ENT."
// for the id of linked portfolios, up to 128 letters and digits. Old callbacks
// carry one in fields meant for phone numbers. Source: Meta, "Business-scoped
// user IDs".
var bsuidShape = regexp.MustCompile(`^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$`)

// maxIDBytes bounds an identity. A group id has about 60 bytes; what is longer
// than this is no id. maxWamid bounds the id of a message, a file or a call: a
// wamid has about 70 bytes and grew before.
const (
	maxIDBytes = 512
	maxWamid   = 1024
)

// identities collects names of one person, best first: BSUIDs, which come with
// every callback, then the id of the linked portfolios, before phone numbers,
// which come and go. None is ever changed
// by a rule about digits; only the plus, spaces and punctuation that Meta's own
// ids do not have are left out of the form compared.
type identities struct{ bsuids, phones []gateway.Identity }

// add takes a text of a field meant for a phone number or an id.
func (ids *identities) add(texts ...string) {
	for _, t := range texts {
		t = strings.TrimSpace(t)
		switch {
		case t == "" || len(t) > maxIDBytes:
		case bsuidShape.MatchString(t):
			ids.bsuids = addOnce(ids.bsuids, gateway.Identity{Kind: "bsuid", Value: t})
		default:
			id := gateway.Identity{Kind: "phone", Value: plain(t)}
			if id.Value == "" {
				continue
			}
			if id.Value != t {
				id.As = t
			}
			ids.phones = addOnce(ids.phones, id)
		}
	}
}

// plain is a phone number without what people write between the digits. Another
// text only loses a plus: it may be an id of a new form.
func plain(t string) string {
	other := strings.IndexFunc(t, func(r rune) bool { return !strings.ContainsRune("0123456789+-(). \u00a0", r) })
	if d := digits(t); d != "" && other < 0 {
		return d
	}
	return strings.TrimPrefix(t, "+")
}

// addUserID takes a text of a field meant for a BSUID; it is one whatever its
// form, so that a new form does not turn people into phone numbers.
func (ids *identities) addUserID(texts ...string) {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" && len(t) <= maxIDBytes {
			ids.bsuids = addOnce(ids.bsuids, gateway.Identity{Kind: "bsuid", Value: t})
		}
	}
}

func addOnce(list []gateway.Identity, id gateway.Identity) []gateway.Identity {
	for _, have := range list {
		if have.Value == id.Value {
			return list
		}
	}
	return append(list, id)
}

// list is nil when nothing was added.
func (ids *identities) list() []gateway.Identity {
	if len(ids.bsuids) == 0 && len(ids.phones) == 0 {
		return nil
	}
	return append(append(make([]gateway.Identity, 0, len(ids.bsuids)+len(ids.phones)), ids.bsuids...), ids.phones...)
}

// names are the ids by which one element of a payload speaks of a person. Any
// may be missing; a phone field may hold a BSUID.
type names struct{ user, parent, phone string }

// contact is one entry of value.contacts.
type contact struct {
	names
	name     string
	username string
}

// contacts finds the contact of an item by user id, then by wa_id. Never by
// place: the list may be shorter, longer, or in another order than the items.
type contacts struct {
	all    []contact
	byUser map[string]int
	byWaID map[string]int
}

func newContacts(v value) contacts {
	list := v.elements()
	if len(list) == 0 {
		return contacts{}
	}
	c := contacts{byUser: make(map[string]int, len(list)), byWaID: make(map[string]int, len(list))}
	for _, e := range list {
		o := e.object()
		profile := o.object("profile")
		one := contact{
			names:    names{user: o.text("user_id"), parent: o.text("parent_user_id"), phone: o.text("wa_id")},
			name:     clip(profile.text("name")),
			username: handle(firstText(profile, "username")),
		}
		if one.username == "" {
			one.username = handle(o.text("username"))
		}
		c.all = append(c.all, one)
		n := len(c.all) - 1
		if _, known := c.byUser[one.user]; !known && one.user != "" {
			c.byUser[one.user] = n
		}
		if _, known := c.byWaID[one.phone]; !known && one.phone != "" {
			c.byWaID[one.phone] = n
		}
	}
	return c
}

// find returns the contact with the user id, else the one with the wa_id. An
// old callback has the BSUID in place of the number.
func (c contacts) find(who names) (contact, bool) {
	if n, ok := c.byUser[who.user]; ok {
		return c.all[n], true
	}
	if n, ok := c.byWaID[who.phone]; ok {
		return c.all[n], true
	}
	if n, ok := c.byUser[who.phone]; ok {
		return c.all[n], true
	}
	return contact{}, false
}

// person is who an item speaks of: the ids on the item and those of its contact.
func (c contacts) person(who names) *gateway.Party {
	var ids identities
	ids.addUserID(who.user, who.parent)
	ids.add(who.phone)
	p := &gateway.Party{}
	if found, ok := c.find(who); ok {
		p.Name, p.Username = found.name, found.username
		ids.addUserID(found.user, found.parent)
		ids.add(found.phone)
	}
	p.Identities = ids.list()
	return p
}

// only is the one person that came along, where there is exactly one.
func (c contacts) only() (*gateway.Party, bool) {
	if len(c.all) != 1 {
		return nil, false
	}
	p := c.person(c.all[0].names)
	return p, len(p.Identities) > 0
}

// handle is a username as published: without the "@" that some callbacks have.
func handle(s string) string { return clip(strings.TrimPrefix(strings.TrimSpace(s), "@")) }

// maxName bounds names, titles, types and words of states. Meta's own are far
// shorter; what is longer is in the raw part.
const maxName = 512

// clip cuts a text to maxName bytes without cutting a character.
func clip(s string) string {
	if len(s) <= maxName {
		return s
	}
	cut := maxName
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// bounded is an id of at most maxWamid bytes: a longer one is no id, and half
// of it would be another one.
func bounded(s string) string {
	if len(s) > maxWamid {
		return ""
	}
	return s
}

// groupChat is the conversation of a group.
func groupChat(id string) gateway.Chat {
	return gateway.Chat{
		Kind:       gateway.ChatGroup,
		Identities: []gateway.Identity{{Kind: "group", Value: id}},
	}
}

// singleChat is the conversation with one person.
func singleChat(ids []gateway.Identity) gateway.Chat {
	return gateway.Chat{Kind: gateway.ChatSingle, Identities: ids}
}
