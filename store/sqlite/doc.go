// Package sqlite keeps the archive and the ledger in two SQLite files of one
// folder, with the pure Go driver modernc.org/sqlite.
//
// Promise: the specification in package store. archive.db is written by ingest
// alone, ledger.db holds the rest; each has one goroutine that writes, in group
// commits, and a few connections that read short snapshots, so that neither
// waits for the other and no transaction spans both. A durable write returns
// after the fsync of the write-ahead log that holds it.
//
// Answers of workers (Ledger.Settle) are committed without waiting for an fsync, and
// get theirs within some milliseconds (syncer), or with the next durable commit.
// Why nothing is lost or done twice when the power goes in between:
//   - The log is written in order and each frame's checksum covers those before it,
//     so that what is read back is the ledger as it was after one of its commits, at
//     or behind the last fsync: never an answer without its replies, its try or the
//     position of the intake, nor a later answer without an earlier one
//     (TestPowerCut).
//   - A reply leaves only after its attempt, a durable commit behind the answer's: its
//     fsync takes the answer along. So an answer that is gone has had no effect, and
//     its event is handed out again, then those behind it, in order.
//   - The worker had no more before: JetStream acknowledges an answer before its own
//     fsync, by up to two minutes. What it kept is read again from the position that
//     went back with the answers; CW_REPLY is purged only of what Sync vouches for.
//   - A process that is killed loses nothing: what is written is the system's.
//
// What is left over: a worker on another machine that had the next event of a
// conversation when gateway and embedded broker lost their power together may answer
// it before the one that is handed out again.
//
// Owner: the process that holds the lock on the folder (causeway.lock); Open
// takes it before it opens a file, Store.Close gives it back. Failure: a commit
// that fails (disk full, read-only) fails the callers in it and nothing later;
// the writers go on and work again when the disk does.
//
// Found while building, and chosen:
//   - database/sql costs about as much as SQLite itself for a small statement;
//     the connections here talk to the driver directly and keep their prepared
//     statements. database/sql is used for migrations only.
//   - A checkpoint run by the committing connection holds every caller for its
//     length. A second connection copies the log back passively while the
//     writer goes on; the writer itself only does the short rest that lets the
//     log start over.
//   - What a callback costs is system calls first: SQLite writes each page it
//     touched by two of them, at every commit. Hence large pages for the archive
//     (archivePage), one column for all that is not body (head.go), sixteen rows
//     to a statement, and a writer that gathers before it commits. CPU for a
//     durable row with 64 callers went from 31 to 16 µs by this. The VFS
//     "unix-excl", which spares file locks, gave another tenth with one caller
//     only and shuts out every other tool; it is not used.
//   - What a relayed event costs is the pages it dirties. A conversation's row
//     is therefore not written for each of its events: last seq and newest time
//     follow from the event rows and are caught up with when the row is read.
//   - A CHECK with a longer IN list builds a table at every insert; the checks
//     of the schema are chains of OR.
//   - An event is handed out when the one before it is settled. Waiting for an fsync
//     there was a third of a conversation's turn, 1.7 ms after an idle moment.
//   - A person does not wait like a stage: groups are as large as the stages' crowds make
//     them, and so are the lines of their readers. Writes of people go first (soon.go),
//     and their reads have connections of their own (Ledger.people). A cancellation
//     while 1,100 messages a second leave went from 37 to 15 ms by this (p99, single runs).
//   - fdatasync is as durable as fsync for a log that is overwritten in place
//     and spares a journal commit of the file system; see Options.Fsync. A log is
//     therefore written ahead with zeros (ahead.go); on a file that grows, ext4 on
//     Linux 6.18 lost synced records when its journal was aborted.
package sqlite
