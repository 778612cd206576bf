package wecom

import (
	"strconv"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// fillMessage reads what a member wrote to the app. Types that nobody knows, and
// places that are none, are notices in the member's conversation, so that they
// keep their turn in it. Source: path/90239. file and shortvideo are not on
// that page and were seen in SDKs of others: read by the fields of their kin.
func fillMessage(it *gateway.Item, doc *document, msgType string) {
	member(it, doc.value("FromUserName"))
	it.Content.Type = msgType
	id := doc.value("MsgId")
	if id != "" && strings.Trim(id, "0") != "" {
		// MsgId is not proven unique over apps and senders, hence all three.
		it.Key = "m:" + id + ":" + fold(doc.value("FromUserName")) + ":" + doc.value("AgentID")
		it.Content.ID = id
	}
	c := &it.Content
	switch msgType {
	case "text":
		c.Text = doc.value("Content")
	case "image":
		c.Media = &gateway.Media{ID: doc.value("MediaId"), URL: doc.value("PicUrl")}
	case "voice":
		c.Media = &gateway.Media{ID: doc.value("MediaId"), Format: doc.value("Format")}
	case "video", "shortvideo":
		c.Type, c.Media = "video", &gateway.Media{ID: doc.value("MediaId")}
	case "file":
		c.Type, c.Media = "document", &gateway.Media{ID: doc.value("MediaId"), Filename: first(doc.value("FileName"), doc.value("Title"))}
	case "location":
		c.Location = place(doc.value("Location_X"), doc.value("Location_Y"))
		if c.Location == nil {
			return
		}
		c.Location.Address = doc.value("Label")
	case "link":
		c.Link = &gateway.Link{URL: doc.value("Url"), Title: doc.value("Title"), Description: doc.value("Description"), Image: doc.value("PicUrl")}
		c.Text = c.Link.Title
	default:
		return
	}
	it.Kind = gateway.KindMessage
}

// place reads degrees; nil where they are none. X is the latitude.
func place(latitude, longitude string) *gateway.Location {
	x, err := strconv.ParseFloat(latitude, 64)
	y, err2 := strconv.ParseFloat(longitude, 64)
	if err != nil || err2 != nil || !within(x, 90) || !within(y, 180) {
		return nil
	}
	return &gateway.Location{Latitude: x, Longitude: y}
}

// within is false for what is no number.
func within(x, most float64) bool { return x >= -most && x <= most }
