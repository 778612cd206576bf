// Package wecom speaks to WeCom (企业微信): it proves and opens callbacks of a
// self-built app, decodes them into items, and sends replies.
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
// template card, the change of a card, and recalls. No group chats: a conversation
// of an app has a member and no chat id, so appchat/send has nobody to write to.
// Sources: WeCom 90236 (message/send), 94888 (update_template_card), 94867
// (recall), 90389 (media/upload), 90455 (codes), in copies of 2023. Found and chosen: an
// app's own messages never come back, so nothing settles an unknown outcome; the
// marker is the task_id of cards, and of other messages there is none. The name of
// a document belongs to its upload, so the same file under two names is uploaded
// twice. A code outside the table is tried once more and then rejected.
package wecom
