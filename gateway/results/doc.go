// Package results tells receivers by HTTP what became of messages.
//
// Promise: every change that a receiver wants is posted to it at least once, those of a
// message one after another and in order; different messages do not wait for each
// other, nor receivers. Each post is a CloudEvents JSON body, signed after Standard
// Webhooks, and has the same webhook-id in every try, so that a receiver knows what it
// has.
//
// A receiver's place is kept in the ledger, as the last change before the first that is
// not done. If the process dies, what was posted behind that place is posted again. A
// receiver that is new in the configuration begins with what happens from then on.
//
// What fails is tried again with growing pauses: for a day, or until a few tries failed
// while others got through, so that one result which a receiver cannot take does not hold
// up the rest; a status that says it never will (4xx) ends it at once. What is given up is
// counted as results_undelivered and logged; it stays readable by the API. At most window
// results of a receiver are under way at one time: what is behind waits in the ledger.
//
// A request to send names who is told of it, as a receiver of the configuration, and
// never by a URL of its own. With a URL everybody who may send could let the gateway post
// to any address that it reaches, its own network included, and whom a secret signs for
// would not be known: one of the request's would stand in requests, keys and backups, and
// one of ours would vouch for us to anybody. What a URL per request is wanted for is there
// otherwise: a receiver with on_request is told only of messages that name it, and each
// result has the ids of task and message with which the request was answered.
//
// Owner: one Deliverer on the leader; goroutines start in Run. With the ledger down
// nothing is posted; a receiver that is down costs nobody else anything.
package results
