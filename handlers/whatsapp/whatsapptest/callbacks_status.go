package whatsapptest

import (
	"strconv"
	"strings"
	"time"
)

// madeUpGroup is a group id in Meta's form: base64 of a record.
const madeUpGroup = "Y2FwaV9ncm91cDoxMjAyNTU1MDEwMDoxMjAzNjMwMDAwMDAwMTAwNDIZD"

// Bill is what Meta says about the price of a message of ours. The zero value
// says nothing.
type Bill struct {
	// Category is service, utility, marketing, authentication or
	// group_service; service costs nothing.
	Category string `json:"category,omitempty"`
	// Conversation is added by webhooks of version 23 and older; its id.
	Conversation string `json:"conversation,omitempty"`
}

func (b Bill) fields(at time.Time) obj {
	o := obj{}
	if b.Conversation != "" {
		o = o.with("conversation", obj{}.with("id", b.Conversation).
			with("expiration_timestamp", strconv.FormatInt(at.Add(24*time.Hour).Unix(), 10)).
			with("origin", obj{}.with("type", b.Category)))
	}
	if b.Category != "" {
		free := strings.HasSuffix(b.Category, "service")
		kind := "regular"
		if free {
			kind = "free_customer_service"
		}
		o = o.with("pricing", obj{}.with("billable", !free).with("pricing_model", "PMP").with("type", kind).with("category", b.Category))
	}
	return o
}

// status puts one element of value.statuses. A failed one to a phone number
// comes without contact and BSUID; one to a hidden number without recipient_id.
func (c *Callback) status(e *Event) {
	failed := e.Variant == "failed"
	phone, user := e.Customer.phone(), e.Customer.userID()
	people := []Customer{e.Customer}
	if failed && phone != "" {
		user, people = "", nil
	}
	st := obj{}.with("id", c.id(e, true)).with("status", e.Variant).with("timestamp", c.stamp(e)).
		opt("recipient_id", phone).opt("recipient_user_id", user)
	if user != "" {
		st = st.opt("recipient_parent_user_id", e.Customer.ParentUserID)
	}
	c.put(change{field: "messages", people: people, list: "statuses", items: []obj{c.ending(st, e)}})
}

// ending are the fields that every status may have.
func (c *Callback) ending(st obj, e *Event) obj {
	st = append(st, e.Bill.fields(c.at(e))...)
	st = st.opt("biz_opaque_callback_data", e.Marker)
	if e.Variant == "failed" {
		code := e.Code
		if code == 0 {
			code = 131026
		}
		_, words := usual(code)
		st = st.with("errors", []obj{problem(code, words, "")})
	}
	return st
}

// groupStatus are the receipts of a group: one for each participant, in one
// POST. The one that says sent names nobody.
func (c *Callback) groupStatus(e *Event) {
	id, group := c.id(e, true), groupOf(e)
	head := func() obj {
		return obj{}.with("id", id).with("status", e.Variant).with("timestamp", c.stamp(e)).
			with("recipient_id", group).with("recipient_type", "group")
	}
	people := e.Participants
	if len(people) == 0 && e.Customer.userID() != "" {
		people = []Customer{e.Customer}
	}
	if e.Variant == "sent" || len(people) == 0 {
		c.put(change{field: "messages", list: "statuses", items: []obj{c.ending(head(), e)}})
		return
	}
	ch := change{field: "messages", people: people, list: "statuses"}
	for i, p := range people {
		one := *e
		if i > 0 {
			one.Bill = Bill{} // said once
		}
		st := head().opt("recipient_participant_id", p.phone()).opt("recipient_participant_user_id", p.userID()).
			opt("recipient_participant_parent_user_id", p.ParentUserID)
		ch.items = append(ch.items, c.ending(st, &one))
	}
	c.put(ch)
}

func groupOf(e *Event) string { return or(e.Group, madeUpGroup) }

// group puts one element of value.groups of a field about groups.
func (c *Callback) group(e *Event, field, typ string, more obj) {
	g := obj{}.with("timestamp", c.stamp(e)).with("group_id", groupOf(e)).with("type", typ)
	c.put(change{field: field, list: "groups", items: []obj{append(g, more...)}})
}

func (c *Callback) groupLifecycle(e *Event) {
	more := obj{}.with("request_id", "req-1")
	if e.Variant == "group_create" {
		more = more.with("subject", or(e.Text, "Boots of winter")).with("invite_link", "https://chat.whatsapp.com/MadeUpInvite")
	}
	c.group(e, "group_lifecycle_update", e.Variant, more)
}

func (c *Callback) groupParticipants(e *Event) {
	who := obj{}.opt("wa_id", e.Customer.phone()).opt("user_id", e.Customer.userID())
	more := obj{}
	switch e.Variant {
	case "group_participants_remove":
		more = more.with("reason", "participant_left").with("removed_participants", []obj{who}).with("initiated_by", "participant")
	case "group_join_request_created", "group_join_request_revoked":
		more = append(more.with("join_request_id", "jr-1"), who...)
	default:
		more = more.with("reason", "invite_link").with("added_participants", []obj{who})
	}
	c.group(e, "group_participants_update", e.Variant, more)
}

func (c *Callback) groupSettings(e *Event) {
	subject := obj{}.with("text", or(e.Text, "Boots of spring")).with("update_successful", true)
	c.group(e, "group_settings_update", "group_settings_update", obj{}.with("request_id", "req-2").with("group_subject", subject))
}

func (c *Callback) groupSuspended(e *Event) {
	c.group(e, "group_status_update", e.Variant, obj{})
}

// Calls. Their statuses stand under their own field and say nothing of messages.

func (c *Callback) callID(e *Event) string {
	if e.ID != "" {
		return e.ID
	}
	return "wacid." + strings.TrimPrefix(c.newID(e.Customer.phone(), false), "wamid.")
}

func (c *Callback) callConnect(e *Event) {
	call := obj{}.with("id", c.callID(e)).opt("from", e.Customer.phone()).opt("from_user_id", e.Customer.userID()).
		with("to", c.b.Number).with("event", "connect").with("timestamp", c.stamp(e)).with("direction", "USER_INITIATED").
		with("session", obj{}.with("sdp_type", "offer").with("sdp", "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\n"))
	c.put(change{field: "calls", people: []Customer{e.Customer}, list: "calls", items: []obj{call}})
}

func (c *Callback) callTerminate(e *Event) {
	end := c.at(e)
	call := obj{}.with("id", c.callID(e)).with("from", c.b.Number).opt("to", e.Customer.phone()).opt("to_user_id", e.Customer.userID()).
		with("event", "terminate").with("direction", "BUSINESS_INITIATED").opt("biz_opaque_callback_data", e.Marker).
		with("timestamp", c.stamp(e)).with("status", e.Variant)
	if e.Variant == "COMPLETED" {
		call = call.with("start_time", strconv.FormatInt(end.Unix()-120, 10)).with("end_time", strconv.FormatInt(end.Unix(), 10)).with("duration", 120)
	}
	c.put(change{field: "calls", people: []Customer{e.Customer}, list: "calls", items: []obj{call}})
}

func (c *Callback) callStatus(e *Event) {
	st := obj{}.with("id", c.callID(e)).with("timestamp", c.stamp(e)).with("type", "call").with("status", e.Variant).
		opt("recipient_id", e.Customer.phone()).opt("recipient_user_id", e.Customer.userID()).opt("biz_opaque_callback_data", e.Marker)
	c.put(change{field: "calls", list: "statuses", items: []obj{st}})
}
