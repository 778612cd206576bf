// Package sandbox is what the fake platforms share: the log of calls, faults
// that can be switched while running, the courier that delivers signed
// callbacks, a server that can refuse connections, and the control endpoint.
//
// Promise: a fake platform built on it records a call before it answers, so
// that the log never knows less than the caller; a fault happens exactly where
// its stage says, before or after the platform took the message; callbacks are
// retried as the platform retries. The log tells for every marker how often it
// was taken and whether two calls for one recipient overlapped, which is what
// a gateway's promises are checked against.
//
// Owner: the platform's sandbox owns log, faults, courier and server and closes
// them; Close waits for every goroutine. All types are safe for concurrent use.
//
// Failure: nothing here is durable. The control endpoint answers loopback
// addresses only.
package sandbox
