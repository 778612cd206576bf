package wecom

import (
	"strconv"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// ofCorp lists the events that belong to a corp and to no app. Others go by their
// AgentID, also where that is of an app of WeCom's own: approval (3010040), the
// chat archive (2000004).
func ofCorp(event string) bool {
	switch event {
	case "change_contact", "change_external_contact", "change_external_chat", "change_external_tag",
		"batch_job_result", "customer_acquisition", "share_chain_change",
		"kf_msg_or_event", "kf_account_auth_change":
		return true
	}
	return false
}

// suiteCommand lists what a suite's command URL is told. Source: path/90628 and
// the pages around it.
func suiteCommand(event string) bool {
	switch event {
	case "suite_ticket", "create_auth", "change_auth", "cancel_auth", "reset_permanent_code", "unlicensed_notify":
		return true
	}
	return false
}

// fillState reads events that nobody wrote. State of a customer, chat, tag or
// member is kept under that one's own key, which no conversation shares: a
// transfer and the customer's next message come in no promised order, so whoever
// answers asks for the owner when answering. What is not told here, and what
// lacks the id that it is about, is a notice of the account.
// Sources: path/90240, 90970 to 90972, 92130, 92277, 91815, 94145, 94670.
func fillState(it *gateway.Item, doc *document, event string) {
	switch event {
	case "change_external_contact":
		customerChange(it, doc)
	case "change_external_chat":
		chatChange(it, doc)
	case "change_external_tag":
		if c := state(it, plain("tag", doc.value("Id")), doc.value("ChangeType")); c != nil {
			c.Detail = doc.value("TagType")
		}
	case "change_contact":
		contactChange(it, doc)
	case "subscribe", "unsubscribe":
		state(it, folded("member", doc.value("FromUserName")), event)
	case "close_inactive_agent", "reopen_inactive_agent", "active_restored", "low_active":
		state(it, it.Chat.Identities[0], event) // the app is stopped, or runs again
	case "create_auth", "change_auth", "cancel_auth", "reset_permanent_code":
		authChange(it, doc, event)
	case "open_approval_change":
		about(it, plain("approval", doc.value("ApprovalInfo/ThirdNo")), doc.value("ApprovalInfo/OpenSpStatus"))
	case "sys_approval_change":
		if c := about(it, plain("approval", doc.value("ApprovalInfo/SpNo")), doc.value("ApprovalInfo/SpStatus")); c != nil {
			c.Detail = doc.value("ApprovalInfo/StatuChangeEvent") // spelt so
		}
	case "living_status_change":
		about(it, plain("living", doc.value("LivingId")), doc.value("Status"))
	case "customer_acquisition":
		about(it, plain("customer", doc.value("ExternalUserID")), doc.value("ChangeType"))
	case "kf_msg_or_event": // a bell: what it rings for is pulled
		about(it, plain("kf", doc.value("OpenKfId")), "")
	}
}

func plain(kind, id string) gateway.Identity { return gateway.Identity{Kind: kind, Value: id} }

// about puts a notice under the key of what it is about; nil when it names
// nobody.
func about(it *gateway.Item, whose gateway.Identity, what string) *gateway.StateChange {
	if whose.Value == "" {
		return nil
	}
	of(it, whose)
	it.Content.Change = &gateway.StateChange{Of: whose, What: what}
	return it.Content.Change
}

// state is about for what holds from now on.
func state(it *gateway.Item, whose gateway.Identity, what string) *gateway.StateChange {
	c := about(it, whose, what)
	if c != nil {
		it.Kind = gateway.KindState
	}
	return c
}

// customerChange reads what happened between a customer and a member. The key is
// the customer, not the pair: a transfer touches two members of one customer.
func customerChange(it *gateway.Item, doc *document) {
	c := state(it, plain("customer", doc.value("ExternalUserID")), doc.value("ChangeType"))
	if c == nil {
		return
	}
	c.Member = colleague(doc.value("UserID"))
	c.Source = first(doc.value("Source"), doc.value("State"))
	c.Reason = doc.value("FailReason")
	handle(it, gateway.HandleWelcome, doc.value("WelcomeCode"), welcomeLife)
	if word := noteWord(c.What); word != "" && c.Member != nil {
		it.Note = &gateway.StateNote{Word: word, Member: *c.Member}
	}
}

// noteWord is what a change says of the member and the customer. One that a customer
// deleted can write to them no more. A transfer that failed changes nothing.
func noteWord(change string) gateway.NoteWord {
	switch change {
	case "add_external_contact", "add_half_external_contact":
		return gateway.NoteHas
	case "edit_external_contact", "msg_audit_approved":
		return gateway.NoteSeen
	case "del_external_contact", "del_follow_user":
		return gateway.NoteGone
	}
	return ""
}

// chatChange reads what happened to a group of customers, with the chain of its
// members' versions.
func chatChange(it *gateway.Item, doc *document) {
	c := state(it, plain("chat", doc.value("ChatId")), doc.value("ChangeType"))
	if c == nil {
		return
	}
	c.Detail = doc.value("UpdateDetail")
	c.People = doc.list("MemChangeList/Item")
	c.Source = first(doc.value("JoinScene"), doc.value("QuitScene"))
	if c.What == "create" || c.What == "dismiss" || c.Detail == "change_owner" {
		it.Note = &gateway.StateNote{Word: gateway.NoteMoved} // to whom is not told
	}
	c.Before, c.Version = doc.value("LastMemVer"), doc.value("CurMemVer")
}

// contactChange reads a change of the corp's address book. A member who was
// renamed is known by both ids, the new one first; the old one finds what comes
// late. Departments and tags are the corp's.
func contactChange(it *gateway.Item, doc *document) {
	what := doc.value("ChangeType")
	if !strings.HasSuffix(what, "_user") {
		if c := state(it, it.Chat.Identities[0], what); c != nil {
			c.Detail = first(doc.value("Id"), doc.value("TagId"))
		}
		return
	}
	was, is := doc.value("UserID"), doc.value("NewUserID")
	if was == "" || is == "" || fold(was) == fold(is) {
		if c := state(it, folded("member", first(is, was)), what); c != nil {
			c.Member = colleague(first(is, was))
		}
		return
	}
	now, old := folded("member", is), folded("member", was)
	old.Retired = true
	c := state(it, now, what)
	of(it, now, old)
	c.Member = colleague(is)
	it.Content.Identity = &gateway.IdentityChange{Before: []gateway.Identity{*colleague(was)}, After: []gateway.Identity{*c.Member}}
}

// renamed tells a member's rename to their conversation with each of our apps: an
// event "system" with both ids, as other platforms tell of new numbers, so that the
// conversation goes on under the new id. Each has the key of the change, which is
// another event for another account.
func (e *Endpoint) renamed(change *gateway.Item) (out []gateway.Item) {
	if change.Content.Identity == nil {
		return nil
	}
	corp, _, _ := strings.Cut(change.AccountID, "/")
	is, was := change.Content.Identity.After[0], change.Content.Identity.Before[0]
	was.Retired = true
	for _, agent := range e.agents[corp] {
		out = append(out, gateway.Item{
			AccountID: corp + "/" + strconv.FormatInt(agent, 10), Kind: gateway.KindState, Key: change.Key, OccurredAt: change.OccurredAt,
			Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{is, was}},
			Content: gateway.Content{Type: "system", From: &gateway.Party{Identities: []gateway.Identity{is}},
				Identity: change.Content.Identity, Raw: change.Content.Raw},
		})
	}
	return out
}

// authChange reads that a corp let a suite in, or put it out. create_auth and
// reset_permanent_code name the corp only behind a code that is to be exchanged:
// they are the suite's.
func authChange(it *gateway.Item, doc *document, event string) {
	whose := it.Chat.Identities[0]
	if corp := doc.value("AuthCorpId"); corp != "" {
		whose = plain("account", corp+"/")
	}
	state(it, whose, event)
}

// colleague is a member as a party of a change; nil for nobody.
func colleague(userID string) *gateway.Identity {
	if userID == "" {
		return nil
	}
	id := folded("userid", userID)
	return &id
}
