package whatsapptest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Business is one business number in whose name Meta calls back. It makes
// callback bodies; it is a value without state, safe for concurrent use as far
// as NewID and Now are.
type Business struct {
	PhoneNumberID string
	WABAID        string
	Number        string // our own phone number, in digits
	// NewID makes the wamid of a message with a phone number, which may be "".
	// out says that the message left us. Nil makes random ones.
	NewID func(phone string, out bool) string
	// Now is the time of what has no time of its own. Nil means time.Now.
	Now func() time.Time
}

// Callback is one POST in the making. Methods return it, so that calls can be
// chained; the first error is kept for Body. It belongs to one goroutine.
type Callback struct {
	b       Business
	entries []entry
	plain   bool
	err     error
}

type entry struct {
	waba    string
	time    int64 // unix seconds; only on fields about the account
	changes []change
}

// change is one element of entry.changes.
type change struct {
	field  string
	bare   bool // no messaging_product and metadata
	head   obj  // what comes before contacts
	people []Customer
	list   string
	items  []obj
	tail   obj
	within string // everything but the head is one level deeper: standby
}

// Callback begins a POST with the items given; see And.
func (b Business) Callback(events ...Event) *Callback {
	c := &Callback{b: b}
	return c.And(events...)
}

// And adds items. Messages, statuses and echoes of the same kind that follow
// each other share a value, as in Meta's batches.
func (c *Callback) And(events ...Event) *Callback {
	for i := range events {
		e := events[i]
		k, ok := KindNamed(e.Kind)
		if !ok {
			c.fail(fmt.Errorf("whatsapptest: %q is no kind of callback", e.Kind))
			continue
		}
		if e.Variant, ok = k.Variant(e.Variant); !ok {
			c.fail(fmt.Errorf("whatsapptest: %q is no variant of %s", e.Variant, e.Kind))
			continue
		}
		k.build(c, &e)
	}
	return c
}

// Plain writes text as UTF-8 and leaves slashes alone. Meta does not; a gateway
// must take both.
func (c *Callback) Plain() *Callback {
	c.plain = true
	return c
}

// Body writes the POST as compact JSON.
func (c *Callback) Body() ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	entries := make([]obj, 0, len(c.entries))
	for _, e := range c.entries {
		one := obj{}.with("id", e.waba)
		if e.time != 0 {
			one = one.with("time", e.time)
		}
		changes := make([]obj, 0, len(e.changes))
		for i := range e.changes {
			changes = append(changes, obj{}.with("value", e.changes[i].value(&c.b)).with("field", e.changes[i].field))
		}
		entries = append(entries, one.with("changes", changes))
	}
	doc := obj{}.with("object", "whatsapp_business_account").with("entry", entries)
	return writer{plain: c.plain}.value(nil, doc), nil
}

func (c *Callback) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (ch *change) value(b *Business) obj {
	v := obj{}
	if !ch.bare {
		v = v.with("messaging_product", "whatsapp").
			with("metadata", obj{}.with("display_phone_number", b.Number).with("phone_number_id", b.PhoneNumberID))
	}
	v = append(v, ch.head...)
	inner := obj{}
	contacts := make([]obj, 0, len(ch.people))
	for _, p := range ch.people {
		contacts = append(contacts, p.contact())
	}
	inner = append(inner.list("contacts", contacts).list(ch.list, ch.items), ch.tail...)
	if ch.within != "" {
		return v.with(ch.within, inner)
	}
	return append(v, inner...)
}

// put adds a change, or its items to the last one when that holds the same.
func (c *Callback) put(ch change) {
	last := c.entry(0)
	if n := len(last.changes); n > 0 && len(ch.items) > 0 && len(ch.tail) == 0 {
		have := &last.changes[n-1]
		if have.field == ch.field && have.list == ch.list && have.within == ch.within && len(have.tail) == 0 && len(have.head) == 0 {
			for _, p := range ch.people {
				if !slices.ContainsFunc(have.people, p.same) {
					have.people = append(have.people, p)
				}
			}
			have.items = append(have.items, ch.items...)
			return
		}
	}
	last.changes = append(last.changes, ch)
}

// account adds a change about the account: no metadata, and the entry has the
// time.
func (c *Callback) account(e *Event, field string, value obj) {
	last := c.entry(c.at(e).Unix())
	last.changes = append(last.changes, change{field: field, bare: true, head: value})
}

// entry is the last entry when it has this time, else a new one.
func (c *Callback) entry(at int64) *entry {
	if n := len(c.entries); n == 0 || c.entries[n-1].time != at {
		c.entries = append(c.entries, entry{waba: c.b.WABAID, time: at})
	}
	return &c.entries[len(c.entries)-1]
}

func (c *Callback) at(e *Event) time.Time {
	switch {
	case !e.At.IsZero():
		return e.At
	case c.b.Now != nil:
		return c.b.Now()
	}
	return time.Now()
}

func (c *Callback) stamp(e *Event) string { return strconv.FormatInt(c.at(e).Unix(), 10) }

// id is the item's id, or a new wamid.
func (c *Callback) id(e *Event, out bool) string {
	if e.ID != "" {
		return e.ID
	}
	return c.newID(e.Customer.phone(), out)
}

func (c *Callback) newID(phone string, out bool) string {
	if c.b.NewID != nil {
		return c.b.NewID(phone, out)
	}
	var name [10]byte
	if _, err := rand.Read(name[:]); err != nil {
		c.fail(err)
	}
	return wamid(phone, strings.ToUpper(hex.EncodeToString(name[:])), out)
}

// target is the message that a change is about; made up when not given.
func (c *Callback) target(e *Event, out bool) string {
	if e.Target != "" {
		return e.Target
	}
	return c.newID(e.Customer.phone(), out)
}

// wamid makes a message id as Meta does: base64 of a small record that holds
// the other side's number.
func wamid(number, name string, out bool) string {
	direction := byte(0x12)
	if out {
		direction = 0x11
	}
	if len(number) > 100 {
		number = number[:100]
	}
	record := []byte{0x1c, 0x18, byte(len(number))}
	record = append(record, number...)
	record = append(record, 0x15, 0x02, 0x00, direction, 0x18, byte(len(name)))
	record = append(record, name...)
	record = append(record, 0x00)
	return "wamid." + base64.StdEncoding.EncodeToString(record)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
