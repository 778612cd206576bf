package gateway

import (
	"encoding/json"
	"time"
)

// ReplyType is what kind of message a reply is. Not every platform has every
// kind; what one cannot send is rejected with the code "unsupported".
type ReplyType string

// The types of a reply.
const (
	ReplyText     ReplyType = "text"
	ReplyImage    ReplyType = "image"
	ReplyAudio    ReplyType = "audio"
	ReplyVoice    ReplyType = "voice"
	ReplyVideo    ReplyType = "video"
	ReplyDocument ReplyType = "document"
	ReplySticker  ReplyType = "sticker"
	ReplyLocation ReplyType = "location"
	ReplyContacts ReplyType = "contacts"
	ReplyReaction ReplyType = "reaction"
	ReplyTemplate ReplyType = "template"
	ReplyButtons  ReplyType = "buttons" // up to three buttons
	ReplyList     ReplyType = "list"    // a menu of rows
	ReplyLink     ReplyType = "link"    // one button that opens a URL
	ReplyFlow     ReplyType = "flow"    // one button that opens a form
	ReplyMarkdown ReplyType = "markdown"
	ReplyNews     ReplyType = "news" // up to eight cards that open a page each
	// ReplyCard is a card in the platform's own form, or the change of one whose
	// button was pressed.
	ReplyCard ReplyType = "card"
	// ReplyRecall takes back a message of ours, named by Quote: the platform's id
	// of it (external_id of its result).
	ReplyRecall ReplyType = "recall"
	// ReplyWelcome greets a new customer by way of the event's handle, which it
	// needs: a text, attachments or both (WeCom).
	ReplyWelcome ReplyType = "welcome"
	// ReplyTransfer hands the session of a customer over: to the bot, the pool, a
	// colleague, or to an end (WeCom's customer service). It is a message in its
	// place: the parts before it have left, and those behind it are cancelled when
	// it is refused.
	ReplyTransfer ReplyType = "transfer"
	// ReplyRead marks the customer's message read, and may show that we type.
	// It is no message: nothing is delivered, no status follows, and repeating
	// it does no harm.
	ReplyRead ReplyType = "read"
)

// Harmless says that sending it again does no harm and that nobody waits for what
// becomes of it: an outcome that cannot be known is tried once more and then
// forgotten, and no other part of its task is held up or ended by it. A transfer is
// none: made twice, it may end the customer's next session, or take them from whom a
// colleague gave them to.
func (t ReplyType) Harmless() bool { return t == ReplyRead }

// Reply is one message to the customer; more bubbles are more replies, sent one
// after another. Which fields count is said by Type; the others must be empty.
type Reply struct {
	Type ReplyType `json:"type"` // empty means text
	// Text is the text, or the caption of a file, or the body of buttons, list,
	// link and flow.
	Text string `json:"text,omitempty"`
	// Preview asks the platform to show the first link of a text.
	Preview bool `json:"preview,omitempty"`
	// Header and Footer of buttons, list, link and flow.
	Header string `json:"header,omitempty"`
	Footer string `json:"footer,omitempty"`
	// Quote is the platform's id of the message this one answers. For reaction,
	// read and recall it is the message they are about and required.
	Quote    string         `json:"quote,omitempty"`
	File     *FileReply     `json:"file,omitempty"` // of a link: its picture
	Location *Location      `json:"location,omitempty"`
	Contacts []ContactCard  `json:"contacts,omitempty"`
	Emoji    string         `json:"emoji,omitempty"` // of a reaction; empty takes it back
	Template *TemplateReply `json:"template,omitempty"`
	Buttons  []Choice       `json:"buttons,omitempty"` // ID and Title
	List     *MenuReply     `json:"list,omitempty"`
	Link     *LinkReply     `json:"link,omitempty"`
	Flow     *FormReply     `json:"flow,omitempty"`
	News     []Article      `json:"news,omitempty"`
	Card     *CardReply     `json:"card,omitempty"`
	Transfer *TransferReply `json:"transfer,omitempty"`
	// Typing shows that we write, with read.
	Typing bool `json:"typing,omitempty"`
	// Handle is the handle of an event: the reply is sent by way of its code. That
	// is tried once, and never after its Until.
	Handle *Handle `json:"handle,omitempty"`
	// Attachments of a welcome, up to nine.
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Once says that the reply is tried only once, and until when; zero where the
// platform alone knows. The code that it goes by is used up by a try.
func (r *Reply) Once() (until time.Time, once bool) {
	if r.Handle == nil {
		return time.Time{}, false
	}
	if r.Handle.Until != nil {
		until = *r.Handle.Until
	}
	return until, true
}

// FileReply is a file to send: by exactly one of ID, URL and File.
type FileReply struct {
	ID   string `json:"id,omitempty"`   // of the platform, from an upload
	URL  string `json:"url,omitempty"`  // https; fetched by the platform
	File string `json:"file,omitempty"` // in our store (Media.File); uploaded when it is sent
	Name string `json:"name,omitempty"` // shown to the customer, document only
	MIME string `json:"mime,omitempty"` // needed with File
}

// TemplateReply names an approved template and its parts, in the platform's
// form.
type TemplateReply struct {
	Name       string          `json:"name"`
	Language   string          `json:"language"`
	Components json.RawMessage `json:"components,omitempty"`
}

// MenuReply is a list message: a button that opens sections of rows.
type MenuReply struct {
	Button   string        `json:"button"`
	Sections []MenuSection `json:"sections"`
}

// MenuSection is a part of a list. Title may be empty when it is the only one.
type MenuSection struct {
	Title string   `json:"title,omitempty"`
	Rows  []Choice `json:"rows"`
}

// LinkReply is a button that opens a URL.
type LinkReply struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// FormReply is a button that opens a form.
type FormReply struct {
	ID     string          `json:"id"` // of the flow
	Title  string          `json:"title"`
	Token  string          `json:"token,omitempty"`
	Action string          `json:"action,omitempty"` // navigate or data_exchange
	Screen string          `json:"screen,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// Article is one card of a news message.
type Article struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	URL         string `json:"url"`               // the page that it opens; http or https
	Picture     string `json:"picture,omitempty"` // URL of a picture; http or https
}

// CardReply is a card, or with Code what becomes of one that was sent.
type CardReply struct {
	// Content is the card: an object in the platform's form.
	Content json.RawMessage `json:"content,omitempty"`
	// Code is what the platform gave for one change of a card: with the event of
	// a pressed button. Empty for a new card.
	Code string `json:"code,omitempty"`
	// Button changes only the text of the pressed button, which can then not be
	// pressed again. In place of Content, together with Code.
	Button string `json:"button,omitempty"`
}

// TransferReply says who has a session from now on.
type TransferReply struct {
	To       SessionState `json:"to"`                 // assistant, pool, human or ended
	Servicer string       `json:"servicer,omitempty"` // userid of the colleague, with human
}
