// Package embedded runs the NATS server inside the gateway's process, so that
// an installation needs no broker of its own.
//
// Promise: one server per directory (a lock file says so, since two servers on
// one directory both start and both acknowledge the same sequence numbers);
// nobody reaches it over TCP without a name and a password; a worker's user can
// read and answer the offers of its own applications and nothing else (what one
// that means harm can disturb all the same: stream.Access.Rights); the server can
// be restarted in process, connections of Provider find the new one by themselves.
//
// Owner: whoever called Start; Close ends every goroutine of the server. Watch
// is the only loop of this package and runs in the caller's goroutine.
//
// Failure: a JetStream server that could not write (full disk, I/O error) keeps
// its streams frozen when there is room again: publishes time out until it is
// restarted (nats-server 2.15). Watch sees that by the server's own health
// report and restarts it; nothing that was acknowledged is lost by that.
package embedded
