package unified

// Decoding says how the callbacks of a vendor are read. Every field that is a list
// of paths (see the package comment) takes the first of them that finds something:
// what is missing, null, an empty text, an object or a list is nothing. Values are
// compared as they are written: 3, true, text.
type Decoding struct {
	// Items is where the items of a callback are: "payload.messages[*]". [the
	// callback is the one item; if it is a list, each element is a callback]
	// Where none of the paths finds anything the callback itself is the item.
	Items []string `yaml:"items,omitempty"`
	// Account is the vendor's id of our side, as guid of an account has it.
	Account []string `yaml:"account" validate:"min=1"`
	// Kind tells what an item is, by Kinds. [every item is a message]
	Kind []string `yaml:"kind,omitempty"`
	// Kinds say what the values of Kind mean; what is not among them is a notice.
	Kinds []KindRule `yaml:"kinds,omitempty" validate:"dive"`

	// EventID is the vendor's id of the event; the same one twice is one event. [the
	// message's id, else a hash of the item: equal items are then one, unless they
	// have no time either and came in different minutes]
	EventID []string `yaml:"event_id,omitempty"`
	// MessageID is the vendor's id of the message.
	MessageID []string `yaml:"message_id,omitempty"`
	// SentID is, on a message of ours, the id that the send call was answered
	// with. [message_id, else event_id]
	SentID []string `yaml:"sent_id,omitempty"`

	// Conversation is the id of the conversation, the same in both directions.
	Conversation []string `yaml:"conversation,omitempty"`
	// ConversationRule makes one where none is found: "peer" is the id of the
	// other side, or of the group; "pair" is S:a_b of the two ids, the smaller
	// first, or R: and the id of the group. [none]
	ConversationRule string `yaml:"conversation_rule,omitempty" validate:"omitempty,oneof=peer pair"`
	// Room is the id of a group, for the rule. An item that has one is a group's.
	Room []string `yaml:"room,omitempty"`
	// ChatType tells groups from single chats: a group's is one of GroupValues.
	// [a conversation whose id begins with "R:" is a group's]
	ChatType []string `yaml:"chat_type,omitempty"`
	// GroupValues are the values of ChatType that mean a group. [true, 1, group]
	GroupValues []string `yaml:"group_values,omitempty"`

	// Sender is the id of who wrote, SenderName the name shown, Recipient the id
	// of whom it went to.
	Sender     []string `yaml:"sender,omitempty"`
	SenderName []string `yaml:"sender_name,omitempty"`
	Recipient  []string `yaml:"recipient,omitempty"`
	// OwnID is our own id as a sender; every one that is found counts. What it
	// sent is ours, whatever FromSelf says.
	OwnID []string `yaml:"own_id,omitempty"`
	// FromSelf says whether our side wrote: true or 1, false or 0. "=false" behind
	// the paths is for a vendor that never sends back what our side wrote. Where
	// neither FromSelf nor OwnID tells, an item is undecided: it is recorded as
	// an echo and never answered.
	FromSelf []string `yaml:"from_self,omitempty"`
	// Marker is where the marker comes back that a send call left.
	Marker []string `yaml:"marker,omitempty"`
	// Source says who of our side wrote, by Sources. [a colleague]
	Source []string `yaml:"source,omitempty"`
	// Sources say what the values of Source mean.
	Sources []SourceRule `yaml:"sources,omitempty" validate:"dive"`
	// ErrorCode is, on a message of ours, the code of a sending that failed; 0 is
	// none.
	ErrorCode []string `yaml:"error_code,omitempty"`

	// Time is when it happened, in TimeUnit: s, ms, rfc3339, or datetime, which is
	// 2026-01-31 12:00:00 in TimeZone. [seconds or milliseconds by size, else as
	// rfc3339 or datetime]
	Time     []string `yaml:"time,omitempty"`
	TimeUnit string   `yaml:"time_unit,omitempty" validate:"omitempty,oneof=s ms rfc3339 datetime"`
	// TimeZone is an offset such as "+08:00". ["+08:00"]
	TimeZone string `yaml:"time_zone,omitempty"`

	// Type is the type of a message, by Types. [text]
	Type []string `yaml:"type,omitempty"`
	// Types say what the values of Type mean; what is not among them and no word
	// of ours is a notice.
	Types []TypeRule `yaml:"types,omitempty" validate:"dive"`
	// Text is the text, or the caption of a file.
	Text []string `yaml:"text,omitempty"`
	// The file of a message.
	MediaID   []string `yaml:"media_id,omitempty"`
	MediaURL  []string `yaml:"media_url,omitempty"`
	MediaMIME []string `yaml:"media_mime,omitempty"`
	MediaName []string `yaml:"media_name,omitempty"`
}

// KindRule says what a value of Decoding.Kind means.
type KindRule struct {
	Value string `yaml:"value" validate:"required"`
	// Kind is message, echo (our side wrote, for certain), send_failed (a message of
	// ours did not arrive), account, contact or room (its state changed), or notice.
	Kind string `yaml:"kind" validate:"required,oneof=message echo send_failed account contact room notice"`
	// Type is how the event is called, in place of the value; not for message, echo
	// and send_failed. [the value]
	Type string `yaml:"type,omitempty" validate:"omitempty,max=64"`
	// Dedup none lets every callback be an event of its own: for those that are
	// legitimately equal in every byte. [ids, else a hash]
	Dedup string `yaml:"dedup,omitempty" validate:"omitempty,oneof=none"`
}

// SourceRule says what a value of Decoding.Source means.
type SourceRule struct {
	Value string `yaml:"value" validate:"required"`
	// By is human, or system: a program of the vendor's or of somebody else's. What a
	// system wrote takes no conversation over.
	By string `yaml:"by" validate:"required,oneof=human system"`
}

// TypeRule says what a value of Decoding.Type means.
type TypeRule struct {
	Value string `yaml:"value" validate:"required"`
	// Type is the house's word.
	Type string `yaml:"type" validate:"required,oneof=text image voice audio video document sticker location contacts link system"`
}

// Sending says how messages are sent. The body of a call is a JSON value in which
// texts may hold placeholders; what is put in cannot change the form of the body:
//
//	{{guid}}      the account's guid
//	{{to}}        the conversation as the decoding of callbacks found it
//	{{marker}}    our marker, the same for every attempt of a message
//	{{text}}      the text, or the caption of a file
//	{{url}} {{media_id}} {{name}} {{mime}}   of a file
type Sending struct {
	// Messages are the calls, one for each kind of reply. What has none is
	// rejected as unsupported, as is a reply with a part for which its call has no
	// place.
	Messages []MessageCall `yaml:"messages" validate:"min=1,dive"`
	// Answer is how the vendor's answer is read.
	Answer Answer `yaml:"answer"`
	// Codes say what the codes of refusals mean. [a refusal is tried once more, then
	// the message is rejected]
	Codes []CodeRule `yaml:"codes,omitempty" validate:"dive"`
}

// MessageCall is a call of the vendor's API that sends one message.
type MessageCall struct {
	// Types are the kinds of reply that it sends.
	Types []string `yaml:"types" validate:"min=1,dive,oneof=text markdown image voice audio video document sticker"`
	// Path is below api_base; {{guid}} and {{to}} may stand in it.
	Path string `yaml:"path" validate:"required,startswith=/"`
	// Method is POST or PUT. [POST]
	Method string `yaml:"method,omitempty" validate:"omitempty,oneof=POST PUT"`
	// Body is the JSON of the call, as a text.
	Body string `yaml:"body" validate:"required"`
}

// Answer says how the answer of a send call is read; the fields are paths, as in
// Decoding.
type Answer struct {
	// OK is what tells whether the message was taken, OKValues its values that say
	// so. [every answer with a status of 200 to 299]
	OK       []string `yaml:"ok,omitempty"`
	OKValues []string `yaml:"ok_values,omitempty"`
	// ID is the vendor's id of the message that was sent: where a vendor plays no
	// marker back, what comes back is known by it.
	ID []string `yaml:"id,omitempty"`
	// Code is the code of a refusal. [ok] Message is what the vendor says about
	// it, for the operator.
	Code    []string `yaml:"code,omitempty"`
	Message []string `yaml:"message,omitempty"`
}

// CodeRule says what the code of a refusal means; "http_503" is an answer of that
// status without a code.
type CodeRule struct {
	Code string `yaml:"code" validate:"required,max=32"`
	// Means is retry (this conversation, three times at most), rate (the account
	// waits), account (nothing of the account goes before a person acts), or
	// rejected (this message never goes).
	Means string `yaml:"means" validate:"required,oneof=retry rate account rejected"`
}
