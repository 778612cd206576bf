// Package unified speaks to vendors' gateways in front of WeCom and the like, whose
// callbacks are JSON and whose field names differ from one to the next: a description
// (Decoding, Sending) says where everything stands. There is no vendor's name in the
// code.
//
// Promise: nothing of a callback is believed before all that is configured as proof
// was found right (Verification); Verify and Decode are pure functions of their
// input and the description, and no input panics. Numbers are never read as floats:
// an id keeps its digits. What our side wrote, or may have written, is never a
// message. What is put into a send call cannot change the form of its body.
//
// Owner: an Endpoint and a Client are immutable after they are made and may be used by
// any number of goroutines.
//
// Failure: a callback that is not proven genuine is gateway.ErrUnverified. One that is
// not JSON, or has more than 10,000 items, is gateway.ErrUndecodable. One odd item is
// an item with Err and harms no other; an unknown kind or type is a notice with its
// raw part. No error holds a secret, an id or text.
//
// # Paths
//
// Fields of a description are lists of paths; the first that finds something wins. See
// path for their form. A path begins at the item; one that begins with $ begins at the
// callback that the item is in; =text is that text itself, for what a vendor does not
// write. A body that is a list holds a callback in each element.
//
// # Who wrote
//
// In this order: a sender whose id is ours (own_id), the vendor's flag (from_self),
// the absence of both. What our side wrote is an echo, and so is what has our marker
// on it, whatever the flag says. The ledger judges echoes against the messages we
// sent: by the marker, which is there before the call is made, else by the id that
// the call was answered with; an echo that comes before that answer waits for it, ten
// seconds at most. An echo that none of our messages explains was written by a
// colleague (human), by another program (foreign, by source and sources), or, where
// nothing told that it was ours at all, by nobody knows whom (undecided). No echo is
// ever offered to an application, and content is never compared.
//
// # Keys
//
// Within account and kind (they make the event's id):
//
//	e:<event_id>          the vendor's id of the event
//	m:<message_id>        its id of the message, where there is no other
//	h:<SHA-256>[:<minute>][#<n>]   neither: a hash of the item, the minute it came in
//	                      where it has no time, its number among equal ones in a body.
//	                      Such events are marked weak_id.
//	p:<payload>:<n>       a kind with dedup none: every callback is an event
//
// A conversation is named by the vendor's id of it (kind conversation, group), or by
// the id of the other side (userid). State has a key of its own, which is no
// conversation's.
//
// # Sending
//
// One call for each kind of reply, its body a JSON template. There are four outcomes.
// An answer that says in the vendor's words that the message was not taken is a
// refusal; send.codes say what its code means, and a code that is not there is tried
// once more and then rejected. Without such words the status decides: 408, 5xx, and
// success that cannot be read are unknown; 429 and whatever is not about this
// message (a credential, an address, a redirect) let the account wait.
//
// # Files
//
// A file is fetched from the address that a callback names, where the account names
// the hosts at which files may lie; nobody else's word makes the gateway call an
// address. A page or JSON under 200 is a refusal, unless the callback said that the
// file is one. A file that is known by an id alone is unavailable.
//
// # Facts
//
// No public document of the wecomapi kind was found (2026-11); the shape in
// testdata/unified is made up after its known calls (POST /message/sendText {guid,
// toId, content}). Others, from public pages read in 2026: work-phone
// (wework-phone.apifox.cn: several messages a callback, no ids on notify_type 4 to 6,
// equal bodies for different events), Quntool (docs.gnlab.com: isOpenApi and
// sendMsgId), WorkTool (no ids at all), hooks of the desktop client (conversation
// ids S:a_b with the smaller id first, R:room). Numbers beyond 2^53 are common.
//
// Found and chosen: vendors do not prove URLs by a GET, so it is answered 404. A
// secret in a header is never kept; its fingerprint is, so that callbacks refused for
// a wrong secret can be verified again after it was mended. The same number for two
// equal items in one body lets neither be lost. Not part of this release: callbacks
// that are forms or hold JSON inside of a text, credentials in the query of a call,
// uploads, numbers as values of a call, and what a vendor's history says.
package unified
