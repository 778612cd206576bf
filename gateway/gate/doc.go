// Package gate lets one event of a conversation at a time through to an
// application. It keeps the head of every conversation that has something
// pending, offers it to the broker, and offers it again when it came to nothing.
//
// Promise: at most one event of a conversation is with the application's
// workers, and events go in the order of the ledger. The limit itself is kept by
// the broker (one message per subject in CW_READY_<app>, new ones refused); the
// gate only decides what is offered next, so two gates at once do no harm.
//
// A conversation that became part of another one (the same person under two names)
// goes before it: the older one is not offered while the younger has anything
// pending for the application. That is no more than its events would wait in one
// conversation: a retry holds for its delay, a dead letter lets go, a paused
// application is paused for both.
//
// Conversations do not wait for each other while workers have room. When they have
// none, who has waited longest goes first (queued), and what lies in the stream is
// kept short (window), since it is handed out in the order it was offered: a
// conversation with much to do, one event at a time, would fall behind by the whole
// of it at every turn. 50,000 events, one conversation with 5 % of them, handlers of
// 50 ms: 94 % of the ideal instead of 92, and 93 instead of 87 % over 10,000
// conversations (causeway bench dispatch).
//
// An event that came with a code that ends (a new customer may be greeted for 20 s)
// has a deadline: it is offered with it, gets one try, and is a dead letter
// "too_late" when its turn, or its answer, comes later. The others of its
// conversation wait for nothing more.
//
// An application that collects is offered what waits in a conversation as one bundle,
// when the conversation was quiet for a while (gateway.Collect). The ledger settles
// what belongs together and the gate asks it; a bundle holds its conversation's place
// like a single event, and is one try of the application for the breaker.
//
// What is stopped (an account, a conversation) is put aside when its turn comes, and
// taken back from the broker where no worker has it. A stopped conversation that
// became part of another one holds that one while it has something pending; a pause
// does not move with a merge. An application that does not work as a whole is tripped
// (breaker).
//
// An application that wants no events of conversations that a colleague has is offered
// none from the takeover's commit on: what waited before is taken back from the broker
// where no worker has it, and settled "takeover" when its turn comes while it lasts.
//
// An application with Block has no dead letters of tries, silence and the watchdog
// until a cap is reached. A handler that the watchdog gave up then may run beside the
// next try of its event, and the first answer counts.
//
// Owner: one Gate per application, one goroutine that starts in Run and owns all
// of its maps; others hand it work through channels. Failure: nothing here is
// durable. After a restart, or when the broker lost its streams, every head is
// read from the ledger and offered again under the same id, which the broker
// takes once. A worker that acks without an answer, dies or hangs is found by
// the net, the broker's advisory or the watchdog.
package gate
