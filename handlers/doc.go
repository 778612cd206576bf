// Package handlers is the front door: it reads a callback within its limits,
// has its platform verify it, archives the exact bytes and only then answers
// 200. It also says what a platform must provide (Endpoint).
//
// Promise: 200 means on disk, but for a platform's question how far an answer is
// (Poller), which tells nothing: it is answered from the ledger. A callback that is too large is answered 413
// before it is read through, one that is not proven genuine with the platform's
// 401 or 403 and an empty body, one that could not be stored in time 503 with
// Retry-After, and none of these leaves a trace that could be acted on. No
// request causes a panic that ends the process, and none is logged with its
// body, query, credentials or signature.
//
// Owner: cmd makes one router and one server per public listener and hands in
// archive, endpoints, clock, log and metrics. Each request is owned by its
// net/http goroutine; the package starts none. Failure: everything that fails
// is an HTTP status, a count, and at most ten log lines a second.
package handlers
