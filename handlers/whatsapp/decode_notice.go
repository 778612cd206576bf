package whatsapp

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// changeNotice makes one item of a whole change: fields that are about an
// account or a template, fields nobody knows, and values in which nothing known
// was found. Its raw part is the value.
func (s scope) changeNotice() gateway.Item {
	o := s.value.object()
	it := s.item(gateway.KindNotice, "")
	it.Content.Type = typeOf(s.field)
	if s.change.depth() > maxDepth {
		it.Key = s.prefix + hashOf(s.change)
		it.Err = badItem + "nested too deep"
		return it
	}
	it.Key = s.hash("")
	it.OccurredAt = s.time(o)
	it.Content.Raw = s.value.raw()
	if s.value.isNull() {
		it.Content.Raw = s.change.raw()
	}
	it.Content.Problems = problems(o.get("errors"))
	if isState(s.field) {
		it.Kind = gateway.KindState
	}
	if s.field == "history" || s.field == "smb_app_state_sync" {
		return it // many customers, or none that is here now
	}
	if chat, ok := s.customer(o); ok {
		it.Chat = chat
	}
	return it
}

// customer finds the one customer a change is about. Two of them, or none, make
// it a notice of the account. It does not say who wrote: the change may be about
// something of ours.
func (s scope) customer(o object) (gateway.Chat, bool) {
	if s.field == "messaging_handovers" {
		from := o.object("sender")
		who := names{from.text("user_id"), from.text("parent_user_id"), firstText(from, "phone_number", "wa_id")}
		if p := newContacts(o.get("contacts")).person(who); len(p.Identities) > 0 {
			return singleChat(p.Identities), true
		}
	}
	if p, ok := newContacts(o.get("contacts")).only(); ok {
		return singleChat(p.Identities), true
	}
	return gateway.Chat{}, false
}

// valueError makes a notice of one element of value.errors: a fault of the
// number or the account that names no message.
func (s scope) valueError(i int, v value) gateway.Item {
	it := s.partNotice("errors", i, v)
	it.Content.Type = "error"
	if it.Err == "" && v.isObject() {
		it.Content.Problems = []gateway.Problem{problem(v)}
	}
	return it
}

// partNotice makes a notice of one element of a list inside a value.
func (s scope) partNotice(name string, i int, v value) gateway.Item {
	it := s.item(gateway.KindNotice, "")
	it.Content.Type = typeOf(name) // JSON allows an empty one
	if v.depth() > maxDepth {
		return s.spoil(it, v, "nested too deep")
	}
	// Elements carry no id, and equal ones do come in different posts: the key
	// is over all of the value, and the place in it.
	it.Key = s.hash(name + "." + strconv.Itoa(i))
	it.OccurredAt = s.time(v.object())
	it.Content.Problems = problems(v.object().get("errors"))
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
