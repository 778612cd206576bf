package unified

import (
	"errors"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// side is who wrote, as far as an item tells.
type side int

const (
	sideTheirs side = iota
	sideOurs
	sideUnknown
)

// whose says who wrote. A sender that is known as ours decides before the vendor's
// flag: taking our own words for a customer's would make a loop.
func (d *decoder) whose(s *scope) side {
	sender := d.sender.first(s)
	own, known := d.owns(s, sender)
	if own {
		return sideOurs
	}
	switch d.fromSelf.first(s) {
	case "true", "1":
		return sideOurs
	case "false", "0":
		return sideTheirs
	}
	if known && sender != "" {
		return sideTheirs
	}
	return sideUnknown
}

// owns says whether an id is one of ours, and whether any of ours is known.
func (d *decoder) owns(s *scope, id string) (own, known bool) {
	for _, p := range d.ownID {
		if text := s.text(p); text != "" {
			own, known = own || text == id, true
		}
	}
	return own, known
}

// message reads what somebody wrote. What our side wrote, or may have written, is
// an echo: the ledger judges it by marker and id against what we sent, and Otherwise
// says what it is when it is none of that. An echo that reports an error is the
// status of a message that failed.
func (d *decoder) message(it *gateway.Item, s *scope, echo bool) error {
	from := d.whose(s)
	if echo {
		from = sideOurs
	}
	marker := d.markerOf(s)
	if marked := gateway.OurMarker(marker); from == sideTheirs && !marked {
		it.Kind = gateway.KindMessage
	} else {
		if code := d.errorCode.first(s); code != "" && code != "0" && from == sideOurs {
			return d.failed(it, s)
		}
		it.Kind = gateway.KindEcho
		it.Content.Echo = &gateway.Echo{MessageID: d.sentAs(s), Marker: marker}
		switch {
		case from != sideOurs: // also of what has our marker and is said to be theirs
			it.Content.Echo.Otherwise = gateway.JudgedUndecided
		case d.sources[d.source.first(s)] == "system":
			it.Content.Echo.Otherwise = gateway.JudgedForeign
		}
	}
	if err := d.join(it, s, from); err != nil {
		return err
	}
	if it.Content.Echo != nil && from == sideOurs {
		it.Content.Echo.To = it.Chat.Identities
	}
	if id := d.sender.first(s); id != "" {
		if len(id) > maxID {
			return errors.New("a sender's id of more than 256 bytes")
		}
		it.Content.From = &gateway.Party{Name: d.senderName.first(s), Identities: []gateway.Identity{{Kind: "userid", Value: id}}}
	}
	d.content(it, s)
	return nil
}

// content fills in what was written. A type that is not known makes a message a
// notice, and leaves an echo what it is: that our side wrote is what counts.
func (d *decoder) content(it *gateway.Item, s *scope) {
	c := &it.Content
	word := d.typ.first(s)
	typ, known := d.types[word]
	switch {
	case known:
	case len(d.typ) == 0:
		typ = "text"
	case slices.Contains([]string{"text", "image", "voice", "audio", "video", "document", "sticker", "location", "contacts", "link"}, word):
		typ = word
	default:
		typ = wordOr(word, "unknown")
		if it.Kind == gateway.KindMessage {
			it.Kind = gateway.KindNotice
		}
	}
	c.Type, c.Text = typ, d.text.first(s)
	switch typ {
	case "image", "voice", "audio", "video", "document", "sticker":
		c.Media = &gateway.Media{ID: d.mediaID.first(s), URL: d.mediaURL.first(s), MIME: d.mediaMIME.first(s), Filename: d.mediaName.first(s)}
	}
}

// join puts an item into its conversation. The other side of a single chat is the
// sender of what they wrote and the recipient of what we wrote; of what nobody knows
// who wrote, it is whoever is not known as ours.
func (d *decoder) join(it *gateway.Item, s *scope, from side) error {
	id, room := d.conversation.first(s), d.room.first(s)
	group := room != ""
	switch chatType := d.chatType.first(s); {
	case chatType != "":
		group = group || slices.Contains(d.groups, chatType)
	case strings.HasPrefix(id, "R:"):
		group = true
	}
	kind := "conversation"
	if id == "" && d.rule != "" {
		id, kind = d.made(s, group, room, from)
	}
	switch {
	case id == "":
		return errNoConversation
	case len(id) > maxID:
		return errors.New("a conversation's id of more than 256 bytes")
	case group:
		it.Chat = gateway.Chat{Kind: gateway.ChatGroup, Identities: []gateway.Identity{{Kind: "group", Value: id}}}
	default:
		it.Chat = gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: kind, Value: id}}}
	}
	return nil
}

// made is a conversation's id by the rule, "" when what it needs is not there, and
// what kind of name it is.
func (d *decoder) made(s *scope, group bool, room string, from side) (id, kind string) {
	sender, recipient := d.sender.first(s), d.recipient.first(s)
	if group {
		if d.rule == "pair" && room != "" {
			room = "R:" + room
		}
		return room, "group"
	}
	if d.rule == "pair" {
		if sender == "" || recipient == "" {
			return "", ""
		}
		a, b := sender, recipient
		if len(a) > len(b) || len(a) == len(b) && a > b { // as numbers, however long
			a, b = b, a
		}
		return "S:" + a + "_" + b, "conversation"
	}
	switch from {
	case sideTheirs:
		return sender, "userid"
	case sideOurs:
		return recipient, "userid"
	case sideUnknown:
	}
	if own, _ := d.owns(s, sender); own || sender == "" {
		return recipient, "userid"
	}
	return sender, "userid"
}
