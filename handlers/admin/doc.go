// Package admin is the HTTP surface for operators: metrics, health with
// details, and the JSON routes below /api/v1.
//
// Promise: every route but /healthz and /readyz needs a bearer token whose role
// allows it, but /api/v1/answers, which takes the token that came with one event and
// nothing but its answer; tokens are compared in constant time and never echoed. What is
// refused is answered as problem+json (RFC 9457) that names each wrong field.
// No answer carries a secret; raw bodies need the role operator and are audited
// before they are shown. Ids are checked for their form before anything is
// asked, and are never used as paths.
//
// Owner: cmd, which implements API over the store and the stages and hands in
// everything. The router keeps no state and starts no goroutine. Failure: an
// error of the API that is none of the gateway's words is logged without
// details and answered 500.
package admin
