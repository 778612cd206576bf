// Package relay turns archived payloads into events: it opens and decodes each
// payload, finds the account its content speaks of, and writes events, seq,
// duplicates, pending rows and its own position into the ledger in one
// transaction. It also copies events and changes to the streams for observers.
//
// Promise: every archived payload gets exactly one state, in the order of
// archiving; the same payload relayed twice makes nothing twice. One bad item
// or payload harms no other.
//
// A callback with many items is written in slices of batchItems, each a transaction
// of its own, so that what waits for the ledger meanwhile (answers, attempts, other
// readings) waits for one slice. Measured with 1,000 new customers in 2.8 MB on a busy
// machine of 2 cores: 11 ms of CPU time a slice, 60 ms to decode it all
// (BenchmarkLargeCallback in cmd/causeway). What was archived behind it is relayed
// after it: whose conversations it holds is not known before it is read.
//
// Owner: one Relay and one Publisher run on the leader, each one goroutine that
// starts in Run. Failure: when the ledger or archive fails, the same batch is
// tried again after a pause and nothing is skipped; losing the broker stops the
// Publisher only. If the process dies between decoding and the commit, the same
// payloads are decoded again; after the commit, the position says so.
package relay
