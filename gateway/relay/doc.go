// Package relay turns archived payloads into events: it opens and decodes each
// payload, finds the account its content speaks of, and writes events, seq,
// duplicates, pending rows and its own position into the ledger in one
// transaction. It also copies events and changes to the streams for observers.
//
// Promise: every archived payload gets exactly one state, in the order of
// archiving; the same payload relayed twice makes nothing twice. One bad item
// or payload harms no other.
//
// Owner: one Relay and one Publisher run on the leader, each one goroutine that
// starts in Run. Failure: when the ledger or archive fails, the same batch is
// tried again after a pause and nothing is skipped; losing the broker stops the
// Publisher only. If the process dies between decoding and the commit, the same
// payloads are decoded again; after the commit, the position says so.
package relay
