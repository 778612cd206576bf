package wecom

import (
	"encoding/json"

	"github.com/causewayhq/causeway/gateway"
)

// fillKfContent reads what was written; false for a type that nobody knows, and
// for one whose own part is missing. Types with nothing that others have are told
// by their name, and the rest is in the raw part. Source: WeCom 94670.
func fillKfContent(c *gateway.Content, o object) (known bool) {
	typ := o.text("msgtype")
	in, ok := toObject(o[typ])
	if !ok {
		return false
	}
	switch typ {
	case "text":
		c.Text = in.text("content")
		if menu := in.text("menu_id"); menu != "" { // of a menu that we sent
			c.Type, c.Choice = "button_reply", &gateway.Choice{ID: menu, Title: c.Text}
		}
	case "image", "video":
		c.Media = &gateway.Media{ID: in.text("media_id")}
	case "voice":
		c.Media = &gateway.Media{ID: in.text("media_id"), Format: "amr"} // we ask for it
	case "file":
		c.Type, c.Media = "document", &gateway.Media{ID: in.text("media_id"), Filename: in.text("filename")}
	case "location":
		c.Location = place(in.text("latitude"), in.text("longitude"))
		if c.Location == nil {
			return false
		}
		c.Location.Name, c.Location.Address = in.text("name"), in.text("address")
	case "link":
		c.Link = &gateway.Link{URL: in.text("url"), Title: in.text("title"), Description: in.text("desc"), Image: in.text("pic_url")}
		c.Text = c.Link.Title
	case "msgmenu":
		c.Text = in.text("head_content")
	case "miniprogram", "merged_msg", "channels":
		c.Text = in.text("title")
	case "channels_shop_product":
		c.Text, c.Product = in.text("title"), &gateway.Product{Product: in.text("product_id")}
	case "channels_shop_order":
		c.Text = in.text("product_titles")
	case "business_card", "meeting", "schedule", "note":
	default:
		return false
	}
	return true
}

// failWord says what a fail_type means. Source: WeCom 94670.
func failWord(failType string) string {
	switch failType {
	case "1":
		return "the kf account was deleted"
	case "2":
		return "the app was closed"
	case "4":
		return "more than 48 hours since the customer's last message"
	case "5":
		return "the session was closed"
	case "6":
		return "more than five messages since the customer's last one"
	case "7":
		return "no channels account is bound"
	case "8":
		return "the corporation is not verified"
	case "10":
		return "the customer refuses messages"
	case "11":
		return "no member of the corporation has signed in"
	case "12":
		return "the type of message is banned"
	}
	return "not delivered"
}

// number reads a small code; 0 for what is none.
func number(s string) int {
	var n int
	if json.Unmarshal([]byte(s), &n) != nil {
		return 0
	}
	return n
}
