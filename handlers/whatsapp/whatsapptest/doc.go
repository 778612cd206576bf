// Package whatsapptest is a sandbox of Meta's WhatsApp Cloud API: one business
// phone number that takes messages over real HTTP, sends signed statuses back,
// and lets customers and colleagues write.
//
// Promise: requests are checked as Meta documents it (token, path, and the body of
// each kind of message with its limits: what is missing is 131008, a wrong value
// 131009, an unknown key or too long a text 100; the details name the parameter)
// and answered with Meta's shapes; templates exist as they were set; an accepted message brings the statuses sent,
// delivered and read with our marker in biz_opaque_callback_data; callbacks are
// signed with the app secret, tried again until they are answered 200, and may
// arrive in any order. Everything that goes wrong in life can be switched on;
// see package sandbox. Shapes: Meta, Cloud API reference "messages", webhook
// reference, error codes.
//
// Bodies of callbacks are made in one place, by Business: every kind that Meta
// documents (Kinds), many in one POST, in Meta's form on the wire. Customers may
// hide their number, change it, and sit in groups (SetCustomer, Move, SetGroup).
//
// It serves tests, `causeway sandbox`, `causeway simulate` and the demo. It keeps
// its log of calls in memory.
//
// Owner: whoever calls New closes it; Close waits for every goroutine.
// Failure: a callback that is not taken is tried again; giving up is logged and
// counted.
package whatsapptest
