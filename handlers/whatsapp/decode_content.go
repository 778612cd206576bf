package whatsapp

import (
	"github.com/causewayhq/causeway/gateway"
)

// fillContent reads what an element says into the shared model, and which kind
// of event that makes when a customer did it. It is used for echoes and old
// messages too. why tells of a known type whose own part cannot be read.
// Source: Meta, webhooks reference, "messages", one page per type.
func fillContent(c *gateway.Content, o object) (kind gateway.Kind, why string) {
	fillContext(c, o)
	c.Problems = problems(o.get("errors"))
	kind, why = gateway.KindMessage, ""
	switch c.Type {
	case "text":
		body := o.object("text").get("body")
		if !body.isString() {
			why = "text without body"
		}
		c.Text = body.text()
	case "image", "audio", "voice", "video", "document", "sticker":
		why = fillMedia(c, o.get(c.Type))
	case "location":
		why = fillLocation(c, o.get("location"))
	case "contacts":
		why = fillContacts(c, o.get("contacts"))
	case "interactive":
		kind, why = fillInteractive(c, o.get("interactive"))
	case "button":
		b := o.get("button")
		if !b.isObject() {
			why = "button is no object"
		}
		c.Choice = &gateway.Choice{ID: b.object().text("payload"), Title: b.object().text("text")}
	case "order":
		why = fillOrder(c, o.get("order"))
	case "reaction", "edit", "revoke":
		return fillChange(c, o.get(c.Type))
	case "media_placeholder": // of a history: the file was not synced
	default:
		return gateway.KindNotice, ""
	}
	if why != "" {
		kind = gateway.KindNotice
	}
	return kind, why
}

// fillContext reads what any type may carry: the message it answers, how often
// it was forwarded, the article it asks about, and the advertisement that led
// here.
func fillContext(c *gateway.Content, o object) {
	if context := o.object("context"); context != nil {
		c.QuotedID = bounded(context.text("id"))
		switch {
		case context.get("frequently_forwarded").isTrue():
			c.Forwarded = 2
		case context.get("forwarded").isTrue():
			c.Forwarded = 1
		}
		if p := context.get("referred_product"); p.isObject() {
			c.Product = &gateway.Product{Catalog: clip(p.object().text("catalog_id")), Product: clip(p.object().text("product_retailer_id"))}
		}
	}
	v := o.get("referral")
	if !v.isObject() {
		return
	}
	r := v.object()
	c.Referral = &gateway.Referral{
		Source:   clip(r.text("source_type")),
		ID:       clip(r.text("source_id")),
		URL:      address(r.text("source_url")),
		Headline: r.text("headline"),
		Body:     r.text("body"),
		Media:    clip(r.text("media_type")),
		MediaURL: address(firstText(r, "image_url", "video_url", "thumbnail_url")),
		Click:    bounded(r.text("ctwa_clid")),
		Ref:      r.text("ref"),
		Welcome:  r.object("welcome_message").text("text"),
	}
}

// address bounds a URL: a longer one is no address that anything opens, and half
// of it would be another one.
func address(s string) string {
	if len(s) > 8192 {
		return ""
	}
	return s
}

// fillMedia reads a reference to a file. The object is missing where Meta could
// not fetch the file (error 131052, over 100 MB): the customer wrote all the
// same. A file name is the sender's word, never a path of ours.
func fillMedia(c *gateway.Content, v value) string {
	if v.isNull() {
		return ""
	}
	if !v.isObject() {
		return c.Type + " is no object"
	}
	m := v.object()
	c.Media = &gateway.Media{
		ID:       bounded(m.text("id")),
		MIME:     clip(m.text("mime_type")),
		SHA256:   clip(m.text("sha256")),
		Filename: clip(m.text("filename")),
		URL:      address(firstText(m, "url", "link")), // link: what a send call names
		Animated: m.get("animated").isTrue(),
	}
	c.Text = m.text("caption")
	if c.Type == "audio" && m.get("voice").isTrue() {
		c.Type = "voice"
	}
	return ""
}

func fillLocation(c *gateway.Content, v value) string {
	o := v.object()
	lat, okLat := o.get("latitude").degrees(90)
	long, okLong := o.get("longitude").degrees(180)
	if !okLat || !okLong {
		return "location without coordinates"
	}
	c.Location = &gateway.Location{
		Latitude: lat, Longitude: long,
		Name: o.text("name"), Address: o.text("address"), URL: address(o.text("url")),
	}
	return ""
}

// contactRequest is the origin of a card with which the customer answered our
// request for their number.
const contactRequest = "contact_request"

// maxCards bounds the cards read; WhatsApp's apps send up to 257 at once. The
// others are in the raw part.
const maxCards = 300

func fillContacts(c *gateway.Content, v value) string {
	if !v.isArray() {
		return "contacts is no list"
	}
	for i, e := range v.elements() {
		if i == maxCards {
			break
		}
		c.Contacts = append(c.Contacts, card(e.object()))
	}
	return ""
}

func card(o object) gateway.ContactCard {
	name := o.object("name")
	one := gateway.ContactCard{
		Name:      clip(name.text("formatted_name")),
		Org:       clip(o.object("org").text("company")),
		Requested: o.text("origin") == contactRequest,
	}
	if one.Name == "" {
		one.Name = clip(joined(name.text("first_name"), name.text("last_name")))
	}
	for i, p := range o.get("phones").elements() {
		if n := firstText(p.object(), "phone", "wa_id"); n != "" && i < maxCards {
			one.Phones = append(one.Phones, clip(n))
		}
	}
	for i, p := range o.get("emails").elements() {
		if m := p.object().text("email"); m != "" && i < maxCards {
			one.Emails = append(one.Emails, clip(m))
		}
	}
	return one
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// problems reads a list of errors.
func problems(v value) []gateway.Problem {
	var list []gateway.Problem
	for i, e := range v.elements() {
		if i == maxCards {
			break
		}
		list = append(list, problem(e))
	}
	return list
}

// problem reads one error. The detail is the most telling text given.
func problem(v value) gateway.Problem {
	o := v.object()
	p := gateway.Problem{
		Code:   int(o.get("code").number()),
		Title:  clip(o.text("title")),
		Detail: clip(o.object("error_data").text("details")),
	}
	if p.Detail == "" {
		p.Detail = clip(o.text("message"))
	}
	return p
}

func firstText(o object, names ...string) string {
	for _, n := range names {
		if t := o.text(n); t != "" {
			return t
		}
	}
	return ""
}
