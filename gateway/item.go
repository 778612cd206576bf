package gateway

import (
	"encoding/json"
	"time"
)

// Kind is the class of an event. It is the last token of its subject.
type Kind string

// The kinds. Unknown types of a platform are KindNotice with their raw part.
const (
	KindMessage Kind = "message" // somebody wrote to us
	KindChange  Kind = "change"  // reaction, edit, revoke
	KindStatus  Kind = "status"  // what became of a message of ours
	KindEcho    Kind = "echo"    // a message that left in our name
	KindState   Kind = "state"   // customer, chat or member state changed
	KindNotice  Kind = "notice"  // anything else, with its raw part
)

// Kinds lists every kind in the order of the documentation.
func Kinds() []Kind {
	return []Kind{KindMessage, KindChange, KindStatus, KindEcho, KindState, KindNotice}
}

// Ordered says whether events of this kind get a seq and can be offered to
// applications. Statuses and echoes go to the outbox and have none.
func (k Kind) Ordered() bool { return k != KindStatus && k != KindEcho }

// Identity is one name under which a platform knows the other side.
type Identity struct {
	// Kind is "bsuid", "phone", "userid", "group" or "account".
	Kind string `json:"kind"`
	// Value is the form compared: case folded where the platform folds case.
	Value string `json:"value"`
	// As is the spelling received, used when calling the platform. Empty
	// means Value.
	As string `json:"as,omitempty"`
}

// Spelling returns the form in which the platform wrote the identity.
func (i Identity) Spelling() string {
	if i.As != "" {
		return i.As
	}
	return i.Value
}

// ChatKind separates the key spaces of conversations.
type ChatKind string

// The kinds of chat. ChatAccount is the conversation of notices that concern
// an account and no customer.
const (
	ChatSingle  ChatKind = "single"
	ChatGroup   ChatKind = "group"
	ChatAccount ChatKind = "account"
)

// Chat names the conversation an item belongs to.
type Chat struct {
	Kind ChatKind `json:"kind"`
	// Identities, best first. The first one known decides; the others are
	// learned as aliases. Never empty.
	Identities []Identity `json:"identities"`
}

// Item is one decoded fact of a payload, before it has a conversation and a
// seq. Decoding is pure: the same payload gives the same items.
type Item struct {
	// AccountID is the platform's own id of our side, taken from the verified
	// content: phone_number_id, "waba:<id>", "<corp id>/<agent id>".
	AccountID string
	// AccountNumber is our side's own phone number in digits where the
	// callback tells it (WhatsApp display_phone_number), else "".
	AccountNumber string
	Kind          Kind
	// Key names the fact within platform, account and kind: the platform's
	// id, or "h:" and a hash of the decrypted item where there is none.
	Key  string
	Chat Chat
	// OccurredAt is the platform's time; zero where it gives none.
	OccurredAt time.Time
	Content    Content
	// Err makes the item a dead one with this reason ("bad item: ..."): it
	// was found in the payload but could not be read. It carries no text of
	// the message.
	Err string
}

// Content is what the event says; it is published as part of the body.
type Content struct {
	// Type is the platform's type in the house spelling: "text", "image",
	// "voice", "button_reply", "list_reply", or the platform's own word.
	Type string `json:"type"`
	// ID is the platform's message id (wamid, MsgId); empty where none.
	ID string `json:"id,omitempty"`
	// From is who wrote; Name the display name where one came along.
	From *Party `json:"from,omitempty"`
	// Text is the text of a text message or the caption of a media message.
	Text string `json:"text,omitempty"`
	// Media refers to a file held by the platform; bytes are not fetched.
	Media *Media `json:"media,omitempty"`
	// Choice is the answer to a button or list.
	Choice *Choice `json:"choice,omitempty"`
	// QuotedID is the id of the message this one answers.
	QuotedID string `json:"quoted_id,omitempty"`
	// Status is set for KindStatus.
	Status *Status `json:"status,omitempty"`
	// Echo is set for KindEcho.
	Echo *Echo `json:"echo,omitempty"`
	// Raw is the item's own part of the payload: the same JSON value, or the
	// XML as a JSON string.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Party is a person or chat member.
type Party struct {
	Name       string     `json:"name,omitempty"`
	Identities []Identity `json:"identities,omitempty"`
}

// Media refers to a file by the platform's id. Durations: see the platform's
// page; a WhatsApp id resolves for 7 days, a WeCom media id for 3 days.
type Media struct {
	ID       string `json:"id,omitempty"`
	MIME     string `json:"mime,omitempty"`
	SHA256   string `json:"sha256,omitempty"` // as given: base64 for WhatsApp
	Filename string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
	Format   string `json:"format,omitempty"` // WeCom voice: amr
}

// Choice is what the customer picked from a button or list message.
type Choice struct {
	ID          string `json:"id,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// Echo describes a message that left in our name.
type Echo struct {
	// MessageID is the platform's id of the message.
	MessageID string `json:"message_id,omitempty"`
	// Marker is the marker found on it, if the platform plays it back.
	Marker string `json:"marker,omitempty"`
	// To is the customer or group it went to.
	To []Identity `json:"to,omitempty"`
}

// Problem is one error of a platform, as data.
type Problem struct {
	Code   int    `json:"code"`
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
}
