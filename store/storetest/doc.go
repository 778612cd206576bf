// Package storetest is the conformance suite of a store: what package store
// says, checked from the outside.
//
// Promise: a store that passes Run keeps the promises of store.Archive and
// store.Ledger as far as they can be seen through their methods. Owner: the test
// that calls Run; the open function gives it a fresh, empty store each time and
// closes it with the test. Failure: a failing subtest names the promise.
package storetest
