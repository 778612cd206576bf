// Package wecom speaks to WeCom (企业微信): it proves and opens callbacks of a
// self-built app and of a suite, decodes them into items, and sends replies.
//
// Promise: nothing of a callback is believed before msg_signature over its
// Encrypt text was found right, and nothing outside the decrypted part is used
// afterwards: the envelope's ToUserName and AgentID are not signed. Challenge,
// Verify and Decode are pure functions of their input and the credentials;
// hostile XML (a DOCTYPE, deep nesting, a doubled key field, a cut end) is
// refused in the outer and in the inner document, and no input panics.
//
// Owner: an Endpoint and a Crypt are immutable after they are made and may be
// used by any number of goroutines.
//
// Failure: a callback that is not proven genuine is gateway.ErrUnverified, an
// envelope that cannot be one gateway.ErrHostile. A genuine one that no key of
// the ring opens, or that is addressed to somebody else, is gateway.ErrSealed:
// archived and readable again once the key is mended. An open one that makes no
// sense is gateway.ErrUndecodable. No error holds a secret, an id or text.
//
// Sending: message/send as text, Markdown, picture, voice, video, file, news and
// template card, the change of a card, and recalls; appchat/send, to chats that the
// app made, of all these but cards, changes and recalls. What a chat's members write
// does not come back, so such a conversation begins by writing to the chat's id. A
// new customer is greeted by the event's code, in one try (92137, a copy of August
// 2022: 20 s, one call, of several apps the first one wins, up to nine attachments;
// the words of 41050 and 41096 are not in it).
// Sources: WeCom 90236 (message/send), 90245 and 90248 (appchat), 94888
// (update_template_card), 94867 (recall), 90389 (media/upload), 90455 (codes), in
// copies of 2023, the kinds of 90248 in one of 2026. Found and chosen: an app's own
// messages never come back, so nothing settles an unknown outcome; the marker is the
// task_id of cards, and of other messages there is none. The name of a document
// belongs to its upload, so the same file under two names is uploaded twice. A code
// outside the table is tried once more and then rejected.
//
// Files of messages: media/get (90254) by the media id alone, within three days,
// from api_base or the documented host. A file is what comes as an attachment;
// what else comes under 200 is an errcode or somebody else's page. PicUrl names
// hosts that no page documents and is never called; the picture of a video
// (ThumbMediaId, in the raw part) is not fetched, since an event has one file. A
// name that a person gave comes with the bytes alone, so it is in the notice.
//
// What doctor asks: gettoken, agent/get (90227: stopped, visible to whom),
// getcallbackip (90930). WeCom tells an app neither the URL of its callbacks nor
// the address it is seen under; that one stands in the words of 60020 alone.
//
// # What an item is
//
// A callback holds one item. What a member wrote, chose from a menu or a card, or
// scanned for an answer is a message in the member's conversation with the app;
// what else they did in the app is a notice in it. What nobody wrote stands in the
// account's chat under a key of its own: a customer, a chat of customers, a tag, a
// member, an approval, a broadcast, a kf account, or the account as a whole. Of
// these, contacts, the corp's address book, who has the app, and whether the app
// runs are state; all else, known or not, is a notice with its raw part. State is
// never in a conversation's order, since WeCom promises none between a transfer
// and the customer's next message: who answers asks for the owner when answering.
//
// Our side is "<corp>/<agent>" by the AgentID of the decrypted part, also where
// that is an app of WeCom's own (approval 3010040, chat archive 2000004), "<corp>/"
// for contacts, address book, batches, links and kf, "<suite>/" for a suite's
// commands.
//
// Keys, within account and kind (they make the event's id):
//
//	m:<MsgId>:<folded userid>:<AgentID>   messages with a MsgId
//	h:<SHA-256 of the plaintext>          all else
//
// WeCom's own rule for events, FromUserName and CreateTime, loses events: the
// resolution is a second, and "sys" sends most of them (reports of WxJava 1745,
// 1288, 2314, 2880, 3088). Two events that are equal in every byte are one.
//
// One-time codes (WelcomeCode, ResponseCode) are in Content.Handle with their end,
// and in the raw part; so are a suite's ticket and AuthCode and a bell's token, in
// the raw part alone. None is in a log or an error.
//
// Releases before this model read choices, scans, places, pages and videos as
// notices, and state as notices of the account. The kind is part of an event's id,
// so WeCom's retry, within seconds, over such an update is a new event, once.
//
// # Customer service (kf)
//
// The callback is a bell; what it rings for is fetched by Puller, whose comment says
// what is promised, and archived as pages, which DecodePage reads. A page says in
// two headers of ours whose it is and since when we look, so that decoding it is
// pure. Our side is "<corp>/kf:<open_kfid>", keys are k:<open_kfid>:<msgid>, the
// conversation is the customer's (external_userid). Decided:
//
//   - The bell wakes the puller when the relay reads it out of the archive, so the
//     process that leads pulls, whichever one took the callback.
//   - History is what was sent over a minute before the account was first asked
//     for; that time is kept with the cursor, and a cursor that is lost or refused
//     changes nothing of it.
//   - enter_session is a notice in the conversation: an application that greets
//     asks for kind notice. Changes of a session are state of kind "session".
//   - A colleague's message is an echo. So is any item whose msgid is of our
//     marker's form, though 94670 says that none comes back.
//   - The msgid of a send is our marker. With which code a repeated one is refused
//     is not documented: a code outside the table to a second attempt is unknown.
//   - A transfer is kf/service_state/trans (94669, last changed Nov 2023). It cannot
//     be repeated blindly: a second one may end the next session, or take a customer
//     from whom a colleague gave them to. A lost answer is settled by asking for the
//     state, at once or, of one that a dying process left open, when its call cannot
//     run any more, and is unknown where that does not help.
//   - A menu is made of buttons, lists and links; a link with a picture (file) is a
//     card of its own. Limits are WeCom's, in bytes; nothing is cut.
//
// Sources: WeCom 94670 (sync_msg), 94677 (send_msg), 95122 (send_msg_on_event),
// 94669 (session), 94661 (account/list), in copies of 2022 to 2024. Not in them,
// and taken from elsewhere: about ten calls a minute without a bell's token
// (WeCom's staff in its forum, Oct 2021), with which codes a cursor and a used code
// of an event are refused; with which one a session is that stands already as asked
// for; what 95014 means.
//
// # Facts in doubt
//
// Read by way of public copies of WeCom's pages (path/NNNNN of
// developer.work.weixin.qq.com/document), of 2022 to Nov 2026.
//
//   - Messages: 90239. file and shortvideo are not on it and are in SDKs of
//     others: read by the fields of their kin.
//   - Events of the app: 90240. Some cards write AgentId for AgentID: both read.
//     Which card gives SelectedItems is not said: any that does is a form.
//   - taskcard_click is of the old task card; its TaskId is read as that of the
//     new ones, ours.
//   - Members: 90970; departments: 90971; tags: 90972. A rename (NewUserID) joins
//     the two keys of the member's state. It names no app, so it is told to the
//     member's conversation with each app of the corp that is configured
//     (EndpointConfig.Agents): an event "system" that makes the new id an alias.
//     Found: that needs no other way into the ledger, and joins whichever of the
//     two spoke first; the price is a conversation for a member who never wrote.
//     An app that is added later begins anew. Whether a member may later get an id
//     that another one had is not said; if so, what they write stands in that
//     one's conversation, and is answered to them.
//   - Customers, chats, tags: 92130, as a suite is told 92277. A tag's Id may be
//     that of a group of tags; TagType is absent on shuffle.
//   - JoinScene and QuitScene are numbers whose meaning is not ours: as they came.
//   - Approvals: 90240 and 91815 ("StatuChangeEvent" is spelt so); broadcasts:
//     94145; links: 97299; kf: 94670 and 97712; stopped apps: 90240. The fields of
//     quota_expire_soon and active_restored are unseen.
//   - Suites: 90628, 97172. Only the command URL wants "success". Whether a data
//     URL is addressed to the suite or the corp is contradictory: receive_ids is a
//     set.
//   - The JSON envelope of an app is in a commented-out part of 90238 and printed
//     differently in 90968: read in either spelling. What is inside may be JSON
//     too; no page shows one. It is read by the names of the XML in any case, with
//     lists for elements that repeat: the same items, and for messages the same
//     keys. The key of what has no MsgId is over the bytes that came.
//
// # Robots
//
// An intelligent robot (aibot) calls back with JSON, addressed to nobody (100719,
// 101027, 101033; copies of Mar to Nov 2026). Its conversations are a member
// ("userid") or a group ("group": the chatid, not who wrote); "bot:<aibotid>" is our
// side; messages have no time. A document in which a name comes twice, in whatever
// case, is refused. Files have an address that ends in five minutes and are encrypted
// with the receiver's key; those beyond a message's one are notices behind it. What is
// quoted comes in words (Content.Quoted). Cards, pressed, are messages; all other
// events are notices.
//
// A message that an application may answer is answered with the opener of a stream,
// whose id is made of the event's: a callback that comes again opens the same one. The
// platform then asks how far the stream is (at most six minutes, 101031). Questions
// repeat the message's msgid, tell nothing, and are answered from the ledger, neither
// archived nor deduplicated. "Taken" is written before the end is handed out, so that
// a fetched answer is never sent again; should that answer be lost on its way, the
// platform asks again. Where nobody answers the callback is answered with nothing.
// enter_chat must be answered within five seconds and no worker is waited for: the
// account's welcome, a fixed text.
//
// A task's texts are one answer. All but its last message are accepted when they are
// on disk; the last one when the platform fetched the end, or took the late answer
// (response_url: once, within an hour, 101138). A fetch shows as "delivered". When
// nobody asked for ten seconds, or the six minutes are over, what was not fetched goes
// late; what then fails marks the earlier messages failed. The late address is in
// Content.Handle, since the sender needs it, and is called only on WeCom's own host.
// Cards go with the end of a stream (stream_with_template_card) or, alone, late. A
// card cannot be changed: WeCom takes that within five seconds of the press only.
// Pictures of our store (msg_item: ten, JPEG or PNG, 10 MiB each; here all together)
// go with the end that is fetched and with nothing else: what goes late has none, and
// they are marked failed. Where people may judge answers, the opener has the event's
// id as feedback.id (at most 256 bytes, set once), and what they say names it. Source:
// 101031, in a copy of October 2025, read Nov 2026. Found in doubt: how often the
// platform asks, what it shows of a stream that ends empty, and the codes of
// response_url.
//
// A robot may have its callbacks come by a long connection instead (101463): frames
// around the same documents, read by DecodeFrame.
//
// The webhook of a group ("robot") only sends: 91770. Its key stands in the address;
// the 21st message in a minute waits here.
//
// # Records of the chat archive
//
// The archive (msgaudit, 91774) has what members and customers wrote to each other,
// read with a library of WeCom's in C, in a process of its own. DecodeRecord reads
// what that hands over: notices, since nobody in them speaks to us, and none of them
// has an id that anything else has. Keys are a:<msgid>; times are milliseconds. What
// is not written down in the samples is read loosely: "switch" names a member in
// "user", ids that begin with wm, wo or wb and have 32 characters are no members'.
//
// Neither the long connection nor the archive is called by this release. Their
// payloads decode wherever they come from, by the endpoint they are archived under
// (Fetched), so that what brings them needs to know nothing of events.
//
// # What decoding costs
//
// By kind, a text to an app being 1 (go test -bench . ./handlers/wecom; 72 µs on two
// busy cores, the cipher included): image 1.2, voice 1.2, menu click 1.1, scan 1.6,
// card 1.7, member 2.2, customer 1.5, group 1.9, approval 3.4, bell of customer
// service 1.1; a robot's text with a quote 2.3, mixed 3.1; a text of 100 KB 176, a
// page of customer service with 1,000 messages 293.
package wecom
