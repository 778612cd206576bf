package whatsapptest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Ids and words of what is made up.
const (
	madeUpMedia   = "990000000000001"
	madeUpCatalog = "290000000000451"
)

// message puts one element of value.messages and the sender's contact.
func (c *Callback) message(e *Event, typ string, content any, more ...field) {
	m := append(e.Customer.sender(), field{"id", c.id(e, false)}, field{"timestamp", c.stamp(e)})
	if content != nil {
		m = m.with(typ, content)
	}
	m = m.with("type", typ)
	context := obj{}
	if e.Quote != "" {
		context = context.with("from", c.b.Number).with("id", e.Quote)
	}
	for _, f := range more {
		if f.name != "context" {
			m = append(m, f)
			continue
		}
		if o, ok := f.value.(obj); ok {
			context = append(context, o...)
		}
	}
	m = m.object("context", context).opt("group_id", e.Group)
	c.put(change{field: "messages", people: []Customer{e.Customer}, list: "messages", items: []obj{m}})
}

func (c *Callback) text(e *Event) { c.message(e, "text", textOf(e)) }

func textOf(e *Event) obj { return obj{}.with("body", or(e.Text, "hello")) }

// media is a reference to a file. Its hash is made up only together with its id:
// a reader that checks would refuse a real file with another one.
func media(e *Event, mime string) obj {
	hash := e.Media.SHA256
	if hash == "" && e.Media.ID == "" {
		sum := sha256.Sum256([]byte(madeUpMedia))
		hash = base64.StdEncoding.EncodeToString(sum[:])
	}
	return obj{}.with("mime_type", or(e.Media.MIME, mime)).opt("sha256", hash).with("id", or(e.Media.ID, madeUpMedia))
}

func (c *Callback) image(e *Event) {
	c.message(e, "image", media(e, "image/jpeg").opt("caption", e.Text).opt("url", e.Media.URL))
}

func (c *Callback) video(e *Event) {
	c.message(e, "video", media(e, "video/mp4").opt("caption", e.Text).opt("url", e.Media.URL))
}

func (c *Callback) audio(e *Event) {
	c.message(e, "audio", media(e, "audio/mpeg").with("voice", false).opt("url", e.Media.URL))
}

func (c *Callback) voice(e *Event) {
	c.message(e, "audio", media(e, "audio/ogg; codecs=opus").with("voice", true).opt("url", e.Media.URL))
}

func (c *Callback) document(e *Event) {
	c.message(e, "document", media(e, "application/pdf").with("filename", or(e.Media.Filename, "invoice.pdf")).
		opt("caption", e.Text).opt("url", e.Media.URL))
}

func (c *Callback) sticker(e *Event) {
	c.message(e, "sticker", media(e, "image/webp").with("animated", e.Variant == "animated").opt("url", e.Media.URL))
}

func (c *Callback) location(e *Event) {
	c.message(e, "location", obj{}.with("latitude", raw("51.5007")).with("longitude", raw("-0.1246")).
		with("name", or(e.Text, "Two Bridges Café")).with("address", "1 Example Row, London").with("url", "https://example.test/two-bridges"))
}

// contacts is the card of somebody else, or what the customer sends when asked
// for the number: their own card.
func (c *Callback) contacts(e *Event) {
	name, phone := or(e.Text, "Tomás Ferreira"), "12025550143"
	if e.Variant == "contact_request" {
		name = or(e.Customer.Name, "Maya Lindqvist")
		if !isBSUID(e.Customer.Phone) {
			phone = or(e.Customer.Phone, phone)
		}
	}
	card := obj{}.with("name", obj{}.with("formatted_name", name).with("first_name", name)).
		with("phones", []obj{obj{}.with("phone", "+"+plus(phone)).with("wa_id", plus(phone)).with("type", "CELL")}).
		with("emails", []obj{obj{}.with("email", "maya@example.test").with("type", "WORK")}).
		with("org", obj{}.with("company", "Example Boots")).with("origin", e.Variant)
	c.message(e, "contacts", []obj{card})
}

func (c *Callback) interactive(e *Event, kind string, reply obj) {
	c.message(e, "interactive", obj{}.with("type", kind).with(kind, reply))
}

func (c *Callback) button(e *Event) {
	c.interactive(e, "button_reply", obj{}.with("id", or(e.Choice, "choice-1")).with("title", or(e.Text, "Yes")))
}

func (c *Callback) listReply(e *Event) {
	c.interactive(e, "list_reply", obj{}.with("id", or(e.Choice, "row-1")).with("title", or(e.Text, "09:30")).with("description", "Tue 1 Dec"))
}

// quickReply is a tap on a button of a template, which is a type of its own.
func (c *Callback) quickReply(e *Event) {
	c.message(e, "button", obj{}.with("payload", or(e.Choice, "choice-1")).with("text", or(e.Text, "Yes")))
}

func (c *Callback) flow(e *Event) {
	form := obj{}.with("flow_token", or(e.Choice, "ft-1")).with("date", "2026-12-03").with("guests", "4").with("note", or(e.Text, "by the window"))
	c.interactive(e, "nfm_reply", obj{}.with("name", "flow").with("body", "Sent").with("response_json", string(writer{plain: true}.value(nil, form))))
}

func (c *Callback) addressForm(e *Event) {
	form := obj{}.with("values", obj{}.with("name", or(e.Customer.Name, "Maya")).with("phone_number", "12025550143").
		with("in_pin_code", "400063").with("address", or(e.Text, "1 Example Row")).with("city", "Mumbai"))
	c.interactive(e, "nfm_reply", obj{}.with("name", "address_message").with("body", or(e.Text, "1 Example Row")).
		with("response_json", string(writer{plain: true}.value(nil, form))))
}

func (c *Callback) callPermission(e *Event) {
	reply := obj{}.with("response", e.Variant)
	if e.Variant == "accept" {
		reply = reply.with("is_permanent", false).with("expiration_timestamp", c.at(e).Unix()+7*24*3600)
	}
	c.interactive(e, "call_permission_reply", reply.with("response_source", "user_action"))
}

func (c *Callback) order(e *Event) {
	article := func(id string, quantity int, price string) obj {
		return obj{}.with("product_retailer_id", id).with("quantity", quantity).with("item_price", raw(price)).with("currency", "USD")
	}
	c.message(e, "order", obj{}.with("catalog_id", madeUpCatalog).opt("text", e.Text).
		with("product_items", []obj{article("sku-1", 2, "30"), article("sku-2", 1, "23.5")}))
}

func (c *Callback) referral(e *Event) {
	r := obj{}.with("source_url", "https://fb.me/1xYz").with("source_id", "120299000000000555").with("source_type", e.Variant).
		with("headline", "Our workshop").with("body", "Open every day").with("media_type", "image").
		with("image_url", "https://scontent.example.net/t.jpg")
	if e.Variant == "ad" { // posts have none
		r = r.with("ctwa_clid", "ARAx0k3yFQ_made_up").with("welcome_message", obj{}.with("text", "How can we be of use?"))
	}
	c.message(e, "text", textOf(e), field{"referral", r})
}

func (c *Callback) forwarded(e *Event) {
	word := "forwarded"
	if e.Variant == "often" {
		word = "frequently_forwarded"
	}
	c.message(e, "text", textOf(e), field{"context", obj{}.with(word, true)})
}

func (c *Callback) product(e *Event) {
	about := obj{}
	if e.Quote == "" { // from and id stand there even when the message is unknown
		about = about.with("from", c.b.Number).with("id", c.newID(e.Customer.phone(), true))
	}
	c.message(e, "text", textOf(e), field{"context", about.with("referred_product",
		obj{}.with("catalog_id", madeUpCatalog).with("product_retailer_id", or(e.Choice, "sku-boot-42")))})
}

// problem is an error as callbacks write it.
func problem(code int, title, details string) obj {
	return obj{}.with("code", code).with("title", title).with("message", title).
		with("error_data", obj{}.with("details", or(details, title)))
}

func (c *Callback) unsupported(e *Event) {
	code := e.Code
	if code == 0 {
		code = 131051
	}
	words := map[int]string{131051: "Message type unknown", 131052: "Media download error",
		131060: "This message is unavailable", 130501: "Message type is not currently supported"}[code]
	c.message(e, "unsupported", nil, field{"errors", []obj{problem(code, or(words, "Message is not supported"), e.Text)}})
}

func (c *Callback) interactiveMissing(e *Event) {
	c.message(e, "interactive", nil)
	last := &c.entries[len(c.entries)-1]
	change := &last.changes[len(last.changes)-1]
	change.tail = change.tail.with("errors", []obj{problem(131000, "Something went wrong", "Could not process the interactive reply.")})
}

func (c *Callback) requestWelcome(e *Event) { c.message(e, "request_welcome", nil) }

func (c *Callback) unknownType(e *Event) {
	c.message(e, "hologram", obj{}.with("depth", 3).with("note", or(e.Text, "from next year")))
}

func (c *Callback) groupText(e *Event) {
	in := *e
	in.Group = groupOf(e)
	c.message(&in, "text", textOf(e))
}

// reaction and the like change a message that may not have come yet.

func (c *Callback) reaction(e *Event) {
	c.message(e, "reaction", obj{}.with("message_id", c.target(e, true)).with("emoji", or(e.Emoji, "👍🏽")))
}

// reactionRemoved: Meta leaves the emoji out; an empty one was seen too.
func (c *Callback) reactionRemoved(e *Event) {
	r := obj{}.with("message_id", c.target(e, true))
	if e.Variant == "empty" {
		r = r.with("emoji", "")
	}
	c.message(e, "reaction", r)
}

func (c *Callback) edit(e *Event) { c.message(e, "edit", c.edited(e, false)) }

func (c *Callback) revoke(e *Event) { c.message(e, "revoke", c.revoked(e, false)) }

func (c *Callback) edited(e *Event, out bool) obj {
	m := obj{}
	if e.Quote != "" {
		m = m.with("context", obj{}.with("id", e.Quote))
	}
	if e.Variant == "image" {
		m = m.with("type", "image").with("image", media(e, "image/jpeg").opt("caption", or(e.Text, "corrected")))
	} else {
		m = m.with("type", "text").with("text", obj{}.with("body", or(e.Text, "corrected")))
	}
	return obj{}.with("original_message_id", c.target(e, out)).with("message", m)
}

func (c *Callback) revoked(e *Event, out bool) obj {
	return obj{}.with("original_message_id", c.target(e, out))
}

// batch spreads messages over customers, as after an outage. Of ten in a mixed
// one, six are texts; the others are a picture, a tap, a reaction and a status of
// somebody else's message.
func (c *Callback) batch(e *Event) {
	customers := max(e.Customers, 1)
	for i := range max(e.Count, 1) {
		one := *e
		one.Customer, one.Count = nth(e.Customer, i%customers), 0
		one.Text = fmt.Sprintf("%s %d", or(e.Text, "message"), i+1)
		if e.ID != "" {
			one.ID = fmt.Sprintf("%s-%d", e.ID, i+1)
		}
		kind := "text"
		if e.Variant == "mixed" {
			switch i % 10 {
			case 3:
				kind = "image"
			case 5:
				kind = "button"
			case 7:
				kind = "reaction"
			case 9:
				kind = "status"
				one.ID = c.id(&one, true)
			}
		}
		one.Kind, one.Variant = kind, ""
		c.And(one)
	}
}
