package wecom

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// How long the platform takes a one-time code. Sources: path/92137 and
// path/94888.
const (
	welcomeLife = 20 * time.Second
	cardLife    = 72 * time.Hour
)

// fillEvent names an event "event.<Event>[.<ChangeType>]". Those a member caused
// in the chat with the app go into that conversation; state and notices about
// somebody go under a key of their own, all others under the account's: a change
// in the corp has no place in anybody's order. Events carry no id; their key is
// the hash of the plaintext, since sender and second are the same for different
// events. Source: path/90240, and reports of lost events.
func fillEvent(it *gateway.Item, doc *document, event string) {
	it.Content.Type = "event." + event
	if change := doc.value("ChangeType"); change != "" {
		it.Content.Type += "." + change
	}
	from := doc.value("FromUserName")
	if conversational(event) && from != "" && from != "sys" {
		member(it, from)
		fillConversation(it, doc, event)
		return
	}
	fillState(it, doc, event)
}

// conversational lists the events of path/90240 that a member causes in the chat
// with the app: menu, card, scan, location. subscribe and unsubscribe are not
// among them, they say something about the member.
func conversational(event string) bool {
	switch event {
	case "enter_agent", "LOCATION", "click", "view", "view_miniprogram",
		"scancode_push", "scancode_waitmsg",
		"pic_sysphoto", "pic_photo_or_album", "pic_weixin", "location_select",
		"taskcard_click", "template_card_event", "template_card_menu_event":
		return true
	}
	return false
}

// fillConversation reads an event of the chat. What a member chose, and a scan
// whose sender waits for an answer, are messages as they are on other platforms:
// a bot can answer them. That somebody opened the app or a page, was somewhere,
// or is about to send a picture (which comes as a message) are notices.
func fillConversation(it *gateway.Item, doc *document, event string) {
	c, key := &it.Content, doc.value("EventKey")
	if key != "" {
		c.Choice = &gateway.Choice{ID: key}
	}
	switch event {
	case "click":
		answerable(it, "button")
	case "taskcard_click":
		answerable(it, "button_reply")
	case "template_card_menu_event":
		answerable(it, "list_reply")
	case "template_card_event":
		answerable(it, "button_reply")
		if picked := selected(doc); picked != nil {
			c.Type, c.Form = "form", &gateway.Form{Name: doc.value("CardType"), Response: picked}
		}
	case "scancode_waitmsg":
		answerable(it, "scan")
		c.Text = doc.value("ScanCodeInfo/ScanResult")
	case "scancode_push":
		c.Text = doc.value("ScanCodeInfo/ScanResult")
	case "view":
		c.Choice = nil
		if key != "" {
			c.Link = &gateway.Link{URL: key}
		}
	case "LOCATION":
		c.Location = place(doc.value("Latitude"), doc.value("Longitude"))
	case "location_select":
		c.Location = place(doc.value("SendLocationInfo/Location_X"), doc.value("SendLocationInfo/Location_Y"))
		if c.Location != nil {
			c.Location.Name, c.Location.Address = doc.value("SendLocationInfo/Poiname"), doc.value("SendLocationInfo/Label")
		}
	}
	// Of cards: the id that we gave the card, and the code that changes it once.
	c.QuotedID = doc.value("TaskId")
	handle(it, "card", doc.value("ResponseCode"), cardLife)
}

func answerable(it *gateway.Item, as string) { it.Kind, it.Content.Type = gateway.KindMessage, as }

// handle keeps a one-time code with the time at which it ends.
func handle(it *gateway.Item, kind, code string, life time.Duration) {
	if code == "" {
		return
	}
	it.Content.Handle = &gateway.Handle{Kind: kind, Code: code}
	if !it.OccurredAt.IsZero() {
		until := it.OccurredAt.Add(life)
		it.Content.Handle.Until = &until
	}
}

// selected reads what was ticked on a card as {"question": ["option", ...]}, in
// the order of the document; nil where there is nothing. A question that comes
// again adds to its options.
func selected(doc *document) json.RawMessage {
	const root = "SelectedItems/SelectedItem"
	var questions []string
	options := map[string][]string{}
	var q string // of the item gone through; its options may come before it
	var early []string
	put := func() {
		if q != "" {
			options[q] = append(options[q], early...)
		}
		q, early = "", nil
	}
	for _, f := range doc.fields {
		switch text := strings.TrimSpace(f.text); f.path {
		case root:
			put()
		case root + "/QuestionKey":
			if q = text; q != "" {
				if _, known := options[q]; !known {
					questions, options[q] = append(questions, q), []string{}
				}
			}
		case root + "/OptionIds/OptionId":
			early = append(early, text)
		}
	}
	put()
	return pickedJSON(questions, options)
}

// pickedJSON writes questions in their order; nil for none.
func pickedJSON(questions []string, options map[string][]string) json.RawMessage {
	if len(questions) == 0 {
		return nil
	}
	out := []byte{'{'}
	for i, q := range questions {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(q)                                 // a string always can be
		list, _ := json.Marshal(append([]string{}, options[q]...)) // strings too; an empty list is []
		out = append(append(append(out, name...), ':'), list...)
	}
	return append(out, '}')
}
