package sqlite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causewayhq/causeway/store"
)

// Ledger is the ledger of one folder; it implements store.Ledger.
type Ledger struct {
	identity store.Identity
	book     *ledgerBook
	w        *writer
	k        *checkpointer
	disk     *syncer
	r        *pool
	people   *pool // reads for people
	texts    bulkTexts
	revoked  revokes      // of the writer
	replays  atomic.Int64 // no event up to here is live and after the publish cursor

	once  sync.Once
	error error
}

// ledgerCache is the writer's page cache in KiB. After a commit that put pages of a
// tree in order SQLite walks through the whole of it: sorting them borrows the number
// of the page at 1 GiB, the cache takes that for its highest one, and cuts itself to the
// file's length. With small commits nearly each of them does so. What is not in the
// cache is read from the system's, which costs less than the walk: of 16 MiB it was a
// sixth of all of `bench dispatch` over few busy conversations, and a larger ledger
// than either gains nothing by more.
const ledgerCache = 4 << 10

// peopleReaders read what people ask for. Of the others the stages may have hundreds
// waiting, after a start above all, and who lists or cancels would wait behind them: up
// to 96 ms of a list of 100, with 1,500 conversations to be looked at.
const peopleReaders = 2

// itemBytes is about what one event adds to the log: the pages its rows touch.
const itemBytes = 10 << 10

func openLedger(path string, identity store.Identity, opts Options) (_ *Ledger, err error) {
	l := &Ledger{identity: identity, book: newLedgerBook(), texts: newBulkTexts()}
	f, err := openFile(path, ledgerCache, opts.Readers)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if err := l.book.lost(f.w); err != nil {
		return nil, err
	}
	if err := l.revoked.load(f.w); err != nil {
		return nil, err
	}
	if _, err := l.merging(f.w); err != nil {
		return nil, err
	}
	if l.people, err = openPool(path, peopleReaders); err != nil {
		return nil, err
	}
	l.k, l.r = newCheckpointer(f, ledgerEvery), f.r
	l.disk = newSyncer(path, opts.Fsync, opts.Log)
	l.w = newWriter(f.w, path, l.book, opts.Log, func(bytes int64, durable bool) {
		l.disk.committed(durable)
		l.k.committed(bytes, durable)
	}, l.k.grew)
	l.k.start(l.w.finish)
	go l.disk.run()
	return l, nil
}

// Identity says which store this is.
func (l *Ledger) Identity() store.Identity {
	id := l.identity
	id.Secret = append([]byte(nil), id.Secret...)
	return id
}

// Close waits for the writes under way and closes the file.
func (l *Ledger) Close() error {
	l.once.Do(func() {
		l.w.close() // before the syncer, which it tells
		l.disk.close()
		l.people.close()
		l.error = closeFile(l.w, l.k, l.r)
	})
	return l.error
}

// write is a ledger write of about items events.
func (l *Ledger) write(ctx context.Context, durable bool, items int, do func(c *conn) error) error {
	return l.w.submitWhole(ctx, durable, (items+1)*itemBytes, do)
}

// writeSoon is write, but its fsync follows: see Sync.
func (l *Ledger) writeSoon(ctx context.Context, items int, do func(c *conn) error) error {
	err := l.write(ctx, false, items, do)
	if err == nil {
		l.disk.soon()
	}
	return err
}

// Sync returns when all that is committed is on disk.
func (l *Ledger) Sync(ctx context.Context) error { return l.disk.wait(ctx) }

// audit records a deed of an admin in the transaction of c.
func audit(c *conn, at time.Time, by, what, target string) error {
	_, err := c.exec("INSERT INTO audit (at, by, what, target) VALUES (?, ?, ?, ?)", at, by, what, target)
	return err
}
