package whatsapp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// Bounds of a payload. Meta sends up to 1000 updates and 3 MB in one POST and
// nests about ten levels.
const (
	maxItems = 50_000
	maxDepth = 64
)

// objectName is the only value of "object" that concerns us. The same Meta app
// may be subscribed for other products.
const objectName = "whatsapp_business_account"

// Decode reads every item of every change of every entry, in the order of the
// body. A value that makes no sense is an item with Err; a body that is no
// envelope at all, or holds an absurd number of items, is
// gateway.ErrUndecodable. keyFP is the one of Verify: nothing is encrypted.
func (e *Endpoint) Decode(p *gateway.Payload) (items []gateway.Item, keyFP string, err error) {
	// Valid bounds the depth (10,000 levels) and makes every later step safe.
	if !json.Valid(p.Body) {
		return nil, p.KeyFP, undecodable("not JSON")
	}
	body := value(p.Body)
	env := body[skipSpace(body, 0):].object()
	kind := env.get("object")
	if !kind.isString() {
		return nil, p.KeyFP, undecodable("no envelope of the platform")
	}
	if kind.text() != objectName {
		return nil, p.KeyFP, nil
	}
	if !env.get("entry").isArray() {
		return nil, p.KeyFP, undecodable("entry is no list")
	}
	d := decoder{}
	for _, v := range env.get("entry").elements() {
		d.entry(v)
		if d.full() {
			return nil, p.KeyFP, undecodable("too many items")
		}
	}
	return d.items, p.KeyFP, nil
}

func undecodable(why string) error { return fmt.Errorf("%w: %s", gateway.ErrUndecodable, why) }

// decoder collects the items of one payload.
type decoder struct {
	items []gateway.Item
}

// add keeps an item. One over the bound is enough to refuse the payload.
func (d *decoder) add(it gateway.Item) {
	if !d.full() {
		d.items = append(d.items, it)
	}
}

// full ends the loops over lists from outside.
func (d *decoder) full() bool { return len(d.items) > maxItems }

// scope is where an item was found: what it inherits.
type scope struct {
	entry    object
	field    string
	change   value // the whole change
	value    value // change.value
	account  string
	number   string
	contacts contacts
	digest   *string // of the value, once it was needed
	// observed and prefix mark items that are recorded and never offered.
	observed gateway.Observed
	prefix   string // of every key made from an id
}

func (d *decoder) entry(v value) {
	s := scope{entry: v.object()}
	s.account = "waba:" + s.entry.text("id")
	if !v.isObject() {
		d.add(s.broken(v, "entry is no object"))
		return
	}
	if !s.entry.get("changes").isArray() {
		d.add(s.broken(v, "entry without a list of changes"))
		return
	}
	for _, c := range s.entry.get("changes").elements() {
		if d.full() {
			return
		}
		d.change(s, c)
	}
}

func (d *decoder) change(s scope, c value) {
	s.change, s.digest = c, new(string)
	if !c.isObject() {
		d.add(s.broken(c, "change is no object"))
		return
	}
	o := c.object()
	s.field = o.text("field")
	s.value = o.get("value")
	s.findAccount()
	switch s.field {
	case "messages", "smb_message_echoes", "message_echoes", "smb_app_state_sync", "calls",
		"user_preferences", "automatic_events", "user_id_update", "group_lifecycle_update",
		"group_participants_update", "group_settings_update", "group_status_update":
		d.parts(s)
	case "standby":
		d.standby(s)
	case "history":
		d.history(s)
	default:
		d.add(s.changeNotice())
	}
}

// findAccount takes our side from the value: the phone number id where there
// is one, else the WABA. Under account_update the entry may be a business
// portfolio and the WABA is named inside.
func (s *scope) findAccount() {
	o := s.value.object()
	meta := o.object("metadata")
	if s.field == "messaging_handovers" && meta.text("phone_number_id") == "" {
		meta = o.object("recipient")
	}
	s.number = digits(meta.text("display_phone_number"))
	if s.number == "" { // notices about a number of a WABA
		s.number = digits(firstText(o, "display_phone_number", "phone_number"))
	}
	if id := meta.text("phone_number_id"); id != "" {
		s.account = id
		return
	}
	if id := o.object("waba_info").text("waba_id"); id != "" {
		s.account = "waba:" + id
	}
}

// parts reads a value that holds lists of items.
func (d *decoder) parts(s scope) {
	if !s.value.isObject() {
		d.add(s.broken(s.change, "value is no object"))
		return
	}
	s.contacts = newContacts(s.value.object().get("contacts"))
	d.members(s, s.value.object())
}

// members reads the lists of an object, member by member in the order of the
// body.
func (d *decoder) members(s scope, o object) {
	before := len(d.items)
	for _, m := range o {
		if d.full() {
			return
		}
		read := s.reader(m)
		switch {
		case read == nil, m.val.isNull():
		case !m.val.isArray():
			d.add(s.broken(m.val, m.name+" is no list"))
		default:
			d.each(m, read)
		}
	}
	if len(d.items) == before {
		// Nothing known in it (encrypted_contents, or what comes next year).
		d.add(s.changeNotice())
	}
}

// each reads the elements of a list.
func (d *decoder) each(m member, read func(int, value) gateway.Item) {
	for i, v := range m.val.elements() {
		if d.full() {
			return
		}
		d.add(read(i, v))
	}
}

// reader returns how the elements of a member of value are read; nil for what
// is no list of items. A list nobody knows is read as notices, so that a new
// kind of item is not lost beside known ones; a new object or text beside items
// says something about them and stays in the archive. Messages and receipts are
// read where they belong and nowhere else: under another field they are old, or
// somebody else's.
func (s scope) reader(m member) func(int, value) gateway.Item {
	here := s.field == "messages" || s.field == "standby"
	switch {
	case m.name == "messaging_product", m.name == "metadata", m.name == "contacts":
		return nil
	case m.name == "errors":
		return s.valueError
	case m.name == "message_echoes" && s.field == "standby":
		return s.standbyEcho
	case m.name == "message_echoes":
		return s.echo
	case m.name == "messages" && here:
		return s.message
	case m.name == "statuses" && here:
		return s.status
	case m.name == "statuses" && s.field == "calls":
		return s.callStatus
	case m.name == "calls":
		return s.call
	case m.name == "user_actions":
		return s.userAction
	case m.name == "user_preferences":
		return s.preference
	case m.name == "state_sync":
		return s.stateSync
	case m.name == "groups":
		return s.group
	case m.name == "automatic_events":
		return s.automaticEvent
	case m.name == "user_id_update":
		return s.userIDUpdate
	case !m.val.isArray():
		return nil
	}
	return func(i int, v value) gateway.Item { return s.partNotice(m.name, i, v) }
}

// item begins an item of this place in the account's own conversation.
func (s scope) item(kind gateway.Kind, key string) gateway.Item {
	it := gateway.Item{
		AccountID:     s.account,
		AccountNumber: s.number,
		Kind:          kind,
		Key:           s.prefix + key,
		Chat:          s.accountChat(),
		Observed:      s.observed,
	}
	it.Content.Observed = s.observed
	return it
}

func (s scope) accountChat() gateway.Chat {
	return gateway.Chat{
		Kind:       gateway.ChatAccount,
		Identities: []gateway.Identity{{Kind: "account", Value: s.account}},
	}
}

// broken is an item that was found and cannot be read. why names the fault in
// words of ours.
func (s scope) broken(v value, why string) gateway.Item {
	it := s.item(gateway.KindNotice, hashOf(v))
	it.Content.Type = "broken"
	it.Err = badItem + why
	if v.depth() <= maxDepth {
		it.Content.Raw = v.raw()
	}
	return it
}

// badItem begins the Err of every item.
const badItem = "bad item: "

func hashOf(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		n := len(p)
		h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write(p)
	}
	return "h:" + hex.EncodeToString(h.Sum(nil))
}

// digits keeps the digits of a phone number as people write it.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}
