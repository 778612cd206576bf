package whatsapp

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// changeNotice makes one notice of a whole change: fields that are about an
// account or a template, fields nobody knows, and those whose messages must never
// be taken for fresh ones (history, standby, calls). Its raw part is the value.
func (s scope) changeNotice() gateway.Item {
	o := s.value.object()
	it := s.item(gateway.KindNotice, "")
	it.Content.Type = s.field
	if s.field == "" {
		it.Content.Type = "unknown"
	}
	if s.change.depth() > maxDepth {
		it.Key = hashOf(s.change)
		it.Err = badItem + "nested too deep"
		return it
	}
	it.Key = s.callKey(o)
	if it.Key == "" {
		it.Key = s.hash("")
	}
	it.OccurredAt = s.time(o)
	it.Content.Raw = s.value.raw()
	if s.value.isNull() {
		it.Content.Raw = s.change.raw()
	}
	if s.field == "history" || s.field == "smb_app_state_sync" {
		return it // many customers, or none that is here now
	}
	if s.field == "standby" {
		o = o.object("standby") // one level deeper than everywhere else
	}
	if it.OccurredAt.IsZero() {
		it.OccurredAt = onlyTime(o)
	}
	if chat, ok := s.customer(o); ok {
		it.Chat = chat
	}
	return it
}

// valueError makes a notice of one element of value.errors: a fault of the
// number or the account that names no message.
func (s scope) valueError(i int, v value) gateway.Item {
	it := s.partNotice("errors", i, v)
	it.Content.Type = "error"
	return it
}

// userAction makes a notice of one element of value.user_actions. The element
// names nobody; when exactly one contact came along it is theirs.
func (s scope) userAction(i int, v value) gateway.Item {
	it := s.partNotice("user_actions", i, v)
	if t := v.object().text("action_type"); t != "" {
		it.Content.Type = t
	}
	if it.Err != "" || len(s.contacts.all) != 1 {
		return it
	}
	c := s.contacts.all[0]
	if p := s.contacts.person(c.userID, c.waID); len(p.Identities) > 0 {
		it.Chat, it.Content.From = singleChat(p.Identities), p
	}
	return it
}

// partNotice makes a notice of one element of a list inside a value.
func (s scope) partNotice(name string, i int, v value) gateway.Item {
	it := s.item(gateway.KindNotice, "")
	it.Content.Type = name
	if name == "" { // JSON allows it
		it.Content.Type = "unknown"
	}
	if v.depth() > maxDepth {
		return spoil(it, v, "", "nested too deep")
	}
	// Elements carry no id, and equal ones do come in different posts: the key
	// is over all of the value, and the place in it.
	it.Key = s.hash(name + "." + strconv.Itoa(i))
	it.OccurredAt = s.time(v.object())
	it.Content.Raw = v.raw()
	return it
}

// time is the time of the entry, which account notices carry, else the one of
// the part.
func (s scope) time(o object) time.Time {
	if t := s.entry.get("time").time(); !t.IsZero() {
		return t
	}
	return o.get("timestamp").time()
}

// hash names what has no id of the platform: SHA-256 over entry, time, field,
// value and the part of it, so that a retry that differs in white space or the
// order of names is known.
func (s scope) hash(part string) string {
	if *s.digest == "" {
		form := []byte(s.value)
		if s.value.depth() <= maxDepth {
			form = canonical(nil, s.value)
		}
		*s.digest = hashOf([]byte(s.entry.text("id")), []byte(s.entry.text("time")),
			[]byte(s.field), form)
	}
	if part == "" {
		return *s.digest
	}
	return hashOf([]byte(*s.digest), []byte(part))
}

// canonical appends a value with names sorted and white space left out. Texts
// and numbers stay as written, so that two different values never become one.
// Each level is gone over again: only for values within maxDepth.
func canonical(b []byte, v value) []byte {
	switch {
	case v.isObject():
		o := v.object()
		slices.SortStableFunc(o, func(x, y member) int { return strings.Compare(x.name, y.name) })
		b = append(b, '{')
		for _, m := range o {
			b = strconv.AppendQuote(b, m.name)
			b = canonical(append(b, ':'), m.val)
			b = append(b, ',')
		}
		return append(b, '}')
	case v.isArray():
		b = append(b, '[')
		for _, e := range v.elements() {
			b = append(canonical(b, e), ',')
		}
		return append(b, ']')
	}
	return append(b, v...)
}

// callKey names a call by its own id and step; "" when the change is no single
// one.
func (s scope) callKey(o object) string {
	if s.field != "calls" {
		return ""
	}
	list := append(o.get("calls").elements(), o.get("statuses").elements()...)
	if len(list) != 1 {
		return ""
	}
	call := list[0].object()
	id, step := call.text("id"), firstText(call, "event", "status")
	if id == "" || step == "" {
		return ""
	}
	return "c:" + id + ":" + step
}

// onlyTime is the time of the one element a value holds.
func onlyTime(o object) time.Time {
	var t time.Time
	n := 0
	for _, m := range o {
		if m.name == "contacts" {
			continue
		}
		for _, e := range m.val.elements() {
			t = e.object().get("timestamp").time()
			n++
		}
	}
	if n != 1 {
		return time.Time{}
	}
	return t
}

// customer finds the one customer or group a change is about. Two of them, or
// none, make it a notice of the account. It does not say who wrote: the change
// may be about something of ours.
func (s scope) customer(o object) (gateway.Chat, bool) {
	if groups := o.get("groups").elements(); len(groups) > 0 {
		id := groups[0].object().text("group_id")
		if len(groups) > 1 || id == "" || len(id) > maxIDBytes {
			return gateway.Chat{}, false
		}
		return groupChat(id), true
	}
	found := named(o)
	if p := o.object("sender").text("phone_number"); s.field == "messaging_handovers" && p != "" {
		found = append(found, person("", p).Identities)
	}
	if len(found) == 0 {
		return gateway.Chat{}, false
	}
	for _, ids := range found[1:] {
		if !share(ids, found[0]) {
			return gateway.Chat{}, false
		}
	}
	return singleChat(found[0]), true
}

// named lists the people a value names: its contacts, else the other sides of
// what is in it.
func named(o object) [][]gateway.Identity {
	var found [][]gateway.Identity
	add := func(p *gateway.Party) {
		if len(p.Identities) > 0 {
			found = append(found, p.Identities)
		}
	}
	c := newContacts(o.get("contacts"))
	for _, one := range c.all {
		add(c.person(one.userID, one.waID))
	}
	if len(found) > 0 {
		return found
	}
	for _, v := range o.get("messages").elements() {
		add(person(v.object().text("from_user_id"), v.object().text("from")))
	}
	for _, v := range o.get("statuses").elements() {
		add(person(v.object().text("recipient_user_id"), v.object().text("recipient_id")))
	}
	for _, v := range o.get("message_echoes").elements() {
		to := v.object()
		if sent := to.object("message"); sent != nil { // the body of the send call
			add(person(sent.text("recipient"), sent.text("to")))
			continue
		}
		add(person(to.text("to_user_id"), to.text("to")))
	}
	for _, v := range o.get("user_preferences").elements() {
		add(person(v.object().text("user_id"), v.object().text("wa_id")))
	}
	for _, v := range o.get("calls").elements() {
		if call := v.object(); call.text("direction") == "BUSINESS_INITIATED" {
			add(person(call.text("to_user_id"), call.text("to")))
		} else {
			add(person(call.text("from_user_id"), call.text("from")))
		}
	}
	return found
}

func person(userID, phone string) *gateway.Party { return contacts{}.person(userID, phone) }

func share(a, b []gateway.Identity) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Kind == y.Kind && x.Value == y.Value {
				return true
			}
		}
	}
	return false
}
