package whatsapptest

import (
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// Kind is one kind of callback that can be made.
type Kind struct {
	Name string
	// Variants are the words of Event.Variant, separated by spaces, the default
	// first; empty when there is nothing to choose. Open kinds take other words
	// too, since Meta adds some.
	Variants string
	Open     bool
	// Class is what the gateway makes of it; About says what happened.
	Class gateway.Kind
	About string
	// Observed says that it is a copy, recorded and never offered.
	Observed gateway.Observed
	// NeedsMessage says that it tells of a message of ours, which Event.ID or
	// Event.Marker must name.
	NeedsMessage bool

	build func(*Callback, *Event)
}

// KindNamed finds a kind.
func KindNamed(name string) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// Variant is the variant for a word, which may be empty for the default; false
// when the kind has none of that name.
func (k *Kind) Variant(word string) (string, bool) {
	first, _, _ := strings.Cut(k.Variants, " ")
	switch {
	case word == "":
		return first, true
	case k.Open:
		return word, true
	}
	return word, slices.Contains(strings.Fields(k.Variants), word)
}

// Kinds lists every kind, by what it is about: customers' messages, changes,
// identities, groups, our own messages, copies, calls, the account, and what
// nobody expects.
func Kinds() []Kind {
	const (
		message = gateway.KindMessage
		change  = gateway.KindChange
		status  = gateway.KindStatus
		echo    = gateway.KindEcho
		state   = gateway.KindState
		notice  = gateway.KindNotice
	)
	return []Kind{
		{Name: "text", Class: message, About: "a text", build: (*Callback).text},
		{Name: "image", Class: message, About: "a picture, with a caption", build: (*Callback).image},
		{Name: "audio", Class: message, About: "a sound file", build: (*Callback).audio},
		{Name: "voice", Class: message, About: "a voice note", build: (*Callback).voice},
		{Name: "video", Class: message, About: "a video", build: (*Callback).video},
		{Name: "document", Class: message, About: "a document with a file name", build: (*Callback).document},
		{Name: "sticker", Variants: "still animated", Class: message, About: "a sticker", build: (*Callback).sticker},
		{Name: "location", Class: message, About: "a place", build: (*Callback).location},
		{Name: "contacts", Variants: "other contact_request", Class: message, About: "cards of people; contact_request answers our request for the number", build: (*Callback).contacts},
		{Name: "button", Class: message, About: "a tap on a button of ours", build: (*Callback).button},
		{Name: "quick-reply", Class: message, About: "a tap on a button of a template", build: (*Callback).quickReply},
		{Name: "list", Class: message, About: "a row picked from a list", build: (*Callback).listReply},
		{Name: "flow", Class: message, About: "a filled-in flow", build: (*Callback).flow},
		{Name: "address", Class: message, About: "a filled-in address", build: (*Callback).addressForm},
		{Name: "call-permission", Variants: "accept reject", Class: message, About: "the answer whether we may call", build: (*Callback).callPermission},
		{Name: "order", Class: message, About: "a basket of two articles", build: (*Callback).order},
		{Name: "referral", Variants: "ad post", Class: message, About: "a text by way of an advertisement", build: (*Callback).referral},
		{Name: "forwarded", Variants: "once often", Class: message, About: "a forwarded text", build: (*Callback).forwarded},
		{Name: "product", Class: message, About: "a text about an article", build: (*Callback).product},
		{Name: "unsupported", Class: notice, About: "a message that Meta does not hand over (--code 131051, 131052, 131060, 130501)", build: (*Callback).unsupported},
		{Name: "interactive-missing", Class: notice, About: "an answer that Meta lost, with the error beside it", build: (*Callback).interactiveMissing},
		{Name: "request-welcome", Class: notice, About: "a chat opened for the first time", build: (*Callback).requestWelcome},

		{Name: "reaction", Class: change, About: "an emoji on a message (--target)", build: (*Callback).reaction},
		{Name: "reaction-removed", Variants: "missing empty", Class: change, About: "an emoji taken back", build: (*Callback).reactionRemoved},
		{Name: "edit", Variants: "text image", Class: change, About: "a message written anew (--target)", build: (*Callback).edit},
		{Name: "revoke", Class: change, About: "a message taken back (--target)", build: (*Callback).revoke},

		{Name: "system-number", Variants: "full legacy", Class: state, About: "the customer has a new number (--new-phone)", build: (*Callback).systemNumber},
		{Name: "system-user-id", Variants: "full bare", Class: state, About: "the customer has a new user id (--new-user-id)", build: (*Callback).systemUserID},
		{Name: "user-id-update", Class: state, About: "the same in a field of its own, as documented in May 2026", build: (*Callback).userIDUpdate},
		{Name: "preferences", Variants: "stop resume signup", Class: state, About: "the customer wants no marketing messages", build: (*Callback).preferences},

		{Name: "group-text", Class: message, About: "a text in a group (--group)", build: (*Callback).groupText},
		{Name: "group-status", Variants: "delivered sent read failed", Class: status, About: "receipts of a message of ours to a group, one per participant", NeedsMessage: true, build: (*Callback).groupStatus},
		{Name: "group-lifecycle", Variants: "group_create group_delete", Class: state, About: "a group was made or deleted", build: (*Callback).groupLifecycle},
		{Name: "group-participants", Variants: "group_participants_add group_participants_remove group_join_request_created group_join_request_revoked", Class: state, About: "people joined or left a group", build: (*Callback).groupParticipants},
		{Name: "group-settings", Class: state, About: "a group's subject was changed", build: (*Callback).groupSettings},
		{Name: "group-suspended", Variants: "group_suspend group_suspend_cleared", Class: state, About: "a group was suspended", build: (*Callback).groupSuspended},

		{Name: "status", Variants: "delivered sent read played failed deleted", Open: true, Class: status, About: "what became of a message of ours (--id or --marker)", NeedsMessage: true, build: (*Callback).status},
		{Name: "echo", Class: echo, About: "a message that a colleague wrote by hand, or one of ours by its --id", build: (*Callback).echo},
		{Name: "echo-edit", Class: echo, About: "a colleague wrote a message anew (--target)", build: (*Callback).echoEdit},
		{Name: "echo-revoke", Class: echo, About: "a colleague took a message back (--target)", build: (*Callback).echoRevoke},
		{Name: "echo-reaction", Class: echo, About: "a colleague's emoji on a message (--target)", build: (*Callback).echoReaction},

		{Name: "app-state-sync", Variants: "add remove", Class: state, About: "contacts of the app's address book (--messages: how many)", build: (*Callback).appStateSync},
		{Name: "history", Class: message, Observed: gateway.ObservedHistory, About: "old messages of both sides (--messages: how many)", build: (*Callback).history},
		{Name: "history-declined", Class: notice, About: "the business does not share its history", build: (*Callback).historyDeclined},
		{Name: "history-media", Class: message, Observed: gateway.ObservedHistory, About: "the file of an old message", build: (*Callback).historyMedia},
		{Name: "standby", Class: message, Observed: gateway.ObservedStandby, About: "a copy of a text to the application that has the conversation", build: (*Callback).standby},
		{Name: "standby-echo", Class: echo, Observed: gateway.ObservedStandby, About: "a copy of what that application sent", build: (*Callback).standbyEcho},
		{Name: "standby-status", Variants: "delivered sent read", Class: status, Observed: gateway.ObservedStandby, About: "a copy of what became of it", build: (*Callback).standbyStatus},
		{Name: "handover", Variants: "control_taken control_passed", Class: state, About: "another application took or passed the conversation", build: (*Callback).handover},

		{Name: "call-connect", Class: notice, About: "the customer calls", build: (*Callback).callConnect},
		{Name: "call-terminate", Variants: "COMPLETED FAILED", Class: notice, About: "a call of ours has ended", build: (*Callback).callTerminate},
		{Name: "call-status", Variants: "RINGING ACCEPTED REJECTED", Class: notice, About: "what became of a call of ours", build: (*Callback).callStatus},

		{Name: "template-status", Variants: "APPROVED REJECTED PENDING PAUSED REINSTATED DISABLED FLAGGED IN_APPEAL LOCKED LIMIT_EXCEEDED ARCHIVED DELETED PENDING_DELETION", Open: true, Class: notice, About: "a template was judged", build: (*Callback).templateStatus},
		{Name: "template-quality", Variants: "YELLOW RED GREEN UNKNOWN", Class: notice, About: "a template's quality changed", build: (*Callback).templateQuality},
		{Name: "template-category", Variants: "done announced", Class: notice, About: "a template's category changes", build: (*Callback).templateCategory},
		{Name: "template-components", Class: notice, About: "a template was edited", build: (*Callback).templateComponents},
		{Name: "account-update", Variants: "DISABLED_UPDATE REINSTATE ACCOUNT_RESTRICTION ACCOUNT_VIOLATION ACCOUNT_DELETED ACCOUNT_OFFBOARDED ACCOUNT_RECONNECTED PARTNER_ADDED PARTNER_REMOVED PARTNER_APP_UNINSTALLED BUSINESS_PRIMARY_LOCATION_COUNTRY_UPDATE VERIFIED_ACCOUNT", Open: true, Class: state, About: "the business account was blocked, restricted, moved …", build: (*Callback).accountUpdate},
		{Name: "account-alert", Class: notice, About: "a warning about the account", build: (*Callback).accountAlert},
		{Name: "account-review", Variants: "REJECTED APPROVED PENDING DEFERRED", Class: state, About: "the account was reviewed", build: (*Callback).accountReview},
		{Name: "phone-quality", Variants: "THROUGHPUT_UPGRADE ONBOARDING UPGRADE DOWNGRADE FLAGGED UNFLAGGED", Open: true, Class: state, About: "the number's limits changed", build: (*Callback).phoneQuality},
		{Name: "phone-name", Variants: "APPROVED REJECTED", Class: state, About: "the number's display name was judged", build: (*Callback).phoneName},
		{Name: "capability", Class: state, About: "the account's limits changed", build: (*Callback).capability},
		{Name: "security", Variants: "PIN_RESET_REQUEST PIN_CHANGED PIN_REQUEST_SUCCESS", Class: notice, About: "the number's PIN was asked for or changed", build: (*Callback).security},
		{Name: "flows", Variants: "FLOW_STATUS_CHANGE CLIENT_ERROR_RATE ENDPOINT_ERROR_RATE ENDPOINT_LATENCY ENDPOINT_AVAILABILITY FLOW_VERSION_EXPIRY_WARNING", Class: notice, About: "a flow was blocked or fails", build: (*Callback).flows},
		{Name: "username-update", Variants: "approved deleted reserved", Class: state, About: "our own username changed", build: (*Callback).usernameUpdate},

		{Name: "user-action", Class: notice, About: "the customer clicked a link of a marketing message", build: (*Callback).userAction},
		{Name: "automatic-event", Variants: "LeadSubmitted Purchase", Class: notice, About: "a lead or purchase that Meta found in the chat", build: (*Callback).automaticEvent},
		{Name: "value-error", Class: notice, About: "an error of the number that names no message (--code)", build: (*Callback).valueError},
		{Name: "encrypted", Class: notice, About: "content encrypted for a key that the gateway does not have", build: (*Callback).encrypted},
		{Name: "unknown-type", Class: notice, About: "a message of a type that nobody knows yet", build: (*Callback).unknownType},
		{Name: "unknown-field", Class: notice, About: "a webhook field that nobody knows yet", build: (*Callback).unknownField},
		{Name: "batch", Variants: "mixed text", Class: message, About: "many items in one POST (--messages, --customers)", build: (*Callback).batch},
	}
}
