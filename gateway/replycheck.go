package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a reply, in characters where nothing else is said. Those of texts,
// ids and URLs are ours, wide enough for every platform; those of captions,
// buttons and lists are WhatsApp's, the one platform that has these kinds so far
// (Meta, Cloud API reference "messages"); those of articles are WeCom's (90236),
// which counts bytes and so allows less. What a platform allows less of, its
// client refuses.
const (
	MaxReplyBytes     = 64 << 10 // of a text, of components and of data, in bytes
	MaxCaptionChars   = 1024     // text of a file
	MaxBodyChars      = 1024     // text of buttons, link and flow
	MaxListBodyChars  = 4096     // text of a list
	MaxHeaderChars    = 60       // header and footer
	MaxButtons        = 3
	MaxTitleChars     = 20 // of a button, and the button of list and link
	MaxFlowTitleChars = 30
	MaxButtonIDChars  = 256
	MaxRows           = 10 // in all sections, and so of sections
	MaxRowTitleChars  = 24 // of rows and sections
	MaxRowTextChars   = 72 // description of a row
	MaxRowIDChars     = 200
	MaxContacts       = 257
	MaxURLChars       = 2048
	MaxArticles       = 8
	MaxArticleChars   = 128 // title of an article
	MaxArticleText    = 512 // description of an article
	MaxCardCodeChars  = 1024
	MaxIDChars        = 512 // an id of the platform, a token
	maxNameChars      = 240 // names of files, places and people
	maxEmojiChars     = 16  // a family with skin colours has eleven
)

// CheckReply checks one reply: the fields its type needs, those it must not
// have, and the limits above. The error names the field and what would be right,
// as in "buttons[0].title must be 1 to 20 characters", and never what was in it.
// ParseAnswer and the SDK call it for every reply; a platform's client may call
// it again.
func CheckReply(r *Reply) error {
	may, ok := fieldsOf(r.Type)
	if !ok {
		return errors.New("type must be one of " + replyTypes)
	}
	if wrong := fieldsIn(r) &^ may; wrong != 0 {
		return fmt.Errorf("%s must be empty in a reply of type %s", wrong.first(), typeName(r.Type))
	}
	var c checker
	c.quote(r)
	c.handle(r)
	switch r.Type {
	case "", ReplyText, ReplyMarkdown:
		if r.Text == "" || len(r.Text) > MaxReplyBytes || !utf8.ValidString(r.Text) {
			c.fail("text", fmt.Sprintf("must be 1 to %d bytes of UTF-8", MaxReplyBytes))
		}
	case ReplyImage, ReplyVideo, ReplyDocument, ReplyAudio, ReplyVoice, ReplySticker:
		c.chars("text", r.Text, 0, MaxCaptionChars)
		c.file(r)
	case ReplyLocation:
		c.location(r.Location)
	case ReplyContacts:
		c.contacts(r.Contacts)
	case ReplyReaction:
		c.emoji(r.Emoji)
	case ReplyTemplate:
		c.template(r.Template)
	case ReplyButtons:
		c.frame(r, MaxBodyChars)
		c.buttons(r.Buttons)
	case ReplyList:
		c.frame(r, MaxListBodyChars)
		c.list(r.List)
	case ReplyLink:
		c.frame(r, MaxBodyChars)
		c.link(r.Link)
		if r.File != nil { // its picture
			c.file(r)
		}
	case ReplyFlow:
		c.frame(r, MaxBodyChars)
		c.flow(r.Flow)
	case ReplyNews:
		c.news(r.News)
	case ReplyCard:
		c.card(r.Card)
	case ReplyWelcome:
		c.welcome(r)
	case ReplyTransfer:
		c.transfer(r.Transfer)
	case ReplyRead, ReplyRecall: // the quote is all they have
	}
	return c.err
}

const replyTypes = "text, image, audio, voice, video, document, sticker, location, contacts, reaction, template, buttons, list, link, flow, markdown, news, card, recall, welcome, transfer, read"

func typeName(t ReplyType) ReplyType {
	if t == "" {
		return ReplyText
	}
	return t
}

// fields is a set of fields of a reply.
type fields uint32

const (
	fieldText fields = 1 << iota
	fieldPreview
	fieldHeader
	fieldFooter
	fieldQuote
	fieldFile
	fieldLocation
	fieldContacts
	fieldEmoji
	fieldTemplate
	fieldButtons
	fieldList
	fieldLink
	fieldFlow
	fieldTyping
	fieldNews
	fieldCard
	fieldHandle
	fieldAttachments
	fieldTransfer
)

// first names the first field of the set, in the order of the constants.
func (f fields) first() string {
	names := [...]string{
		"text", "preview", "header", "footer", "quote", "file", "location", "contacts", "emoji", "template", "buttons", "list", "link", "flow", "typing", "news", "card", "handle", "attachments", "transfer",
	}
	return names[bits.TrailingZeros32(uint32(f))]
}

// fieldsOf are the fields that a reply of this type may have.
func fieldsOf(t ReplyType) (may fields, ok bool) {
	const framed = fieldText | fieldHeader | fieldFooter
	const menu = framed | fieldHandle
	switch t {
	case "", ReplyText:
		may = fieldText | fieldPreview | fieldHandle
	case ReplyImage, ReplyVideo, ReplyDocument:
		may = fieldText | fieldFile
	case ReplyAudio, ReplyVoice, ReplySticker:
		may = fieldFile
	case ReplyLocation:
		may = fieldLocation
	case ReplyContacts:
		may = fieldContacts
	case ReplyReaction:
		may = fieldEmoji
	case ReplyTemplate:
		may = fieldTemplate
	case ReplyButtons:
		may = menu | fieldButtons
	case ReplyList:
		may = menu | fieldList
	case ReplyLink:
		may = menu | fieldLink | fieldFile
	case ReplyFlow:
		may = framed | fieldFlow
	case ReplyMarkdown:
		may = fieldText
	case ReplyNews:
		may = fieldNews
	case ReplyCard:
		may = fieldCard
	case ReplyWelcome:
		return fieldText | fieldHandle | fieldAttachments, true
	case ReplyTransfer:
		return fieldTransfer, true
	case ReplyRecall:
	case ReplyRead:
		may = fieldTyping
	default:
		return 0, false
	}
	return may | fieldQuote, true
}

// fieldsIn are the fields that are set.
func fieldsIn(r *Reply) (in fields) {
	add := func(f fields, set bool) {
		if set {
			in |= f
		}
	}
	add(fieldText, r.Text != "")
	add(fieldPreview, r.Preview)
	add(fieldHeader, r.Header != "")
	add(fieldFooter, r.Footer != "")
	add(fieldQuote, r.Quote != "")
	add(fieldFile, r.File != nil)
	add(fieldLocation, r.Location != nil)
	add(fieldContacts, len(r.Contacts) > 0)
	add(fieldEmoji, r.Emoji != "")
	add(fieldTemplate, r.Template != nil)
	add(fieldButtons, len(r.Buttons) > 0)
	add(fieldList, r.List != nil)
	add(fieldLink, r.Link != nil)
	add(fieldFlow, r.Flow != nil)
	add(fieldTyping, r.Typing)
	add(fieldNews, len(r.News) > 0)
	add(fieldCard, r.Card != nil)
	add(fieldHandle, r.Handle != nil)
	add(fieldAttachments, len(r.Attachments) > 0)
	add(fieldTransfer, r.Transfer != nil)
	return in
}

// checker keeps the first thing that is wrong.
type checker struct{ err error }

func (c *checker) fail(field, should string) {
	if c.err == nil {
		c.err = errors.New(field + " " + should)
	}
}

// chars checks the length of a text in characters.
func (c *checker) chars(field, s string, least, most int) {
	// A text of so few bytes cannot have too many characters.
	if n := len(s); n >= least && n <= most && utf8.ValidString(s) {
		return
	}
	if n := utf8.RuneCountInString(s); n < least || n > most || !utf8.ValidString(s) {
		c.fail(field, fmt.Sprintf("must be %d to %d characters", least, most))
	}
}

// word checks an id or a name without spaces.
func (c *checker) word(field, s string, most int) {
	if s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		c.fail(field, fmt.Sprintf("must be 1 to %d characters without spaces", most))
	}
}

func (c *checker) quote(r *Reply) {
	if r.Quote != "" || r.Type == ReplyReaction || r.Type == ReplyRead || r.Type == ReplyRecall {
		c.word("quote", r.Quote, MaxIDChars)
	}
}

func (c *checker) https(field, s string) {
	if !address(s, "https") {
		c.fail(field, fmt.Sprintf("must be an https URL of at most %d characters, without user and password", MaxURLChars))
	}
}

func (c *checker) page(field, s string) {
	if !address(s, "http", "https") {
		c.fail(field, fmt.Sprintf("must be an http or https URL of at most %d characters, without user and password", MaxURLChars))
	}
}

// address says whether s is a URL of one of the schemes as a customer may get it.
func address(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != "" && u.User == nil && len(s) <= MaxURLChars &&
		!strings.ContainsFunc(s, unicode.IsSpace)
}

func (c *checker) file(r *Reply) {
	if r.File == nil {
		c.fail("file", "must say which file")
		return
	}
	c.oneFile("file", r.File, r.Type == ReplyDocument)
}

// oneFile checks a file that stands at a field; only some are shown with a name.
func (c *checker) oneFile(at string, f *FileReply, named bool) {
	ways := 0
	for _, way := range []string{f.ID, f.URL, f.File} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways != 1:
		c.fail(at, "must have exactly one of id, url and file")
	case f.ID != "":
		c.word(at+".id", f.ID, MaxIDChars)
	case f.URL != "":
		c.https(at+".url", f.URL)
	case len(f.File) != 64 || strings.Trim(f.File, "0123456789abcdef") != "":
		c.fail(at+".file", "must be the 64 lower-case hex digits that name a file of the gateway")
	case f.MIME == "":
		c.fail(at+".mime", "must be set together with file.file, for example image/jpeg")
	}
	if f.MIME != "" {
		if kind, _, err := mime.ParseMediaType(f.MIME); err != nil || !strings.Contains(kind, "/") || len(f.MIME) > 128 {
			c.fail(at+".mime", "must be a type and subtype, for example image/jpeg")
		}
	}
	switch {
	case f.Name == "":
	case !named:
		c.fail(at+".name", "must be empty but for a document")
	case strings.ContainsFunc(f.Name, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }):
		c.fail(at+".name", "must be a name without directories and control characters")
	default:
		c.chars(at+".name", f.Name, 1, maxNameChars)
	}
}

// jsonOf checks a part that is handed on as it is: its first byte tells an array
// from an object.
func (c *checker) jsonOf(field string, raw json.RawMessage, open byte, should string) {
	trimmed := strings.TrimLeft(string(raw), " \t\r\n")
	if len(raw) > MaxReplyBytes || !json.Valid(raw) || trimmed == "" || trimmed[0] != open {
		c.fail(field, fmt.Sprintf("must be %s of at most %d bytes", should, MaxReplyBytes))
	}
}
