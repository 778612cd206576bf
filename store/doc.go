// Package store says what a store promises and opens one by URL.
//
// Promise: what a method says is stored, is stored; a method that fails leaves
// nothing of itself behind. The archive is the truth about what arrived, the
// ledger about everything that followed; no transaction spans both, and the
// relay's position in the ledger joins them. Owner: the process that holds the
// lock on the folder. Failure: a store that cannot write says so on each call
// and works again by itself when the disk does.
//
// The stages do not import this package: each names the few methods it reads,
// and cmd hands it a Ledger. The interfaces here are the sum of those, and the
// specification that storetest checks for every store.
package store
