// Package unifiedtest is a sandbox of a vendor's gateway: the vendor that the
// descriptions of an endpoint and an account speak of. It takes send calls over real
// HTTP, checks their credentials and bodies, and calls back with what customers and
// colleagues write, with proof, in the description's words.
//
// Promise: a call is taken only when its headers, its method, its path and every part
// of its body are what the description says; what was taken comes back as the vendor
// is told to play it (Plays): with the marker, only with the id of the answer, or with
// neither, as if a colleague had written it; before or after the answer. Callbacks are
// tried three times. Everything that goes wrong in life can be switched on; see
// package sandbox. Sources: those of package unified.
//
// It serves tests, `causeway sandbox` and `causeway simulate`. It keeps its log of
// calls in memory.
//
// Owner: whoever calls New closes it; Close waits for every goroutine.
// Failure: a callback given up after the third try is logged and counted.
package unifiedtest
