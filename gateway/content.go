package gateway

import (
	"encoding/json"
	"time"
)

// Content is what the event says; it is published as part of the body. It is one
// model for every platform: a field means the same wherever it comes from, and
// what a platform has beyond it is in Raw.
type Content struct {
	// Type is the platform's type in the house spelling: "text", "image",
	// "voice", "audio", "video", "document", "sticker", "location", "contacts",
	// "button" (of a template), "button_reply", "list_reply", "form",
	// "call_permission_reply", "order", "link", "scan", "reaction", "edit",
	// "revoke", "call", "system", "error", or the platform's own word.
	Type string `json:"type"`
	// ID is the platform's message id (wamid, MsgId); empty where none.
	ID string `json:"id,omitempty"`
	// WeakID says that the platform gave the item no id: the event's is made of what
	// it says, so that equal items are one.
	WeakID bool `json:"weak_id,omitempty"`
	// Observed repeats Item.Observed for readers of the event.
	Observed Observed `json:"observed,omitempty"`
	// Superseded says that something newer about the same message was known
	// when this came: "newer" (a later change of the same kind), "revoked".
	// Such an event is recorded and never offered.
	Superseded string `json:"superseded,omitempty"`
	// Takeover is set when a colleague had the conversation as this came: what is
	// answered is held. Whether that is so still, ask for the state.
	Takeover *Taken `json:"takeover,omitempty"`
	// From is who wrote; Name the display name where one came along.
	From *Party `json:"from,omitempty"`
	// Text is the text of a text message or the caption of a media message; of
	// an edit, the new one.
	Text string `json:"text,omitempty"`
	// Media refers to a file.
	Media *Media `json:"media,omitempty"`
	// Location is a place.
	Location *Location `json:"location,omitempty"`
	// Link is a page that somebody shared.
	Link *Link `json:"link,omitempty"`
	// Contacts are cards of people.
	Contacts []ContactCard `json:"contacts,omitempty"`
	// Choice is the answer to a button or list.
	Choice *Choice `json:"choice,omitempty"`
	// Form is a filled-in form (WhatsApp flow, address message).
	Form *Form `json:"form,omitempty"`
	// Order is a basket sent by the customer.
	Order *Order `json:"order,omitempty"`
	// Target is the message that a change (reaction, edit, revoke) is about.
	Target *Target `json:"target,omitempty"`
	// Call is one step of a call.
	Call *Call `json:"call,omitempty"`
	// Identity tells of a new number or id of the customer.
	Identity *IdentityChange `json:"identity,omitempty"`
	// Change says whose state an event is about and what is different now.
	Change *StateChange `json:"change,omitempty"`
	// Handle is a code of the platform that lets us act once upon this event.
	Handle *Handle `json:"handle,omitempty"`
	// QuotedID is the id of the message this one answers. Of a WeCom card it is
	// the task_id that we gave it.
	QuotedID string `json:"quoted_id,omitempty"`
	// Quoted is what this message answers, where the platform tells its words and
	// no id.
	Quoted *Quoted `json:"quoted,omitempty"`
	// Forwarded is 1 for a forwarded message, 2 for one forwarded many times.
	Forwarded int `json:"forwarded,omitempty"`
	// Product is the article the customer asked about.
	Product *Product `json:"product,omitempty"`
	// Referral is the advertisement or post that led here.
	Referral *Referral `json:"referral,omitempty"`
	// Problems are errors that the platform attached to the item.
	Problems []Problem `json:"problems,omitempty"`
	// Status is set for KindStatus.
	Status *Status `json:"status,omitempty"`
	// Echo is set for KindEcho.
	Echo *Echo `json:"echo,omitempty"`
	// Raw is the item's own part of the payload: the same JSON value, or the
	// XML as a JSON string. It is the last field: DecodeEvent counts on it.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Party is a person or chat member.
type Party struct {
	Name string `json:"name,omitempty"`
	// Username is the public name, without "@".
	Username   string     `json:"username,omitempty"`
	Identities []Identity `json:"identities,omitempty"`
}

// MediaState says where the bytes of a file are.
type MediaState string

// The states of a file. Pending becomes ready or unavailable, and a notice of
// type "media" says so.
const (
	MediaPending     MediaState = "pending"
	MediaReady       MediaState = "ready"
	MediaUnavailable MediaState = "unavailable"
)

// Media refers to a file by the platform's id. A WhatsApp id resolves for 7 days
// and its URL for 5 minutes, a WeCom media id for 3 days; the gateway fetches the
// bytes in time and keeps them under File.
type Media struct {
	ID       string `json:"id,omitempty"`
	MIME     string `json:"mime,omitempty"`
	SHA256   string `json:"sha256,omitempty"` // as given: base64 for WhatsApp
	Filename string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
	Format   string `json:"format,omitempty"` // WeCom voice: amr
	// Key is the fingerprint of the key that opens the bytes at URL, where the
	// platform encrypts them: WeCom's robots.
	Key string `json:"key,omitempty"`
	// Animated is said of stickers.
	Animated bool `json:"animated,omitempty"`
	// State is empty where nothing is to be fetched.
	State MediaState `json:"state,omitempty"`
	// File names the bytes in our store: the lower-case hex of their SHA-256.
	// Set when ready; Size is their number.
	File string `json:"file,omitempty"`
	Size int64  `json:"size,omitempty"`
	// Reason says why they are unavailable; a closed set.
	Reason string `json:"reason,omitempty"`
	// Event, in a notice of type "media", is the event that referred to the
	// file.
	Event string `json:"event,omitempty"`
}

// Location is a place on earth, in degrees.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Name      string  `json:"name,omitempty"`
	Address   string  `json:"address,omitempty"`
	URL       string  `json:"url,omitempty"`
}

// Link is a shared page.
type Link struct {
	URL         string `json:"url,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Image       string `json:"image,omitempty"` // address of a picture
}

// Quoted is a message that another one answers, in the platform's words.
type Quoted struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
}

// StateChange says what is different now. The platform's further fields are in
// Raw. It may tell less than the platform knows: several say only that something
// changed, so whoever needs the state asks for it.
type StateChange struct {
	// Of is whose state: its Kind is customer, chat, tag, member, approval,
	// living, kf, session (of a customer with customer service) or account. State has a key of its own, which is no
	// conversation's: Of is what it is made of.
	Of Identity `json:"of"`
	// What is the platform's word for the change: add_external_contact, update.
	What string `json:"what,omitempty"`
	// Detail tells it closer: add_member of an update of a chat.
	Detail string `json:"detail,omitempty"`
	// Member is the colleague concerned.
	Member *Identity `json:"member,omitempty"`
	// People are those who joined or left.
	People []string `json:"people,omitempty"`
	// Source is by which way it came about (State of a contact, JoinScene,
	// QuitScene, DELETE_BY_TRANSFER); Reason why it failed.
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Before and Version chain the changes of a chat's members: where Before is
	// not the Version seen last, a change was lost.
	Before  string `json:"before,omitempty"`
	Version string `json:"version,omitempty"`
}

// Handle is a code that lets us act once upon an event. It is as good as a
// permission, so it is in no log.
type Handle struct {
	// Kind is HandleWelcome (greet a new customer), HandleSession (say one thing
	// about who has the customer now), "card" (change the card that was pressed) or
	// "response" (an address that takes one answer, which the gateway uses by
	// itself).
	Kind string `json:"kind"`
	Code string `json:"code"`
	// Until is when the platform takes it no more; null where the event has no
	// time.
	Until *time.Time `json:"until"`
}

// ContactCard is one card of a contacts message. What a card holds beyond this
// (addresses, birthday, vcard) is in Raw.
type ContactCard struct {
	Name   string   `json:"name,omitempty"`
	Phones []string `json:"phones,omitempty"`
	Emails []string `json:"emails,omitempty"`
	Org    string   `json:"org,omitempty"`
	// Requested says that the customer answered our request for their number.
	Requested bool `json:"requested,omitempty"`
}

// Choice is what the customer picked from a button or list message. The ID of a
// call permission is accept or reject.
type Choice struct {
	ID          string `json:"id,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// Form is a filled-in form. Response is the JSON the form gave, whatever its
// shape; a text that is no JSON is a JSON string.
type Form struct {
	Name     string          `json:"name,omitempty"`
	Body     string          `json:"body,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// Order is a basket. Prices are texts as the platform wrote the number, so that
// none is rounded.
type Order struct {
	Catalog string      `json:"catalog,omitempty"`
	Items   []OrderItem `json:"items,omitempty"`
}

// OrderItem is one line of a basket.
type OrderItem struct {
	Product  string `json:"product"`
	Quantity string `json:"quantity,omitempty"`
	Price    string `json:"price,omitempty"`
	Currency string `json:"currency,omitempty"`
}

// Target names the message that a change is about, and for a reaction what was
// given or taken back.
type Target struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji,omitempty"`
	// Removed is a reaction that was taken back.
	Removed bool `json:"removed,omitempty"`
}

// Call is one step of a call. Session descriptions are in Raw only.
type Call struct {
	ID string `json:"id,omitempty"`
	// Event is connect, terminate, ringing, accepted or rejected, Direction
	// user_initiated or business_initiated, Status how it ended: completed,
	// failed; or the platform's word in lower case.
	Event     string `json:"event,omitempty"`
	Direction string `json:"direction,omitempty"`
	Status    string `json:"status,omitempty"`
	// Seconds is how long it lasted.
	Seconds int64  `json:"seconds,omitempty"`
	Marker  string `json:"marker,omitempty"`
}

// IdentityChange tells of a customer's new number or id. The identities
// themselves are the event's From.
type IdentityChange struct {
	Before []Identity `json:"before,omitempty"`
	After  []Identity `json:"after,omitempty"`
}

// Product is an article of a catalogue.
type Product struct {
	Catalog string `json:"catalog,omitempty"`
	Product string `json:"product,omitempty"`
}

// Referral is the advertisement or post from which the customer wrote.
type Referral struct {
	Source   string `json:"source,omitempty"` // ad, post
	ID       string `json:"id,omitempty"`
	URL      string `json:"url,omitempty"`
	Headline string `json:"headline,omitempty"`
	Body     string `json:"body,omitempty"`
	Media    string `json:"media,omitempty"` // its type
	MediaURL string `json:"media_url,omitempty"`
	Click    string `json:"click,omitempty"` // ctwa_clid
	Ref      string `json:"ref,omitempty"`
	Welcome  string `json:"welcome,omitempty"`
}

// Problem is one error of a platform, as data.
type Problem struct {
	Code   int    `json:"code"`
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
}
