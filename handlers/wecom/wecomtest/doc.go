// Package wecomtest is a sandbox of WeCom for one self-built app: access tokens
// with their limits, message/send of every kind over real HTTP, chats that the app
// makes and appchat/send, changes of cards, recalls, files, and members who write
// and press, with callbacks signed and encrypted as WeCom does it.
//
// Promise: requests are checked as WeCom documents it (token, agent, recipient,
// the parts of each kind) and answered with its errcodes under HTTP 200; a text
// over 2048 bytes is cut without a word, as the platform does; callbacks are tried
// three times and then gone. Everything that goes wrong in life can be switched on;
// see package sandbox. Sources: WeCom 91039 (gettoken), 90236 (message/send), 90245
// and 90248 (appchat), 94888 (update_template_card), 94867 (recall), 90389 and 90254
// (media), 90238 (callbacks), 90239 and 90240 (bodies).
//
// It serves tests, `causeway sandbox` and the demo. It keeps its log of calls
// in memory.
//
// Owner: whoever calls New closes it; Close waits for every goroutine.
// Failure: a callback given up after the third try is logged and counted.
package wecomtest
