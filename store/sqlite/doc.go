// Package sqlite keeps the archive and the ledger in two SQLite files of one
// folder, with the pure Go driver modernc.org/sqlite.
//
// Promise: the specification in package store. archive.db is written by ingest
// alone, ledger.db holds the rest; each has one goroutine that writes, in group
// commits, and a few connections that read short snapshots, so that neither
// waits for the other and no transaction spans both. A durable write returns
// after the fsync of the write-ahead log that holds it.
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
//   - fdatasync is as durable as fsync for a log that is overwritten in place
//     and spares a journal commit of the file system; see Options.Fsync.
package sqlite
