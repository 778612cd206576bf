package gateway

import "time"

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

// Observed says why an item is recorded and never offered; empty for what is.
type Observed string

// The kinds of observed items.
const (
	ObservedHistory Observed = "history" // written before, synced now
	ObservedStandby Observed = "standby" // another application has the conversation
	ObservedOwn     Observed = "own"     // another account of ours wrote it: bots of ours do not talk
)

// Identity is one name under which a platform knows the other side.
type Identity struct {
	// Kind is "bsuid", "phone", "userid", "external_userid" (a customer of
	// WeCom), "conversation" (the platform's own id of a single chat), "group" or
	// "account", or names the key of a state that is not a conversation's:
	// "customer", "chat", "tag", "member", "approval", "living", "kf", "session",
	// "audit" (who talks in records of WeCom's chat archive).
	// Those stand in ChatAccount only.
	Kind string `json:"kind"`
	// Value is the form compared: case folded where the platform folds case.
	Value string `json:"value"`
	// As is the spelling received, used when calling the platform. Empty
	// means Value.
	As string `json:"as,omitempty"`
	// Retired says that the platform told us the name is not in use for this
	// person any more: a phone number before a change. It still finds its
	// conversation for what is late, but another person may get it.
	Retired bool `json:"retired,omitempty"`
}

// Spelling returns the form in which the platform wrote the identity.
func (i Identity) Spelling() string {
	if i.As != "" {
		return i.As
	}
	return i.Value
}

// Name is an identity within its key space: names that are equal are one
// person's, chat's or account's.
type Name struct {
	Platform, Account string
	Chat              ChatKind
	Kind, Value       string
}

// ChatKind separates the key spaces of conversations.
type ChatKind string

// The kinds of chat. ChatAccount is the conversation of what nobody wrote:
// notices that concern an account, and the state of a customer, chat or member
// of whom the first identity is the key.
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
	// content: phone_number_id, "waba:<id>", "<corp id>/<agent id>",
	// "<corp id>/kf:<open_kfid>".
	AccountID string
	// AccountNumber is our side's own phone number in digits where the
	// callback tells it (WhatsApp display_phone_number), or its userid where that is
	// known to be ours, else "".
	AccountNumber string
	Kind          Kind
	// Key names the fact within platform, account and kind: the platform's
	// id, or "h:" and a hash of the decrypted item where there is none.
	Key  string
	Chat Chat
	// OccurredAt is the platform's time; zero where it gives none.
	OccurredAt time.Time
	// Observed marks what is not addressed to us now: an old message of a
	// history sync, a copy of another application's traffic. It is recorded and
	// published to observers, has no seq and is never offered.
	Observed Observed
	Content  Content
	// MediaLife is how long the file of the content can be fetched from when the
	// payload came, where that is not the platform's usual time; else 0.
	MediaLife time.Duration
	// Note is what it says of who looks after whom; nil for nothing.
	Note *StateNote `json:",omitempty"`
	// Err makes the item a dead one with this reason ("bad item: ..."): it
	// was found in the payload but could not be read. It carries no text of
	// the message.
	Err string
}

// Echo describes a message that left in our name.
type Echo struct {
	// MessageID is the platform's id of the message.
	MessageID string `json:"message_id,omitempty"`
	// Marker is the marker found on it, if the platform plays it back.
	Marker string `json:"marker,omitempty"`
	// To is the customer or group it went to.
	To []Identity `json:"to,omitempty"`
	// Otherwise is what it is judged when it is none of our messages. Empty means
	// human: a colleague wrote it. Foreign: another system did. Undecided: the
	// platform does not tell whether our side wrote it at all; it is recorded,
	// takes no conversation over, and is never offered.
	Otherwise Judgement `json:"otherwise,omitempty"`
}
