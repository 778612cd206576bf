package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// whatsappBodies makes callback bodies of one business number as Meta writes
// them: compact JSON, everything beyond ASCII as \u escapes, slashes escaped.
// Shapes: Meta, webhooks reference "messages" and "smb_message_echoes".
type whatsappBodies struct {
	PhoneNumberID string
	WABAID        string
	Number        string // our own, in digits
}

// whatsappEvent is what one callback tells.
type whatsappEvent struct {
	Kind     string // text, image, button, list, status, echo
	Customer string // phone number in digits, or with a plus
	Name     string
	ID       string // wamid
	Text     string // text, caption, title
	ChoiceID string // of button and list
	State    string // of status
	Code     int    // of a failed status
	Marker   string // of status
	At       time.Time
}

// whatsappKinds are the kinds that body makes.
func whatsappKinds() []string { return []string{"text", "image", "button", "list", "status", "echo"} }

// body makes the callback; false for a kind that is none.
func (w whatsappBodies) body(e whatsappEvent) ([]byte, bool) {
	if !slices.Contains(whatsappKinds(), e.Kind) {
		return nil, false
	}
	number := strings.TrimPrefix(e.Customer, "+")
	user := whatsapptest.BSUID(number)
	contacts := []any{map[string]any{"profile": map[string]string{"name": e.Name}, "wa_id": number, "user_id": user}}
	stamp := strconv.FormatInt(e.At.Unix(), 10)
	switch e.Kind {
	case "status":
		st := map[string]any{"id": e.ID, "status": e.State, "timestamp": stamp, "recipient_id": number}
		if e.State == "failed" {
			st["errors"] = []any{map[string]any{"code": e.Code, "title": "Message undeliverable",
				"error_data": map[string]string{"details": "Simulated"}}}
		} else {
			st["recipient_user_id"] = user
		}
		if e.Marker != "" {
			st["biz_opaque_callback_data"] = e.Marker
		}
		return w.envelope("messages", map[string]any{"statuses": []any{st}}), true
	case "echo":
		m := map[string]any{"from": w.Number, "to": number, "to_user_id": user, "id": e.ID, "timestamp": stamp,
			"type": "text", "text": map[string]string{"body": e.Text}}
		return w.envelope("smb_message_echoes", map[string]any{"contacts": contacts, "message_echoes": []any{m}}), true
	}
	m := map[string]any{"from": number, "from_user_id": user, "id": e.ID, "timestamp": stamp}
	switch e.Kind {
	case "text":
		m["type"], m["text"] = "text", map[string]string{"body": e.Text}
	case "image":
		m["type"] = "image"
		m["image"] = map[string]string{"id": "990000000000001", "mime_type": "image/jpeg", "caption": e.Text,
			"sha256": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
	case "button":
		m["type"] = "interactive"
		m["interactive"] = map[string]any{"type": "button_reply", "button_reply": map[string]string{"id": e.ChoiceID, "title": e.Text}}
	case "list":
		m["type"] = "interactive"
		m["interactive"] = map[string]any{"type": "list_reply", "list_reply": map[string]string{"id": e.ChoiceID, "title": e.Text}}
	}
	return w.envelope("messages", map[string]any{"contacts": contacts, "messages": []any{m}}), true
}

func (w whatsappBodies) envelope(field string, value map[string]any) []byte {
	value["messaging_product"] = "whatsapp"
	value["metadata"] = map[string]string{"display_phone_number": w.Number, "phone_number_id": w.PhoneNumberID}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]any{"object": "whatsapp_business_account", "entry": []any{map[string]any{
		"id": w.WABAID, "changes": []any{map[string]any{"field": field, "value": value}},
	}}})
	if err != nil {
		return nil // maps of strings always encode
	}
	return escapeLikeMeta(bytes.TrimSpace(b.Bytes()))
}

// escapeLikeMeta rewrites JSON into the form on Meta's wire. The signature goes
// over these bytes, so a gateway that decodes before it verifies is found out.
func escapeLikeMeta(doc []byte) []byte {
	out := make([]byte, 0, len(doc)+len(doc)/8)
	for _, r := range string(doc) {
		switch {
		case r == '/':
			out = append(out, '\\', '/')
		case r < 0x80:
			out = append(out, byte(r))
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800|r>>10, 0xdc00|r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
