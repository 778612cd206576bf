package whatsapp

import (
	"regexp"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// bsuidShape is the form of a business-scoped user id: country, a dot, "ENT."
// for the id of linked portfolios, up to 128 letters and digits. Old callbacks
// carry one in fields meant for phone numbers. Source: Meta, "Business-scoped
// user IDs".
var bsuidShape = regexp.MustCompile(`^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$`)

// maxIDBytes bounds an identity. A group id has about 60 bytes; what is longer
// than this is no id.
const maxIDBytes = 512

// identities collects names of one person, best first: BSUIDs, which come with
// every callback, before phone numbers, which come and go. None is ever changed
// by a rule about digits; only a "+" that Meta's own ids do not have is left
// out of the form compared.
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
			id := gateway.Identity{Kind: "phone", Value: strings.TrimPrefix(t, "+")}
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

// contact is one entry of value.contacts.
type contact struct {
	name   string
	waID   string
	userID string
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
		one := contact{waID: o.text("wa_id"), userID: o.text("user_id")}
		profile := o.object("profile")
		if one.name = profile.text("name"); one.name == "" {
			one.name = strings.TrimPrefix(profile.text("username"), "@")
		}
		c.all = append(c.all, one)
		n := len(c.all) - 1
		if _, known := c.byUser[one.userID]; !known && one.userID != "" {
			c.byUser[one.userID] = n
		}
		if _, known := c.byWaID[one.waID]; !known && one.waID != "" {
			c.byWaID[one.waID] = n
		}
	}
	return c
}

// find returns the contact with the user id, else the one with the wa_id.
func (c contacts) find(userID, waID string) (contact, bool) {
	if n, ok := c.byUser[userID]; ok {
		return c.all[n], true
	}
	if n, ok := c.byWaID[waID]; ok {
		return c.all[n], true
	}
	return contact{}, false
}

// person is who an item speaks of: the ids on the item and those of its contact.
func (c contacts) person(userID, phone string) *gateway.Party {
	var ids identities
	ids.addUserID(userID)
	ids.add(phone)
	p := &gateway.Party{}
	if found, ok := c.find(userID, phone); ok {
		p.Name = found.name
		ids.addUserID(found.userID)
		ids.add(found.waID)
	}
	p.Identities = ids.list()
	return p
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
