// Package relay turns archived payloads into events: it opens and decodes each
// payload, finds the account its content speaks of, and writes events, seq,
// duplicates, pending rows and its own position into the ledger in one
// transaction. It also copies events and changes to the streams for observers.
//
// Promise: every archived payload gets exactly one state, and every conversation
// its events in the order of archiving; the same payload relayed twice makes
// nothing twice. One bad item or payload harms no other.
//
// A callback with many items is written in slices of batchItems, each a transaction
// of its own, so that what waits for the ledger meanwhile (answers, attempts, other
// readings) waits for one slice. Before each slice, payloads that were archived
// behind it overtake it when they have nothing to do with what is left of it:
//
//   - Two payloads concern each other when they have a name in common: of a chat, an
//     event, or a message that is changed. A conversation has more names than a
//     payload tells, so the ledger is handed a function that it asks, within the
//     transaction, with every name of the conversations a payload leads to.
//   - What must wait is concerned in its turn: whatever has a name in common with it
//     waits as well. So of two payloads that concern each other the earlier is
//     always written first, and the others write rows that have nothing in common:
//     the conversations come out as if each had waited.
//   - The position stays at the large payload. One that overtook is whole, in one
//     transaction, and its state row says so: after a death all of them are read
//     again, and the ledger passes over those that have one. The position moves over
//     them when it comes to them. Nothing else has to be kept.
//
// An answer to a send that makes two conversations one in those milliseconds finds
// two, as it does when it comes a moment earlier.
//
// What another account of ours wrote is recorded (gateway.ObservedOwn) and offered to
// nobody, so that two bots of ours do not talk; our own messages that come back are
// echoes. Of somebody else's bot the ledger counts the turns (gateway.Loop).
//
// What waits is kept decoded, up to linePayloads and lineBytes; beyond that nothing
// overtakes. A second large payload waits its turn and is decoded once. Measured with
// 1,000 new customers in 2.8 MB (BenchmarkLargeCallback in cmd/causeway), CPU time:
// 29 ms to decode all, 9 ms a slice, of which 5 ms are the transaction. An event right
// behind it waits for the decoding, a later one for a slice.
//
// A dead letter of an item or payload that the ledger refuses holds only the item's
// conversation: the ledger keeps that it is owed, RunBurials tries it again.
//
// Owner: one Relay and one Publisher run on the leader, each one goroutine that
// starts in Run. Failure: when the ledger or archive fails, the same batch is
// tried again after a pause and nothing is skipped; losing the broker stops the
// Publisher only. If the process dies between decoding and the commit, the same
// payloads are decoded again; after the commit, the position says so.
package relay
