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
package whatsapp
