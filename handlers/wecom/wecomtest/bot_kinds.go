package wecomtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// BotEvent is what one callback of a robot tells. Only Kind must be set; what is
// left empty is made up.
type BotEvent struct {
	Kind    string `json:"kind"`
	Variant string `json:"variant,omitempty"`
	// From is who wrote; Chat the group, empty for a single chat.
	From string `json:"from,omitempty"`
	Chat string `json:"chat,omitempty"`
	// ID is the msgid, Text the words, URL the address of a file.
	ID   string `json:"id,omitempty"`
	Text string `json:"text,omitempty"`
	URL  string `json:"url,omitempty"`
	// Key, Task and Picked are of a pressed card.
	Key    string   `json:"key,omitempty"`
	Task   string   `json:"task,omitempty"`
	Picked []string `json:"picked,omitempty"`
	// Response is the address for a late answer; "-" for none.
	Response string `json:"response,omitempty"`
}

// BotKinds lists every kind of callback of a robot; the names begin with "aibot-".
func BotKinds() []Kind {
	const message, notice = gateway.KindMessage, gateway.KindNotice
	return []Kind{
		{Name: "aibot-text", Class: message, Of: "member", Type: "text", About: "somebody writes to a robot (--text, --chat for a group)"},
		{Name: "aibot-image", Class: message, Of: "member", Type: "image", About: "sends it a picture (--url)"},
		{Name: "aibot-mixed", Class: message, Of: "member", Type: "mixed", About: "words and pictures"},
		{Name: "aibot-voice", Class: message, Of: "member", Type: "voice", About: "speaks; the words that were recognised come"},
		{Name: "aibot-file", Class: message, Of: "member", Type: "document", About: "sends it a file (--url)"},
		{Name: "aibot-video", Class: message, Of: "member", Type: "video", About: "sends it a video (--url)"},
		{Name: "aibot-quote", Variants: "text image", Class: message, Of: "member", Type: "text", About: "writes about a message that is quoted"},
		{Name: "aibot-card", Class: message, Of: "member", Type: "button_reply", About: "presses a button of a card (--key, --task)"},
		{Name: "aibot-card-form", Class: message, Of: "member", Type: "form", About: "ticks on a card (--picked)"},
		{Name: "aibot-enter", Class: notice, Of: "member", Type: "event.enter_chat", About: "opens the chat, the first time of a day"},
		{Name: "aibot-feedback", Variants: "1 2 3", Class: notice, Of: "member", Type: "event.feedback_event", About: "likes an answer or not (1 good, 2 bad, 3 taken back)"},
		{Name: "aibot-event", Variants: "bot_renamed", Open: true, Class: notice, Of: "member", About: "any event by its name (--event)"},
		{Name: "aibot-unknown-type", Class: notice, Of: "member", Type: "hologram", About: "a message of a type that nobody knows yet"},
	}
}

// BotKindNamed finds a kind.
func BotKindNamed(name string) (Kind, bool) {
	all := BotKinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

type object = map[string]any

// Inner makes the JSON of a callback and its msgid; it is neither encrypted nor
// signed. A kind or variant that does not exist is an error.
func (e BotEvent) Inner(botID, newID string, now time.Time) (msgID string, inner []byte, err error) {
	k, ok := BotKindNamed(e.Kind)
	if !ok {
		return "", nil, fmt.Errorf("wecomtest: %q is no kind of callback of a robot", e.Kind)
	}
	if e.Variant, ok = k.Variant(e.Variant); !ok {
		return "", nil, fmt.Errorf("wecomtest: %s has no variant %q", k.Name, e.Variant)
	}
	e.fillIn(newID)
	doc := object{"msgid": e.ID, "aibotid": botID, "chattype": "single", "from": object{"userid": e.From}}
	if e.Chat != "" {
		doc["chattype"], doc["chatid"] = "group", e.Chat
	}
	if e.Response != "-" {
		doc["response_url"] = e.Response
	}
	text, image := object{"content": e.Text}, object{"url": e.URL}
	event := func(name string, body any) {
		doc["msgtype"], doc["create_time"] = "event", now.Unix()
		ev := object{"eventtype": name}
		if body != nil {
			ev[name] = body
		}
		doc["event"] = ev
	}
	switch kind := e.Kind[len("aibot-"):]; kind {
	case "text", "voice":
		doc["msgtype"], doc[kind] = kind, text
	case "image", "file", "video":
		doc["msgtype"], doc[kind] = kind, image
	case "mixed":
		doc["msgtype"] = kind
		doc[kind] = object{"msg_item": []object{{"msgtype": "text", "text": text}, {"msgtype": "image", "image": image}}}
	case "quote":
		doc["msgtype"], doc["text"] = "text", text
		quoted := object{"msgtype": e.Variant, "text": object{"content": "what was said before"}}
		if e.Variant == "image" {
			quoted = object{"msgtype": "image", "image": image}
		}
		doc["quote"] = quoted
	case "card":
		event("template_card_event", object{"card_type": "button_interaction", "event_key": e.Key, "task_id": e.Task})
	case "card-form":
		event("template_card_event", object{"card_type": "multiple_interaction", "event_key": e.Key, "task_id": e.Task,
			"selected_items": object{"selected_item": []object{{"question_key": "question-1", "option_ids": object{"option_id": e.Picked}}}}})
	case "enter":
		delete(doc, "chattype") // so it is documented
		delete(doc, "response_url")
		event("enter_chat", nil)
	case "feedback":
		event("feedback_event", object{"id": e.Task, "type": json.Number(e.Variant), "content": e.Text})
	case "event":
		event(e.Variant, object{"name": e.Text})
	default:
		doc["msgtype"], doc["hologram"] = "hologram", object{"depth": 3}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(doc)
	return e.ID, bytes.TrimSpace(b.Bytes()), err
}

func (e *BotEvent) fillIn(newID string) {
	or := func(s *string, made string) {
		if *s == "" {
			*s = made
		}
	}
	or(&e.From, "LinXiaoyu")
	or(&e.ID, newID)
	or(&e.Text, "made up")
	or(&e.URL, "https://ww-aibot-img.example.invalid/made-up?sign=a%2Bb")
	or(&e.Key, "KEY")
	or(&e.Task, "task-made-up-0001")
	or(&e.Response, "https://qyapi.weixin.qq.com/cgi-bin/aibot/response?response_code=made-up-"+url.QueryEscape(e.ID))
	if len(e.Picked) == 0 {
		e.Picked = []string{"option-1", "option-3"}
	}
}
