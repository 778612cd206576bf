package whatsapptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sendBody is what Meta reads of a send call; the parts of each type stay as they
// came until their type is known.
type sendBody struct {
	Product       string          `json:"messaging_product"`
	RecipientType string          `json:"recipient_type"`
	To            string          `json:"to"`
	Recipient     string          `json:"recipient"`
	Type          string          `json:"type"`
	Context       json.RawMessage `json:"context"`
	Marker        string          `json:"biz_opaque_callback_data"`
	IdentityHash  string          `json:"recipient_identity_key_hash"`

	Text        json.RawMessage `json:"text"`
	Image       json.RawMessage `json:"image"`
	Audio       json.RawMessage `json:"audio"`
	Video       json.RawMessage `json:"video"`
	Document    json.RawMessage `json:"document"`
	Sticker     json.RawMessage `json:"sticker"`
	Location    json.RawMessage `json:"location"`
	Contacts    json.RawMessage `json:"contacts"`
	Reaction    json.RawMessage `json:"reaction"`
	Template    json.RawMessage `json:"template"`
	Interactive json.RawMessage `json:"interactive"`

	Status    string          `json:"status"`
	MessageID string          `json:"message_id"`
	Typing    json.RawMessage `json:"typing_indicator"`
}

// objection is why Meta refuses a message, and with which code: 131008 something
// is missing, 131009 a value is wrong, 100 a parameter is unknown or too long.
type objection struct {
	code int
	why  string
}

func missingPart(path string) *objection { return &objection{131008, path + " is required"} }

func wrong(path, why string) *objection { return &objection{131009, path + " " + why} }

func invalid(path, why string) *objection { return &objection{100, path + " " + why} }

// first is the first objection there is.
func first(list ...*objection) *objection {
	for _, o := range list {
		if o != nil {
			return o
		}
	}
	return nil
}

// length objects to a text that is missing or too long, in characters.
func length(path, s string, least, most int) *objection {
	switch n := utf8.RuneCountInString(s); {
	case n < least && n == 0:
		return missingPart(path)
	case n > most:
		return invalid(path, fmt.Sprintf("must be at most %d characters", most))
	}
	return nil
}

// part reads one object; a key that Meta does not know is an invalid parameter.
func part(path string, raw json.RawMessage, v any) *objection {
	if len(raw) == 0 || string(raw) == "null" {
		return missingPart(path)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return invalid(path, "has an unexpected key or a value of another type")
	}
	return nil
}

// content checks the part that belongs to the type. words is what the log of
// calls shows, voice says that it can be played.
func (s *Sandbox) content(b *sendBody, to address) (words string, voice bool, o *objection) {
	switch b.Type {
	case "", "text":
		var t struct {
			Body    string `json:"body"`
			Preview bool   `json:"preview_url"`
		}
		o = part("text", b.Text, &t)
		return t.Body, false, first(o, length("text.body", t.Body, 1, 4096))
	case "image", "video", "document", "audio", "sticker":
		return s.file(b)
	case "location":
		return place(b.Location)
	case "contacts":
		return people257(b.Contacts)
	case "reaction":
		return reaction(b.Reaction)
	case "template":
		words, o = s.template(b.Template, to)
		return words, false, o
	case "interactive":
		words, o = interactive(b.Interactive)
		return words, false, o
	}
	return "", false, &objection{131051, "type is not supported"}
}

// file checks the five kinds of files.
func (s *Sandbox) file(b *sendBody) (words string, voice bool, o *objection) {
	var m struct {
		ID       string  `json:"id"`
		Link     string  `json:"link"`
		Caption  *string `json:"caption"`
		Filename *string `json:"filename"`
		Voice    *bool   `json:"voice"`
	}
	raw := map[string]json.RawMessage{"image": b.Image, "video": b.Video, "document": b.Document, "audio": b.Audio, "sticker": b.Sticker}[b.Type]
	if o = part(b.Type, raw, &m); o != nil {
		return "", false, o
	}
	caption := ""
	if m.Caption != nil {
		caption = *m.Caption
	}
	switch {
	case m.ID == "" && m.Link == "":
		o = missingPart(b.Type + ".id or " + b.Type + ".link")
	case m.ID != "" && m.Link != "":
		o = invalid(b.Type, "must not have both id and link")
	case m.ID != "" && !s.hasMedia(m.ID):
		o = invalid(b.Type+".id", "is not a media id of this phone number")
	case m.Link != "" && !webURL(m.Link):
		o = wrong(b.Type+".link", "must be a URL")
	case m.Caption != nil && (b.Type == "audio" || b.Type == "sticker"):
		o = invalid(b.Type+".caption", "is an unexpected key")
	case m.Filename != nil && b.Type != "document":
		o = invalid(b.Type+".filename", "is an unexpected key")
	case m.Voice != nil && b.Type != "audio":
		o = invalid(b.Type+".voice", "is an unexpected key")
	default:
		o = length(b.Type+".caption", caption, 0, 1024)
	}
	return caption, m.Voice != nil && *m.Voice, o
}

// hasMedia says whether an id can be one of an upload: Meta's are digits, and ours
// must still be there.
func (s *Sandbox) hasMedia(id string) bool {
	return !s.shelf.forgot(id) && len(id) <= 64 && strings.Trim(id, "0123456789") == ""
}

func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && len(s) <= 2048
}

func place(raw json.RawMessage) (words string, voice bool, o *objection) {
	var l struct {
		Latitude  *float64 `json:"latitude"`
		Longitude *float64 `json:"longitude"`
		Name      string   `json:"name"`
		Address   string   `json:"address"`
	}
	o = part("location", raw, &l)
	switch {
	case o != nil:
	case l.Latitude == nil:
		o = missingPart("location.latitude")
	case l.Longitude == nil:
		o = missingPart("location.longitude")
	case *l.Latitude < -90 || *l.Latitude > 90:
		o = wrong("location.latitude", "must be -90 to 90")
	case *l.Longitude < -180 || *l.Longitude > 180:
		o = wrong("location.longitude", "must be -180 to 180")
	}
	return l.Name, false, o
}

// people257 checks cards of contacts: at most 257, each with its whole name.
func people257(raw json.RawMessage) (words string, voice bool, o *objection) {
	var cards []struct {
		Name *struct {
			Formatted string `json:"formatted_name"`
			First     string `json:"first_name"`
			Last      string `json:"last_name"`
			Middle    string `json:"middle_name"`
			Suffix    string `json:"suffix"`
			Prefix    string `json:"prefix"`
		} `json:"name"`
		Phones []struct {
			Phone string `json:"phone"`
			Type  string `json:"type"`
			WaID  string `json:"wa_id"`
		} `json:"phones"`
		Emails []struct {
			Email string `json:"email"`
			Type  string `json:"type"`
		} `json:"emails"`
		Org *struct {
			Company    string `json:"company"`
			Department string `json:"department"`
			Title      string `json:"title"`
		} `json:"org"`
		Addresses []map[string]string `json:"addresses"`
		URLs      []map[string]string `json:"urls"`
		Birthday  string              `json:"birthday"`
	}
	if o = part("contacts", raw, &cards); o != nil {
		return "", false, o
	}
	if len(cards) == 0 {
		return "", false, missingPart("contacts")
	}
	if len(cards) > 257 {
		return "", false, invalid("contacts", "must be at most 257")
	}
	var names []string
	for i, c := range cards {
		if c.Name == nil || c.Name.Formatted == "" {
			return "", false, missingPart(fmt.Sprintf("contacts[%d].name.formatted_name", i))
		}
		names = append(names, c.Name.Formatted)
	}
	return strings.Join(names, ", "), false, nil
}

// reaction: an empty emoji takes it back, a missing one is missing.
func reaction(raw json.RawMessage) (words string, voice bool, o *objection) {
	var r struct {
		MessageID string  `json:"message_id"`
		Emoji     *string `json:"emoji"`
	}
	o = part("reaction", raw, &r)
	switch {
	case o != nil:
		return "", false, o
	case r.Emoji == nil:
		return "", false, missingPart("reaction.emoji")
	case strings.ContainsFunc(*r.Emoji, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsSpace(r) }):
		return "", false, wrong("reaction.emoji", "must be an emoji")
	}
	return *r.Emoji, false, knownID("reaction.message_id", r.MessageID)
}

// reactedTo is the message that a reaction is about; "" for none.
func reactedTo(b *sendBody) string {
	var r struct {
		MessageID string `json:"message_id"`
	}
	if b.Type != "reaction" || json.Unmarshal(b.Reaction, &r) != nil {
		return ""
	}
	return r.MessageID
}

// knownID objects to what cannot be the id of a message.
func knownID(path, id string) *objection {
	switch {
	case id == "":
		return missingPart(path)
	case !strings.HasPrefix(id, "wamid."):
		return wrong(path, "must be the id of a message")
	}
	return nil
}

// quoted checks the message that a message answers.
func quoted(b *sendBody) *objection {
	if len(b.Context) == 0 {
		return nil
	}
	var c struct {
		MessageID string `json:"message_id"`
	}
	return first(part("context", b.Context, &c), knownID("context.message_id", c.MessageID))
}

// markRead checks the marking of a message as read: nothing of a message may
// stand beside it, and typing is shown in one way only.
func markRead(b *sendBody) *objection {
	rest := *b
	rest.Product, rest.Status, rest.MessageID, rest.Typing = "", "", "", nil
	left, err := json.Marshal(&rest)
	empty, eerr := json.Marshal(&sendBody{})
	switch {
	case err != nil || eerr != nil || !bytes.Equal(left, empty):
		return invalid("status", "cannot be sent together with a message")
	case b.Status != "read":
		return wrong("status", "must be read")
	case len(b.Typing) > 0:
		var t struct {
			Type string `json:"type"`
		}
		if o := part("typing_indicator", b.Typing, &t); o != nil {
			return o
		}
		if t.Type != "text" {
			return wrong("typing_indicator.type", "must be text")
		}
	}
	return knownID("message_id", b.MessageID)
}
