// Package media gets the bytes of files that events refer to, in time, and brings
// files of ours to the platforms so that they can be sent.
//
// Promise: every file the relay queued ends once, ready or unavailable with a
// reason out of a closed set, and a notice event says so. The event itself never
// waits for it. Old files of a history sync wait for all others. One account's
// trouble (a dead token, a throttle) holds no other's files and spends no tries;
// neither does a full disk: then nothing is fetched until there is room.
//
// Owner: one Fetcher and one Uploader run on the leader; their goroutines start
// in Run. A fetch in flight belongs to one goroutine.
//
// Failure, by where the process dies: while fetching, what was written is gone at
// the next start and the row is still pending, so it is fetched again; after the
// file got its name and before the commit, the same: the bytes come again under
// the same name (key: their SHA-256); after the commit and before publishing, the
// notice is in the ledger and the publisher's cursor finds it (key: the notice's
// id, made of the event's). An operator sees what waits in `causeway media ls`,
// in doctor and in the sums.
package media
