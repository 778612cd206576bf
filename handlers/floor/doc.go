// Package floor is the least a webhook can do and still keep its promise: a bare
// Gin handler that reads the body, checks the HMAC and answers 200 when the bytes
// are on disk. It has no limits, endpoints, headers, request ids or metrics. It
// is what `causeway bench ingest` measures the front door against, on the same
// machine in the same run; nothing else uses it.
//
// Promise: 200 means that the bytes were written and fsync returned; requests
// that wait at the same moment share one write and one fsync.
//
// Owner: New makes a Floor; its one goroutine is Run, which owns the file. The
// caller serves Handler and closes the file after Run returned.
//
// Failure: a write or sync that fails answers 500 to everybody in that group and
// ends Run, since the file's end is not known any more; later requests get 503.
package floor
