// Package gateway holds the words of Causeway and its pure rules: what a
// payload, an item, an event, an answer, a message and an attempt are, which ids
// and keys they carry, and how a verdict or a status moves them forward.
//
// Promise: nothing in here does I/O, reads a clock or starts a goroutine; the
// same input gives the same output on every machine and after every restart.
// It imports the standard library only, so that every other package may import
// it. Owner: nobody; all values are plain data and safe to copy.
//
// The one way data flows:
//
//	payload (archived bytes) -> items (decoded) -> events (conversation, seq)
//	 -> pending (per application) -> offer -> answer -> task of messages
//	 -> attempts -> outcome, and back: status and echo -> evidence
package gateway
