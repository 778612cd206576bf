package wecomtest

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
	// too, since WeCom adds some.
	Variants string
	Open     bool
	// Class is what the gateway makes of it; About says what happened.
	Class gateway.Kind
	About string
	// Of is whose it is: "member" (the conversation with the member), or the
	// kind of the identity that keys it.
	Of string
	// Type is the type of the event; of an event of WeCom's it is
	// "event.<Event>[.<ChangeType>]" where this is empty.
	Type string

	build func(*draft)
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

// Kinds lists every kind, by what it is about: what members write and choose,
// what they do in the app, state of members, customers, chats and tags, notices,
// suites, and what nobody expects.
func Kinds() []Kind {
	const (
		message = gateway.KindMessage
		state   = gateway.KindState
		notice  = gateway.KindNotice
	)
	return []Kind{
		{Name: "text", Class: message, Of: "member", Type: "text", About: "a text", build: (*draft).buildText},
		{Name: "image", Class: message, Of: "member", Type: "image", About: "a picture", build: (*draft).buildImage},
		{Name: "voice", Class: message, Of: "member", Type: "voice", About: "a voice message", build: (*draft).buildVoice},
		{Name: "video", Class: message, Of: "member", Type: "video", About: "a video", build: (*draft).buildVideo},
		{Name: "file", Class: message, Of: "member", Type: "document", About: "a file, as seen in SDKs", build: (*draft).buildFile},
		{Name: "location", Class: message, Of: "member", Type: "location", About: "a place", build: (*draft).buildLocation},
		{Name: "link", Class: message, Of: "member", Type: "link", About: "a page", build: (*draft).buildLink},
		{Name: "click", Class: message, Of: "member", Type: "button", About: "a menu item (--key)", build: (*draft).buildClick},
		{Name: "card", Variants: "button_interaction text_notice news_notice", Class: message, Of: "member", Type: "button_reply", About: "a button of a card (--key, --task)", build: (*draft).buildCard},
		{Name: "card-form", Variants: "vote_interaction multiple_interaction", Class: message, Of: "member", Type: "form", About: "a filled-in card (--picked)", build: (*draft).buildCard},
		{Name: "card-menu", Class: message, Of: "member", Type: "list_reply", About: "the menu of a card", build: (*draft).buildCardMenu},
		{Name: "task-card", Class: message, Of: "member", Type: "button_reply", About: "a button of a task card, the old kind", build: (*draft).buildTaskCard},
		{Name: "scan", Class: message, Of: "member", Type: "scan", About: "a code was scanned and an answer is waited for", build: (*draft).buildScan},

		{Name: "enter", Class: notice, Of: "member", Type: "event.enter_agent", About: "the app was opened", build: (*draft).buildEnter},
		{Name: "where", Class: notice, Of: "member", Type: "event.LOCATION", About: "where the member is", build: (*draft).buildWhere},
		{Name: "view", Variants: "view view_miniprogram", Class: notice, Of: "member", About: "a page of the menu was opened", build: (*draft).buildView},
		{Name: "scan-push", Class: notice, Of: "member", Type: "event.scancode_push", About: "a code was scanned", build: (*draft).buildScan},
		{Name: "pictures", Variants: "pic_sysphoto pic_photo_or_album pic_weixin", Class: notice, Of: "member", About: "pictures are about to come", build: (*draft).buildPictures},
		{Name: "location-select", Class: notice, Of: "member", Type: "event.location_select", About: "a place was picked by the menu", build: (*draft).buildLocationSelect},

		{Name: "subscribe", Variants: "subscribe unsubscribe", Class: state, Of: "member's", About: "a member got the app or lost it", build: (*draft).buildSubscribe},
		{Name: "member", Variants: "create_user update_user renamed delete_user", Class: state, Of: "member's", About: "a member of the corp", build: (*draft).buildMember},
		{Name: "department", Variants: "create_party update_party delete_party", Class: state, Of: "account", About: "a department of the corp", build: (*draft).buildDepartment},
		{Name: "corp-tag", Class: state, Of: "account", Type: "event.change_contact.update_tag", About: "a tag on members", build: (*draft).buildCorpTag},
		{Name: "customer", Variants: "add_external_contact edit_external_contact add_half_external_contact del_external_contact transferred del_follow_user transfer_fail msg_audit_approved",
			Class: state, Of: "customer", About: "a member and a customer (--customer, --from)", build: (*draft).buildCustomer},
		{Name: "chat", Variants: "create add_member del_member change_owner change_name change_notice dismiss", Class: state, Of: "chat", About: "a chat of customers (--chat)", build: (*draft).buildChat},
		{Name: "tag", Variants: "create update delete shuffle", Class: state, Of: "tag", About: "a tag on customers (--tag)", build: (*draft).buildTag},
		{Name: "agent", Variants: "close_inactive_agent reopen_inactive_agent", Class: state, Of: "account", About: "the app was stopped or runs again", build: (*draft).buildAgent},

		{Name: "agent-alert", Variants: "inactive_alert low_active_alert", Class: notice, Of: "account", About: "the app will be stopped", build: (*draft).buildAgentAlert},
		{Name: "shared", Class: notice, Of: "account", Type: "event.share_agent_change", About: "the app is shared with another corp", build: (*draft).buildShared},
		{Name: "batch", Variants: "sync_user replace_user invite_user replace_party", Class: notice, Of: "account", Type: "event.batch_job_result", About: "a batch is through", build: (*draft).buildBatch},
		{Name: "approval", Variants: "2 1 3 4", Class: notice, Of: "approval", Type: "event.open_approval_change", About: "an approval of ours (1 asked, 2 passed, 3 refused, 4 withdrawn)", build: (*draft).buildApproval},
		{Name: "system-approval", Variants: "1 2 3 4 6 7 10", Class: notice, Of: "approval", Type: "event.sys_approval_change", About: "an approval of WeCom's own", build: (*draft).buildSystemApproval},
		{Name: "living", Variants: "1 0 2 4", Class: notice, Of: "living", Type: "event.living_status_change", About: "a live broadcast (0 booked, 1 live, 2 over, 4 cancelled)", build: (*draft).buildLiving},
		{Name: "acquisition", Variants: "customer_start_chat friend_request", Class: notice, Of: "customer", About: "a customer by way of a link", build: (*draft).buildAcquisition},
		{Name: "acquisition-alert", Variants: "balance_low balance_exhausted quota_expire_soon link_unavailable delete_link", Class: notice, Of: "account", About: "a link of ours, or its budget", build: (*draft).buildAcquisition},
		{Name: "kf-bell", Class: notice, Of: "kf", Type: "event.kf_msg_or_event", About: "customer service has messages to be pulled (--kf)", build: (*draft).buildKfBell},
		{Name: "kf-accounts", Class: notice, Of: "account", Type: "event.kf_account_auth_change", About: "other kf accounts are ours", build: (*draft).buildKfAccounts},
		{Name: "archive-bell", Class: notice, Of: "account", Type: "event.msgaudit_notify", About: "the chat archive has messages to be pulled", build: (*draft).buildArchiveBell},

		{Name: "suite-ticket", Class: notice, Of: "account", Type: "event.suite_ticket", About: "the ticket of a suite, every ten minutes", build: (*draft).buildSuiteTicket},
		{Name: "suite-auth", Variants: "create_auth change_auth cancel_auth reset_permanent_code", Class: state, Of: "account", About: "a corp let a suite in, or put it out", build: (*draft).buildSuiteAuth},
		{Name: "suite-customer", Variants: "add_external_contact del_follow_user", Class: state, Of: "customer", About: "a customer, as a suite is told", build: (*draft).buildSuiteCustomer},
		{Name: "suite-member", Variants: "update_user create_user delete_user", Class: state, Of: "member's", About: "a member, as a suite is told", build: (*draft).buildSuiteMember},

		{Name: "event", Variants: "quantum_sync_done", Open: true, Class: notice, Of: "account", About: "any event by its name (--event), such as one that nobody knows", build: (*draft).buildEvent},
		{Name: "unknown-type", Class: notice, Of: "member", Type: "hologram", About: "a message of a type that nobody knows yet", build: (*draft).buildUnknownType},
	}
}
