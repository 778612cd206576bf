package whatsapp

import (
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// system reads a message with which the platform tells of new ids of a
// customer. The old ones lead, since the conversation is theirs, and are retired;
// the new ones are learned with them. Without contacts, as a rule, and "from" is
// the old number, or missing.
//
// Which ids are the old ones, in this order: those named previous, the "from",
// and, when that gives none, the two numbers in the text, which is all that the
// samples of early 2026 have. An id that is also among the new ones did not
// change. Source: Meta, "system messages", and changelog of 11 August 2026.
func (s scope) system(it *gateway.Item, o object) {
	sys := o.object("system")
	known := s.contacts.person(names{o.text("from_user_id"), o.text("from_parent_user_id"), o.text("from")})
	var before, after identities
	before.addUserID(sys.text("previous_user_id"), sys.text("previous_parent_user_id"),
		o.text("from_user_id"), o.text("from_parent_user_id"))
	before.add(o.text("from"), sys.text("customer")) // customer: before webhooks v12
	after.addUserID(sys.text("user_id"), sys.text("parent_user_id"))
	after.add(firstText(sys, "wa_id", "new_wa_id")) // new_wa_id: before webhooks v12
	changed := changesID(sys)
	if from, to, ok := numbersIn(sys.text("body")); ok && changed {
		if len(before.list()) == 0 {
			before.add(from)
		}
		if len(after.list()) == 0 {
			after.add(to)
		}
	}
	gone, now := without(before.list(), after.list()), after.list()
	if !changed || len(gone) == 0 || len(now) == 0 {
		// Another type (the identity check names an id that goes on), or half a
		// change: nothing is retired.
		all := identities{before.bsuids, before.phones}
		all.addUserID(sys.text("user_id"), sys.text("parent_user_id"))
		all.add(sys.text("wa_id"))
		list := all.list()
		for _, id := range known.Identities {
			list = addOnce(list, id)
		}
		known.Identities = list
	} else {
		for i := range gone {
			gone[i].Retired = true
		}
		it.Content.Identity = &gateway.IdentityChange{Before: gone, After: now}
		known.Identities = slices.Concat(gone, now)
	}
	if len(known.Identities) == 0 {
		return
	}
	it.Content.From = known
	it.Chat = singleChat(known.Identities)
}

// changesID says whether a system message tells of new ids.
func changesID(sys object) bool {
	switch sys.text("type") {
	case "user_changed_number", "user_changed_user_id", "customer_changed_number":
		return true
	}
	return firstText(sys, "previous_user_id", "previous_parent_user_id") != ""
}

// numbersIn finds the two numbers in "User <name> changed from <old> to <new>".
// The name is the customer's choice and may hold the same words, so the last
// ones count.
func numbersIn(body string) (from, to string, ok bool) {
	const words = " changed from "
	at := strings.LastIndex(body, words)
	if at < 0 {
		return "", "", false
	}
	from, to, ok = strings.Cut(body[at+len(words):], " to ")
	to = strings.TrimSuffix(strings.TrimSpace(to), ".")
	return from, to, ok && isNumber(from) && isNumber(to) && from != to
}

// isNumber says whether a text has the form of a phone number as Meta writes it.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "+")
	return len(s) >= 5 && len(s) <= 20 && digits(s) == s
}

// without returns a without what is in b.
func without(a, b []gateway.Identity) []gateway.Identity {
	return slices.DeleteFunc(slices.Clone(a), func(x gateway.Identity) bool {
		return slices.ContainsFunc(b, func(y gateway.Identity) bool { return x.Kind == y.Kind && x.Value == y.Value })
	})
}

// userIDUpdate reads one element of value.user_id_update, a field that Meta
// described in May 2026 and took back in August. It is tolerated.
func (s scope) userIDUpdate(i int, v value) gateway.Item {
	it := s.partNotice("user_id_update", i, v)
	o := v.object()
	user, parent := o.object("user_id"), o.object("parent_user_id")
	var before, after identities
	before.addUserID(user.text("previous"), parent.text("previous"))
	after.addUserID(user.text("current"), parent.text("current"))
	after.add(o.text("wa_id"))
	gone, now := without(before.list(), after.list()), after.list()
	if it.Err != "" || len(gone)+len(now) == 0 {
		return it
	}
	it.Kind = gateway.KindState
	for i := range gone {
		gone[i].Retired = true
	}
	if len(gone) > 0 && len(now) > 0 {
		it.Content.Identity = &gateway.IdentityChange{Before: gone, After: now}
	}
	it.Content.From = &gateway.Party{Identities: slices.Concat(gone, now)}
	it.Chat = singleChat(it.Content.From.Identities)
	return it
}
