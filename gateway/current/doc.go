// Package current answers who looks after a customer, a chat or a conversation now.
// A hand-over and the customer's next message come in no promised order, so whoever
// handles a message asks when handling it.
//
// Promise: the platform is asked first where it can be, at most every 2 s for each
// key, whoever asks; where it cannot, or does not answer in time, the state is the
// ledger's, by the events that came, and says so with its age. An answer takes 2 s at
// most and holds up nothing else: it reads the ledger beside its writer and has its
// own bound on calls. Source is "platform" only when all that was to be asked
// answered.
//
// What is asked for: of a key of state (a customer, a chat, a session) itself; of a
// conversation of customer service its session, and the customer's owner where an
// event ever told of the customer; of all others nothing, their state is the
// ledger's. A platform's answer is not written anywhere.
//
// Owner: one Current; State may be called by any number of goroutines and starts
// none. Failure: a word (Word…), never an id.
package current
