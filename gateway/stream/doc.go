// Package stream is the broker's client side: the names, settings and traffic of
// the JetStream streams through which events go out and answers come in.
//
// Promise: the streams exist with exactly the settings of this package and
// belong to this store (its id and epoch are in their metadata); what was
// published is acknowledged or reported as not; a conversation has at most one
// offer in a gate, enforced by the server; answers are handed on in order, each
// at least once. Everything in a stream can be made again from the store, so a
// broker that was lost, wiped or full delays and loses nothing.
//
// Owner: Open gives a Streams, used by the relay (events), the gate (offers),
// and the outbox (answers, results) through interfaces of their own; its
// methods are safe for concurrent use. TakeAnswers and Exhausted run in the
// caller's goroutine until its context ends. Publisher and Puller are also the
// ground the worker SDK stands on.
//
// Failure: a call that finds its stream or consumer missing returns an error
// wrapping gateway.ErrUnavailable, and the next call after at most a second
// makes it again. Streams of another store are never touched: Open, and every
// call that sees them later, returns an *OtherLifeError until Adopt. Facts about the server that shape this
// package (all seen on nats-server 2.15): a duplicate id is forgotten by a
// work-queue stream at a restart; acknowledgements are matched by stream
// sequence only; both "the place of this subject is taken" and "the stream is
// full" are error 10077 and differ in their words; a stream with a write error
// answers nothing.
package stream
