// Package whatsapp speaks to Meta's WhatsApp Business Platform (Cloud API): it
// proves callbacks genuine, decodes them into items, and sends replies.
//
// Promise: nothing of a callback is believed before the HMAC over its raw bytes
// was found right under an app secret of the ring; the bytes are never written
// anew for that. One POST holds any number of entries, changes and items of any
// kinds; each becomes an item of its own, in the order of the body, and an odd
// one harms no other. Challenge, Verify and Decode are pure functions of their
// input and the configuration, and no input panics.
//
// Owner: an Endpoint is immutable after it is made and may be used by any number
// of goroutines.
//
// Failure: an endpoint without a current secret answers gateway.ErrNoSecret to
// everything. A verified body that is no envelope of the platform is
// gateway.ErrUndecodable; one of another product ("page") holds no items. No
// error holds a secret, an id, a number or text.
//
// # What an item is
//
// Kinds: what a bot can answer is a message; reaction, edit and revoke are
// changes with a target, in the customer's conversation; new ids of a customer
// (system), marketing preferences, entries of the address book, groups, handed
// over threads and the condition of accounts and numbers are state; receipts are
// statuses; what left in our name is an echo, also when it is a reaction, an edit
// or a revoke by a colleague. All else, known or not, is a notice with its raw
// part: unsupported messages, calls, clicks, leads, templates, alerts, flows,
// security, errors.
//
// Keys, within account and kind (they make the event's id):
//
//	m:<wamid>                          messages, changes, state and notices of value.messages
//	s:<wamid>:<state>:<participant>    receipts; the participant's number, else user id, else nothing
//	e:<wamid>                          echoes
//	c:<wacid>:<event or status>        steps of a call
//	sb:… hi:… hi:f:…                   the same in standby, in history, in the files that follow a history
//	h:<SHA-256>                        all else: over entry id and time, field, value, and the place in it
//
// Items of history and standby are Observed: recorded, published, never offered,
// never evidence. The refusal to share a history is not: it is news of today.
//
// The kind is part of an event's id. Releases before this model read changes,
// places, cards, orders, forms, permissions to call, system messages, groups,
// preferences and some account fields as notices, and history, standby and
// several calls as one notice each. A redelivery, within Meta's 7 days, of what
// such a release had received is therefore a new event, once.
//
// # Facts in doubt
//
// Meta's pages disagree with each other and with what is seen. The list says
// what is done, after which source, of which date; "as of" is when it was last
// looked at. Nothing here is believed more than it has to be: every form named is
// read, whichever is right.
//
//   - username comes with and without "@" in Meta's samples (business-scoped user
//     ids, Dec 2025 to May 2026): one is taken off.
//   - contacts are joined by user id, then wa_id, never by place or count; wa_id
//     and from differ in Brazil and Mexico (nyaruka/courier, as of Nov 2026).
//   - A BSUID may stand in from or wa_id (test data of nyaruka/courier, as of Nov
//     2026); it is told by its form, ^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$ (Meta,
//     May 2026). What is in a field for user ids is one whatever its form.
//   - The parent id of linked portfolios names the same person (Meta, May 2026):
//     it is learned as an alias after the BSUID.
//   - Number and id changes: two types with previous_user_id since 11 Aug 2026
//     (Meta's changelog by way of vaam-apps/meta-whatsapp-rs, Sept 2026), one
//     without it before (Meta's page of early 2026). Fallbacks: from, then the two
//     numbers in the body, the last ones since the name before them is the
//     customer's choice. new_wa_id and customer are of webhooks before v12. Whether
//     from_user_id comes with them is unseen; if it does it is taken for an old id
//     unless it is also the new one.
//   - user_id_update is described (Meta, May 2026) and said to be no field that can
//     be subscribed (Meta, 11 Aug 2026): read.
//   - origin "contact_request" on a card (Meta, BSUID pages of 2026, one source):
//     its one wa_id is taken for the customer's own number. Any other origin not.
//   - timestamp is in seconds as text (Meta); milliseconds (nyaruka/courier) from
//     1e12 on, and numbers, are read.
//   - Receipts of groups: recipient_participant_id (Meta, status page) and
//     participant_recipient_id (Meta, samples on the groups page, Mar 2026);
//     parent_recipient_user_id until 5 May 2026, recipient_parent_user_id since.
//   - "deleted" is a state of old webhooks: kept, moves nothing.
//   - A quick reply's response_json is a text of JSON, "not always an object"
//     (nyaruka/courier): any JSON is passed on, anything else as a text.
//   - interactive may be without its object, the reason in value.errors 131000
//     (david-lev/pywa, Aug 2026): a notice.
//   - request_welcome is documented and "not working at present" (Meta): a notice.
//   - View-once and disappearing messages come as unsupported; "ephemeral" was a
//     type of the on-premises API: a notice.
//   - edit and revoke exist for coexistence numbers only, edit within 15 minutes,
//     revoke within 2 days (Meta, messages/edit and /revoke, early 2026). The edit
//     holds the whole new message.
//   - Direction in a history: Meta's own sample has the customer's user id in
//     from_user_id of a message of ours, so only from and to count. Whether a
//     customer's old message may have "to" is unseen; when it is our own number it
//     is theirs.
//   - thread.id is the customer's number (Meta, history page); what it is for
//     customers without one is unseen: it is an identity if it has the form of a
//     number or a BSUID, or when nothing else names them.
//   - Media that follow a history come as value.messages or value.message_echoes
//     under the field history (Meta, history page).
//   - standby and messaging_handovers are known by way of vaam-apps/meta-whatsapp-rs
//     (Meta's pages of Aug to Nov 2026). Whether the copy of a send call has its
//     biz_opaque_callback_data is untested: read if there.
//   - message_echoes is in the subscription list without a page that could be
//     read (as of Nov 2026): like smb_message_echoes.
//   - With payload encryption on, a value probably has encrypted_contents in place
//     of messages (facebook/openapi v23.0, Nov 2025; webhook unseen): a notice.
//   - business_username_update and …_updates are both in Meta's text: both read.
//   - Calls: upper-case statuses and "wacid." ids under statuses (test data of
//     david-lev/pywa, Aug 2026). They are calls also when they stand under
//     "messages", told by type "call".
//
// What doctor asks (TryCredentials, Examine), read in November 2026:
//   - Fields of a number: OpenAPI v23 and Meta's "About the platform". The values
//     of status beyond CONNECTED and PENDING are listed nowhere: one that is not
//     known is an error to be looked at.
//   - health_status: Meta, "Messaging health status" (Oct 2025).
//   - webhook_configuration and subscribed_apps: Meta, "Webhook overrides" (Nov
//     2025, June 2026). That notices of accounts and templates go to the app's URL
//     whatever the overrides: the same page.
//   - debug_token by a system user's token about itself: Meta, "Permissions" (Nov
//     2025). What it says of a token limited to some accounts (target_ids): Meta,
//     "Manage accounts".
//   - appsecret_proof, refused with 100 when the secret is another app's: Meta,
//     "Securing Graph API requests".
//   - Whether Meta shows its client certificate also with the verification GET is
//     not said: only callbacks are asked for it.
package whatsapp
