package sqlite

import "sync/atomic"

// When the log is copied back, in bytes.
const (
	archiveEvery = 4 << 20   // written since the last look; its pages are written once
	ledgerEvery  = 32 << 20  // its pages are written many times, and copied once
	restartBytes = 16 << 20  // a log of this length should start over
	restBytes    = 2 << 20   // so little left is copied by the writer itself
	netBytes     = 256 << 20 // the writer copies whatever is left
)

// checkpointer copies the log back into the file from a connection of its own,
// passively: neither the writer nor readers wait for it. A log never starts over
// while anything in it is not copied, and under constant writing the passive copy
// never ends quite; so once little is left the writer is asked for the rest.
type checkpointer struct {
	c       *conn
	every   int64 // bytes
	written atomic.Int64
	wake    chan struct{}
	finish  chan<- struct{}
	ended   chan struct{}
}

func newCheckpointer(c *conn, every int64) *checkpointer {
	return &checkpointer{c: c, every: every, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// start begins the goroutine; finish is the writer's request channel.
func (k *checkpointer) start(finish chan<- struct{}) {
	k.finish = finish
	go k.run()
}

// committed is told of every commit by the writer.
func (k *checkpointer) committed(bytes int64, _ bool) {
	if k.written.Add(bytes+4096) < k.every {
		return
	}
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
		var log, copied int64
		// An error here is one of the disk; the writer meets it and says so.
		_, _ = k.c.one("PRAGMA wal_checkpoint(PASSIVE)", func(r row) { log, copied = r.int(1), r.int(2) })
		log, left := log*page, (log-copied)*page
		if (log > restartBytes && left < restBytes) || log > netBytes {
			select {
			case k.finish <- struct{}{}:
			default:
			}
		}
	}
}

// close ends the goroutine and the connection; the writer has ended before.
func (k *checkpointer) close() error {
	close(k.wake)
	<-k.ended
	return k.c.close()
}
