package whatsapp

import (
	"encoding/json"

	"github.com/causewayhq/causeway/gateway"
)

// fillInteractive reads the answer to a button, a list, a form or a question for
// permission to call. The object may be missing, with the reason in value.errors.
func fillInteractive(c *gateway.Content, v value) (gateway.Kind, string) {
	if v.isNull() {
		return gateway.KindNotice, ""
	}
	if !v.isObject() {
		return gateway.KindNotice, "interactive is no object"
	}
	o := v.object()
	kind := o.text("type")
	if kind != "" {
		c.Type = clip(kind)
	}
	switch kind {
	case "button_reply", "list_reply", "nfm_reply", "call_permission_reply":
	default:
		return gateway.KindNotice, ""
	}
	if !o.get(kind).isObject() {
		return gateway.KindNotice, clip(kind) + " is no object"
	}
	r := o.object(kind)
	switch kind {
	case "nfm_reply":
		c.Type = "form"
		c.Form = &gateway.Form{Name: clip(r.text("name")), Body: r.text("body"), Response: response(r.get("response_json"))}
	case "call_permission_reply":
		c.Choice = &gateway.Choice{ID: clip(r.text("response"))}
		if r.text("response_source") == "automatic" {
			return gateway.KindNotice, "" // given by calling us; nobody wrote
		}
	default:
		c.Choice = &gateway.Choice{ID: r.text("id"), Title: r.text("title"), Description: r.text("description")}
	}
	return gateway.KindMessage, ""
}

// response is what a form gave: JSON inside a text, of any shape. What is no
// JSON, or nested so deep that a reader may refuse it, stays a text.
func response(v value) json.RawMessage {
	if !v.isString() {
		return v.raw()
	}
	text := v.text()
	if inner := []byte(text); json.Valid(inner) && value(inner).depth() <= maxDepth {
		return inner
	}
	b, err := json.Marshal(text)
	if err != nil { // a string always can be written
		return nil
	}
	return b
}

// fillOrder reads a basket. Numbers stay texts: 0.1 has no float64.
func fillOrder(c *gateway.Content, v value) string {
	if !v.isObject() {
		return "order is no object"
	}
	o := v.object()
	c.Text = o.text("text")
	c.Order = &gateway.Order{Catalog: clip(o.text("catalog_id"))}
	for _, e := range o.get("product_items").elements() {
		p := e.object()
		c.Order.Items = append(c.Order.Items, gateway.OrderItem{
			Product:  clip(p.text("product_retailer_id")),
			Quantity: clip(p.text("quantity")),
			Price:    clip(p.text("item_price")),
			Currency: clip(p.text("currency")),
		})
	}
	return ""
}

// fillChange reads what is said of an earlier message. A reaction without an
// emoji was taken back. An edit holds the whole new message.
func fillChange(c *gateway.Content, v value) (gateway.Kind, string) {
	o := v.object()
	target := bounded(firstText(o, "message_id", "original_message_id"))
	if target == "" {
		return gateway.KindNotice, c.Type + " without the message it is about"
	}
	c.Target = &gateway.Target{MessageID: target}
	switch c.Type {
	case "reaction":
		c.Target.Emoji = clip(o.text("emoji"))
		c.Target.Removed = c.Target.Emoji == ""
	case "edit":
		message := o.object("message")
		edited := gateway.Content{Type: message.text("type")}
		switch edited.Type {
		case "reaction", "edit", "revoke": // nobody edits these
			return gateway.KindChange, ""
		}
		if _, why := fillContent(&edited, message); why != "" {
			return gateway.KindNotice, "edit: " + why
		}
		// Everything but what belongs to the event itself.
		edited.Type, edited.ID, edited.Target, edited.From = c.Type, c.ID, c.Target, c.From
		edited.Observed, edited.Echo, edited.Identity = c.Observed, c.Echo, c.Identity
		edited.Problems = append(c.Problems, edited.Problems...)
		if edited.QuotedID == "" {
			edited.QuotedID = c.QuotedID
		}
		*c = edited
	}
	return gateway.KindChange, ""
}
