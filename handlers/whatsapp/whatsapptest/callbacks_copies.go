package whatsapptest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// echoed puts one element of value.message_echoes: what left in our name by
// hand. Its contact may lack a name.
func (c *Callback) echoed(e *Event, typ string, content obj) {
	m := obj{}.with("from", c.b.Number).opt("to", e.Customer.phone()).opt("to_user_id", e.Customer.userID()).
		opt("to_parent_user_id", e.Customer.ParentUserID).with("id", c.id(e, true)).with("timestamp", c.stamp(e)).
		with(typ, content).with("type", typ)
	if e.Quote != "" {
		m = m.with("context", obj{}.with("id", e.Quote))
	}
	c.put(change{field: "smb_message_echoes", people: []Customer{e.Customer}, list: "message_echoes", items: []obj{m}})
}

func (c *Callback) echo(e *Event)       { c.echoed(e, "text", textOf(e)) }
func (c *Callback) echoEdit(e *Event)   { c.echoed(e, "edit", c.edited(e, true)) }
func (c *Callback) echoRevoke(e *Event) { c.echoed(e, "revoke", c.revoked(e, true)) }
func (c *Callback) echoReaction(e *Event) {
	c.echoed(e, "reaction", obj{}.with("message_id", c.target(e, false)).with("emoji", or(e.Emoji, "👍")))
}

func (c *Callback) appStateSync(e *Event) {
	ch := change{field: "smb_app_state_sync", list: "state_sync"}
	for i := range max(e.Count, 1) {
		p := nth(e.Customer, i)
		contact := obj{}
		if e.Variant == "add" {
			name := or(p.Name, "Maya Lindqvist")
			first, _, _ := strings.Cut(name, " ")
			contact = contact.with("full_name", name).with("first_name", first)
		}
		contact = contact.opt("phone_number", p.phone()).opt("user_id", p.userID()).opt("username", p.Username)
		ch.items = append(ch.items, obj{}.with("type", "contact").with("contact", contact).with("action", e.Variant).
			with("metadata", obj{}.with("timestamp", c.stamp(e))))
	}
	c.put(ch)
}

// age is how old the newest message of a synced history is when no time is
// given. Meta hands over up to 180 days.
const age = 30 * 24 * time.Hour

// history is one chunk with one thread: messages of both sides in turns, the
// customer's first, a minute apart. Our own have our number in from and say where
// they went.
func (c *Callback) history(e *Event) {
	count := max(e.Count, 1)
	at := c.old(e)
	messages := make([]obj, 0, count)
	for i := range count {
		when := at.Add(-time.Duration(count-1-i) * time.Minute)
		own := i%2 == 1
		id := c.newID(e.Customer.phone(), own)
		if e.ID != "" {
			id = fmt.Sprintf("%s-%d", e.ID, i+1)
		}
		m := e.Customer.sender()
		if own {
			m = obj{}.with("from", c.b.Number).opt("to", e.Customer.phone()).opt("to_user_id", e.Customer.userID())
		}
		messages = append(messages, m.with("id", id).with("timestamp", strconv.FormatInt(when.Unix(), 10)).
			with("type", "text").with("text", obj{}.with("body", fmt.Sprintf("%s %d", or(e.Text, "old message"), i+1))).
			with("history_context", obj{}.with("status", "READ")))
	}
	thread := obj{}.with("id", or(e.Customer.phone(), e.Customer.userID())).
		with("context", obj{}.opt("wa_id", e.Customer.phone()).opt("user_id", e.Customer.userID()).opt("username", e.Customer.Username)).
		with("messages", messages)
	chunk := obj{}.with("metadata", obj{}.with("phase", 0).with("chunk_order", 1).with("progress", 100)).with("threads", []obj{thread})
	c.put(change{field: "history", list: "history", items: []obj{chunk}})
}

func (c *Callback) old(e *Event) time.Time {
	if e.At.IsZero() {
		return c.at(e).Add(-age)
	}
	return e.At
}

func (c *Callback) historyDeclined(*Event) {
	const words = "History sync is turned off by the business from the WhatsApp Business App"
	c.put(change{field: "history", list: "history", items: []obj{
		obj{}.with("errors", []obj{problem(2593109, words, "History sharing is turned off by the business")})}})
}

// historyMedia follows a history chunk whose message said media_placeholder.
func (c *Callback) historyMedia(e *Event) {
	m := e.Customer.sender().with("id", c.id(e, false)).with("timestamp", strconv.FormatInt(c.old(e).Unix(), 10)).
		with("type", "image").with("image", media(e, "image/jpeg").opt("caption", e.Text))
	c.put(change{field: "history", list: "messages", items: []obj{m}})
}

// Standby copies are one level deeper than everything else.

func (c *Callback) standby(e *Event) {
	m := e.Customer.sender().with("id", c.id(e, false)).with("timestamp", c.stamp(e)).with("text", textOf(e)).with("type", "text")
	c.put(change{field: "standby", within: "standby", people: []Customer{e.Customer}, list: "messages", items: []obj{m}})
}

// standbyEcho holds the body of the other application's send call.
func (c *Callback) standbyEcho(e *Event) {
	sent := obj{}.with("messaging_product", "whatsapp").with("recipient_type", "individual")
	if p := e.Customer.phone(); p != "" {
		sent = sent.with("to", "+"+p)
	} else {
		sent = sent.with("recipient", e.Customer.userID())
	}
	m := obj{}.with("id", c.id(e, true)).with("timestamp", c.stamp(e)).
		with("message", sent.with("type", "text").with("text", textOf(e)))
	c.put(change{field: "standby", within: "standby", list: "message_echoes", items: []obj{m}})
}

func (c *Callback) standbyStatus(e *Event) {
	st := obj{}.with("id", c.id(e, true)).with("status", e.Variant).with("timestamp", c.stamp(e)).
		opt("recipient_id", e.Customer.phone()).opt("recipient_user_id", e.Customer.userID())
	c.put(change{field: "standby", within: "standby", list: "statuses", items: []obj{st}})
}

// handover has no metadata; our side is the recipient.
func (c *Callback) handover(e *Event) {
	before, after := "customer_service", "ai_agent"
	if e.Variant == "control_passed" {
		before, after = after, before
	}
	told := obj{}.with("previous_owner_role", before).with("new_owner_role", after).with("metadata", or(e.Text, "customer asked for a person")).
		with("conversation_context", obj{}.with("type", "summary").with("summary", obj{}.with("text", "Parcel is late; wants refund.")))
	value := obj{}.with("messaging_product", "whatsapp").with("sender", obj{}.opt("phone_number", e.Customer.phone()).opt("user_id", e.Customer.userID())).
		with("recipient", obj{}.with("phone_number_id", c.b.PhoneNumberID).with("display_phone_number", c.b.Number)).
		with("type", e.Variant).with("timestamp", c.stamp(e)).with(e.Variant, told)
	last := c.entry(0)
	last.changes = append(last.changes, change{field: "messaging_handovers", bare: true, head: value})
}

// Identities.

// system puts a system message: no contact comes along.
func (c *Callback) system(e *Event, from string, sys obj) {
	m := obj{}.opt("from", from).with("id", c.id(e, false)).with("timestamp", c.stamp(e)).with("system", sys).with("type", "system")
	c.put(change{field: "messages", list: "messages", items: []obj{m}})
}

// moved is what the customer becomes: a new number brings a new BSUID.
func moved(e *Event) Customer {
	to := e.Moved
	if to.Phone == "" && to.UserID == "" {
		to.Phone = nextNumber(plus(e.Customer.Phone), 5000)
		if isBSUID(e.Customer.Phone) || e.Customer.Phone == "" {
			to.Phone, to.UserID = "", BSUID("after "+e.Customer.userID())
		}
	}
	to.NoUserID = e.Customer.NoUserID
	return to
}

// systemNumber: legacy ones name the numbers only, which then are not hidden.
func (c *Callback) systemNumber(e *Event) {
	old, to := e.Customer, moved(e)
	words := "User " + or(old.Name, "Maya Lindqvist") + " changed their number"
	if old.phone() != "" {
		words = fmt.Sprintf("User %s changed from %s to %s", or(old.Name, "Maya Lindqvist"), old.phone(), to.phone())
	}
	sys := obj{}.with("body", words).opt("wa_id", to.phone())
	if e.Variant == "full" || old.phone() == "" {
		sys = sys.opt("user_id", to.userID()).opt("previous_user_id", old.userID())
	}
	c.system(e, old.phone(), sys.with("type", "user_changed_number"))
}

// systemUserID: the bare form, of early 2026, does not say which id was before;
// only the number in from does.
func (c *Callback) systemUserID(e *Event) {
	old, to := e.Customer, e.Moved
	if to.UserID == "" {
		to.UserID = BSUID("after " + old.userID())
	}
	sys := obj{}.with("body", "User changed their identifier").with("user_id", to.UserID)
	if e.Variant == "full" {
		sys = sys.opt("previous_user_id", old.userID())
	}
	from := old.phone()
	if from == "" && e.Variant == "bare" {
		from = old.userID() // else nothing would name the customer
	}
	c.system(e, from, sys.with("type", "user_changed_user_id"))
}

func (c *Callback) userIDUpdate(e *Event) {
	old, to := e.Customer, moved(e)
	c.put(change{field: "user_id_update", people: []Customer{old}, list: "user_id_update", items: []obj{
		obj{}.opt("wa_id", old.phone()).with("detail", "User id was updated").
			with("user_id", obj{}.with("previous", old.userID()).with("current", or(to.userID(), BSUID("after "+old.userID())))).
			with("timestamp", c.stamp(e))}})
}

func (c *Callback) preferences(e *Event) {
	words := map[string]string{"stop": "User requested to stop marketing messages", "resume": "User requested to resume marketing messages",
		"signup": "User signed up for marketing messages"}[e.Variant]
	p := obj{}.opt("wa_id", e.Customer.phone()).opt("user_id", e.Customer.userID()).with("detail", words).
		with("category", "marketing_messages").with("value", e.Variant)
	if e.Variant == "signup" {
		p = p.with("signup_id", "signup-1")
	}
	c.put(change{field: "user_preferences", people: []Customer{e.Customer}, list: "user_preferences",
		items: []obj{p.with("timestamp", c.at(e).Unix())}})
}

func plus(number string) string { return strings.TrimPrefix(number, "+") }

// nth is the n-th customer behind one, from 0: the next numbers.
func nth(c Customer, n int) Customer {
	if n == 0 {
		return c
	}
	switch {
	case c.Phone == "" || isBSUID(c.Phone):
		c.UserID = BSUID(fmt.Sprintf("%s and %d", c.userID(), n))
	default:
		c.Phone = nextNumber(c.Phone, n)
		if c.UserID != "" {
			c.UserID = BSUID(plus(c.Phone))
		}
	}
	return c
}

// nextNumber counts a phone number up and keeps its length.
func nextNumber(number string, n int) string {
	digits := plus(number)
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return fmt.Sprintf("%s%d", number, n)
	}
	next := fmt.Sprintf("%0*d", len(digits), v+uint64(n)) //nolint:gosec // n is not negative
	return strings.TrimSuffix(number, digits) + next
}
