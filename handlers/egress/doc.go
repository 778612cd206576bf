// Package egress sends HTTP requests to the platforms and says for every
// failure whether a byte of the request can have left this machine.
//
// Promise: Do makes one call. It follows no redirect, repeats no POST of which
// a byte was written, never sends an Idempotency-Key header (Go's transport
// takes one as leave to repeat a POST), reads at most MaxBody bytes of the
// answer, and writes nothing after voidAfter. Every failure is an *Error whose
// text holds method, host and one word, so that neither the query of a URL nor
// a header can get into a log.
//
// How "not written" is known. httptrace's WroteHeaders fires when the header
// is in a buffer, which is before the first byte reaches the connection; it is
// early, never late. The connections of this package therefore count for
// themselves: a guard sits in front of the Write of the socket, below TLS, and
// counts what the kernel took. Only for a connection that is not ours
// WroteHeaders decides. HTTP/2 is off, because a connection shared by several
// requests could not be counted.
//
// How voidAfter is kept. The guard looks at the wall clock and at the monotonic
// clock right before the socket's Write, and refuses when either says that the
// time is over: the monotonic clock stands still while a machine sleeps, the
// wall clock may be set back. The socket also gets a write deadline, so a write
// that blocks ends in time. What remains is the handful of instructions between
// the look and the system call.
//
// Owner: the caller owns the Client and closes it. Client is safe for
// concurrent use and starts no goroutine of its own beyond those of net/http.
package egress
