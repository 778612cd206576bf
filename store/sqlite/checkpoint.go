package sqlite

import (
	"os"
	"sync/atomic"
)

// When the log is copied back, in bytes.
const (
	archiveEvery = 4 << 20   // written since the last look; its pages are written once
	ledgerEvery  = 32 << 20  // its pages are written many times, and copied once
	restartBytes = 16 << 20  // a log of this length should start over
	restBytes    = 2 << 20   // so little left is copied by the writer itself
	netBytes     = 256 << 20 // the writer copies whatever is left
	longBytes    = 48 << 20  // a log that grows beyond is copied at once
	mostBytes    = 64 << 20  // one that starts over is cut to this length
	rounds       = 3         // of copying before the writer is asked
)

// checkpointer copies the log back into the file from a connection of its own,
// passively: neither the writer nor readers wait for it. A log never starts over
// while anything in it is not copied, and under constant writing the passive copy
// never ends quite; so once little is left the writer is asked for the rest.
//
// The copy that ends it syncs the file, with all that was copied before: SQLite syncs
// it at no other time. So every copy is synced here, by a file of its own, and the
// writer, for whom everybody waits, has next to nothing left to sync. Without it
// commits stood still for 30 ms each 16 MiB on an idle disk, and for 1.7 s on a busy one.
//
// What a commit wrote is not known, only about how much it was meant to; a bulk of small
// changes writes ten times that. So its length speaks too: a log that had become
// 350 MiB long was cut in the commit that started it over, which took 90 ms.
type checkpointer struct {
	c       *conn
	db      *os.File // the database; closed last of all, for closing it drops SQLite's locks
	every   int64    // bytes
	written atomic.Int64
	wake    chan struct{}
	finish  chan<- struct{}
	ended   chan struct{}
}

func newCheckpointer(f files, every int64) *checkpointer {
	return &checkpointer{c: f.k, db: f.db, every: every, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// start begins the goroutine; finish is the writer's request channel.
func (k *checkpointer) start(finish chan<- struct{}) {
	k.finish = finish
	go k.run()
}

// committed is told of every commit by the writer.
func (k *checkpointer) committed(bytes int64, _ bool) {
	if k.written.Add(bytes+4096) >= k.every {
		k.look()
	}
}

// grew is told by the writer that the log is longer than it was.
func (k *checkpointer) grew(size int64) {
	if size > longBytes {
		k.look()
	}
}

func (k *checkpointer) look() {
	select {
	case k.wake <- struct{}{}:
		k.written.Store(0)
	default:
	}
}

func (k *checkpointer) run() {
	defer close(k.ended)
	page, err := k.c.number("PRAGMA page_size")
	if err != nil || page == 0 {
		page = ledgerPage // the smallest there is of ours
	}
	for range k.wake {
		log, left := k.copy(page)
		// What came during a copy and its sync is less each time.
		for n := 1; n < rounds && log > restartBytes; n++ {
			log, left = k.copy(page)
		}
		if (log > restartBytes && left < restBytes) || log > netBytes {
			select {
			case k.finish <- struct{}{}:
			default:
			}
		}
	}
}

// copy copies what is in the log and brings it to disk. It returns the log's length
// and what is left in it, in bytes. An error is one of the disk; the writer meets it
// and says so.
func (k *checkpointer) copy(page int64) (log, left int64) {
	var copied int64
	_, _ = k.c.one("PRAGMA wal_checkpoint(PASSIVE)", func(r row) { log, copied = r.int(1), r.int(2) })
	_ = fdatasync(k.db)
	return log * page, (log - copied) * page
}

// close ends the goroutine and the connection; the writer has ended before.
func (k *checkpointer) close() error {
	close(k.wake)
	<-k.ended
	return k.c.close()
}
