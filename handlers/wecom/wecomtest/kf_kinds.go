package wecomtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// kfSessions are the change_types of a session, from 1. Source: WeCom 94670.
const kfSessions = "taken transferred ended taken_again"

// KfKinds lists what comes to customer service: what customers write, what
// colleagues do, and events. None of it is a callback: it stands in the pages of
// kf/sync_msg, and a bell rings. The names begin with "kf-". Source: WeCom 94670.
func KfKinds() []Kind {
	const (
		message = gateway.KindMessage
		state   = gateway.KindState
		notice  = gateway.KindNotice
	)
	return []Kind{
		{Name: "kf-text", Class: message, Of: "customer", Type: "text", About: "a customer writes to customer service (--customer, --text)"},
		{Name: "kf-menu", Class: message, Of: "customer", Type: "button_reply", About: "picks from a menu that we sent (--key, --text)"},
		{Name: "kf-image", Class: message, Of: "customer", Type: "image", About: "sends a picture"},
		{Name: "kf-voice", Class: message, Of: "customer", Type: "voice", About: "sends a voice message"},
		{Name: "kf-video", Class: message, Of: "customer", Type: "video", About: "sends a video"},
		{Name: "kf-file", Class: message, Of: "customer", Type: "document", About: "sends a file"},
		{Name: "kf-location", Class: message, Of: "customer", Type: "location", About: "sends a place (--latitude, --longitude)"},
		{Name: "kf-link", Class: message, Of: "customer", Type: "link", About: "sends a page"},
		{Name: "kf-miniprogram", Class: message, Of: "customer", Type: "miniprogram", About: "sends a mini program"},
		{Name: "kf-channels", Class: message, Of: "customer", Type: "channels", About: "sends a post of a channel"},
		{Name: "kf-channels-shop-product", Class: message, Of: "customer", Type: "channels_shop_product", About: "asks about an article of the shop"},
		{Name: "kf-channels-shop-order", Class: message, Of: "customer", Type: "channels_shop_order", About: "asks about an order"},
		{Name: "kf-merged-msg", Class: message, Of: "customer", Type: "merged_msg", About: "forwards a conversation"},
		{Name: "kf-business-card", Class: message, Of: "customer", Type: "business_card", About: "sends a member's card"},
		{Name: "kf-staff", Class: gateway.KindEcho, Of: "customer", Type: "text", About: "a colleague writes by hand and has the session (--from, --text)"},
		{Name: "kf-recall", Variants: "customer staff", Class: gateway.KindChange, Of: "customer", Type: "revoke", About: "takes a message back (--target; default the last one)"},
		{Name: "kf-send-fail", Variants: "10 1 2 4 5 6 7 8 11 12", Class: gateway.KindStatus, Of: "customer", Type: "status", About: "a message of ours did not arrive (--target; default the last one; 4 48 hours, 6 five messages, 10 refused)"},
		{Name: "kf-enter-session", Class: notice, Of: "customer", Type: "event.enter_session", About: "a customer opens the chat; a first time has a welcome code"},
		{Name: "kf-session", Variants: kfSessions, Class: state, Of: "session", Type: "event.session_status_change", About: "a colleague has the session, or it is over (--from)"},
		{Name: "kf-refuse", Variants: "refused accepted", Class: state, Of: "session", Type: "event.reject_customer_msg_switch_change", About: "whether a customer's messages are refused"},
		{Name: "kf-servicer", Variants: "not_receiving receiving", Class: state, Of: "member", Type: "event.servicer_status_change", About: "a colleague is away, or back (--from)"},
		{Name: "kf-event", Variants: "kf_made_up_event", Open: true, Class: notice, Of: "customer", About: "any event by its name, such as one that nobody knows"},
		{Name: "kf-unknown-type", Class: notice, Of: "customer", Type: "hologram", About: "a message of a type that nobody knows yet"},
	}
}

// KfKindNamed finds a kind.
func KfKindNamed(name string) (Kind, bool) {
	all := KfKinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// tellKf lets something of a kind come to customer service. Files that are not
// named exist from now on.
func (s *Sandbox) tellKf(k *Kind, e Event) (msgID string, err error) {
	var ok bool
	if e.Variant, ok = k.Variant(e.Variant); !ok {
		return "", fmt.Errorf("wecomtest: %s has no variant %q", k.Name, e.Variant)
	}
	if accounts := s.kf.accounts; e.Kf == "" && len(accounts) > 0 {
		e.Kf = accounts[0]
	}
	file := e.Media
	e.fillIn()
	if e.Media = file; file == "" {
		e.Media = s.kfFile(k.Name)
	}
	in := KfItem{Kf: e.Kf, Customer: e.Customer, ID: e.ID, At: e.At}
	if in.Event, in.Content = s.kfEvent(&e); in.Event == "" {
		in.Type, in.Content = kfContent(&e)
	}
	if k.Name == "kf-staff" {
		in.Staff = e.From
	}
	return s.Kf(in)
}

// kfFile makes the file of a message; empty for a kind without one.
func (s *Sandbox) kfFile(kind string) string {
	switch kind {
	case "kf-image":
		return s.AddFile("image", "picture.png", "image/png", []byte("\x89PNG\r\n\x1a\n of the sandbox"))
	case "kf-voice":
		return s.AddFile("voice", "voice.amr", "audio/amr", []byte("#!AMR\n of the sandbox"))
	case "kf-video":
		return s.AddFile("video", "video.mp4", "video/mp4", []byte("\x00\x00\x00\x18ftypmp42 of the sandbox"))
	case "kf-file":
		return s.AddFile("file", "order.pdf", "application/pdf", []byte("%PDF-1.4 of the sandbox"))
	}
	return ""
}

// kfContent is the msgtype of a message, and what stands under its name.
func kfContent(e *Event) (typ string, content map[string]any) {
	typ = strings.ReplaceAll(strings.TrimPrefix(e.Kind, "kf-"), "-", "_")
	switch typ {
	case "staff", "menu", "text":
		content = object{"content": e.Text}
		if typ == "menu" {
			content["menu_id"] = e.Key
		}
		return "text", content
	case "image", "voice", "video":
		return typ, object{"media_id": e.Media}
	case "file":
		return typ, object{"media_id": e.Media, "filename": "order.pdf"}
	case "location":
		return typ, object{"latitude": e.Latitude, "longitude": e.Longitude, "name": e.Text, "address": "1 Made-up Road"}
	case "link":
		return typ, object{"title": e.Text, "desc": "made up", "url": "https://shop.example.invalid/page", "pic_url": "https://shop.example.invalid/page.png"}
	case "miniprogram":
		return typ, object{"title": e.Text, "appid": "wxmadeup0001", "pagepath": "pages/index", "thumb_media_id": madeUpMedia}
	case "channels":
		return typ, object{"sub_type": 1, "nickname": "made up", "title": e.Text}
	case "channels_shop_product":
		return typ, object{"product_id": e.Key, "title": e.Text, "sales_price": "100", "shop_nickname": "made up"}
	case "channels_shop_order":
		return typ, object{"order_id": e.Key, "product_titles": e.Text, "price_wording": "1.00", "state": "paid"}
	case "merged_msg":
		return typ, object{"title": e.Text, "item": []object{{"send_time": 1, "msgtype": "text", "sender_name": "made up", "msg_content": `{"text":{"content":"made up"}}`}}}
	case "business_card":
		return typ, object{"userid": e.From}
	}
	return "hologram", object{"depth": 3}
}

// kfEvent is the event_type of an event and its fields; empty for what is none.
func (s *Sandbox) kfEvent(e *Event) (event string, fields map[string]any) {
	switch e.Kind {
	case "kf-enter-session":
		return "enter_session", object{"scene": "made_up_scene", "scene_param": e.Key}
	case "kf-session":
		change := object{"change_type": 1 + slices.Index(strings.Fields(kfSessions), e.Variant)}
		who := "new_servicer_userid"
		if e.Variant == "ended" {
			who = "old_servicer_userid"
		}
		change[who] = e.From
		return "session_status_change", change
	case "kf-send-fail":
		return "msg_send_fail", object{"fail_msgid": s.kfTarget(e, s.kfSentLast), "fail_type": json.Number(e.Variant)}
	case "kf-recall":
		target := s.kfTarget(e, s.kf.wroteLast)
		if e.Variant == "staff" {
			return "servicer_recall_msg", object{"recall_msgid": target, "servicer_userid": e.From}
		}
		return "user_recall_msg", object{"recall_msgid": target}
	case "kf-refuse":
		return "reject_customer_msg_switch_change", object{"reject_switch": one(e.Variant == "refused"), "servicer_userid": e.From}
	case "kf-servicer":
		return "servicer_status_change", object{"status": 1 + one(e.Variant == "not_receiving"), "servicer_userid": e.From}
	case "kf-event":
		return e.Variant, object{"made_up": e.Text}
	}
	return "", nil
}

// kfTarget is the message that an event is about.
func (s *Sandbox) kfTarget(e *Event, last func(*Event) string) string {
	if e.Target != "" {
		return e.Target
	}
	if id := last(e); id != "" {
		return id
	}
	return "made-up-message-0001"
}

// kfSentLast is the last message of ours that was taken for a customer.
func (s *Sandbox) kfSentLast(e *Event) string {
	for _, c := range slices.Backward(s.Calls()) {
		if c.Accepted && c.To == e.Customer && c.Account == s.o.CorpID+"/kf:"+e.Kf {
			return c.MessageID
		}
	}
	return ""
}

// wroteLast is the last message of a customer, or of a colleague to them.
func (k *kfDesk) wroteLast(e *Event) string {
	origin := 3
	if e.Variant == "staff" {
		origin = 5
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, it := range slices.Backward(k.list) {
		var m struct {
			ID       string `json:"msgid"`
			Customer string `json:"external_userid"`
			Origin   int    `json:"origin"`
		}
		if json.Unmarshal(it.body, &m) == nil && it.kf == e.Kf && m.Customer == e.Customer && m.Origin == origin {
			return m.ID
		}
	}
	return ""
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
