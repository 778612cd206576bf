package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// Archive is the archive of one folder; it implements store.Archive.
type Archive struct {
	path string
	opts Options
	book *archiveBook
	w    *writer
	k    *checkpointer
	r    *pool

	rejects chan struct{} // places for rejects under way

	once  sync.Once
	error error
}

// archiveCache is the writer's page cache in KiB: rows are only added, so it
// need hold no more than the pages of the largest group.
const archiveCache = 4 << 10

// rejectsUnderWay bounds what a flood of unverified callbacks can put into the
// queue before genuine ones.
const rejectsUnderWay = 32

func openArchive(path string, opts Options) (_ *Archive, err error) {
	a := &Archive{path: path, opts: opts, book: &archiveBook{}, rejects: make(chan struct{}, rejectsUnderWay)}
	f, err := openFile(path, archiveCache, opts.Readers)
	if err != nil {
		return nil, err
	}
	if err := a.book.lost(f.w); err != nil {
		f.close()
		return nil, err
	}
	a.k, a.r = newCheckpointer(f, archiveEvery), f.r
	a.w = newRowWriter(f.w, path, a.book, a.insert, opts.Log, a.k.committed, a.k.grew)
	a.k.start(a.w.finish)
	return a, nil
}

// files are the connections of one database.
type files struct {
	w, k *conn
	r    *pool
	db   *os.File
}

func openFile(path string, cacheKiB int, readers int) (f files, err error) {
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	sizeLimit := fmt.Sprintf("journal_size_limit(%d)", mostBytes)
	f.w, err = openConn(path, "busy_timeout(5000)", "synchronous(FULL)", "wal_autocheckpoint(0)",
		sizeLimit, "temp_store(MEMORY)", cachePragma(cacheKiB))
	if err != nil {
		return f, err
	}
	f.k, err = openConn(path, "busy_timeout(5000)", "synchronous(FULL)", "wal_autocheckpoint(0)",
		sizeLimit)
	if err != nil {
		return f, err
	}
	if f.r, err = openPool(path, readers); err != nil {
		return f, err
	}
	f.db, err = os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the store's own file
	return f, err
}

func (f files) close() {
	if f.r != nil {
		f.r.close()
	}
	if f.k != nil {
		_ = f.k.close()
	}
	if f.w != nil {
		_ = f.w.close()
	}
	if f.db != nil {
		_ = f.db.Close()
	}
}

// closeFile ends the goroutines of a file in the order in which they depend on
// each other, and leaves no log behind.
func closeFile(w *writer, k *checkpointer, r *pool) error {
	w.close()
	r.close()
	kerr := k.close()
	_, cerr := w.c.one("PRAGMA wal_checkpoint(TRUNCATE)", func(row) {})
	return errors.Join(kerr, outward(cerr), w.c.close(), k.db.Close())
}

// Close waits for the writes under way and closes the file.
func (a *Archive) Close() error {
	a.once.Do(func() { a.error = closeFile(a.w, a.k, a.r) })
	return a.error
}

// archiveBook is what the archive's writer keeps in memory.
type archiveBook struct {
	pos         int64 // of the newest payload
	rejects     int64
	rejectBytes int64
	before      struct{ pos, rejects, rejectBytes int64 }
}

func (b *archiveBook) mark() {
	b.before.pos, b.before.rejects, b.before.rejectBytes = b.pos, b.rejects, b.rejectBytes
}

func (b *archiveBook) undo() {
	b.pos, b.rejects, b.rejectBytes = b.before.pos, b.before.rejects, b.before.rejectBytes
}

func (b *archiveBook) flush(*conn) error { return nil }
func (b *archiveBook) committed()        {}

func (b *archiveBook) lost(c *conn) (err error) {
	if b.pos, err = c.number("SELECT max(pos) FROM payload"); err != nil {
		return err
	}
	_, err = c.one("SELECT count(*), sum(size) FROM reject", func(r row) { b.rejects, b.rejectBytes = r.int(0), r.int(1) })
	return err
}

// payloadRow is a payload on its way to the writer. The caller reads pos after
// the commit; all else stays as it is.
type payloadRow struct {
	pos        int64
	receivedAt int64
	head, body []byte
}

func newPayloadRow(p *gateway.Payload) (*payloadRow, error) {
	head, err := encodeHead(p)
	if err != nil {
		return nil, err
	}
	r := &payloadRow{receivedAt: nanos(p.ReceivedAt), head: head, body: p.Body}
	if r.body == nil {
		r.body = []byte{}
	}
	return r, nil
}

func (r *payloadRow) size() int { return 100 + len(r.head) + len(r.body) }

// Append stores the payload; see store.Archive. Body must not change before it
// returns, nor after an error of ctx.
func (a *Archive) Append(ctx context.Context, p *gateway.Payload) error {
	row, err := newPayloadRow(p)
	if err != nil {
		return err
	}
	if err := a.w.submitRow(ctx, row); err != nil {
		return err
	}
	p.Pos, p.ID = row.pos, store.PayloadID(p.ReceivedAt, row.pos)
	return nil
}

// The statements of insert. OR FAIL, since OR ABORT makes SQLite keep a journal
// for each statement of several rows; a transaction with a row that failed is
// lost as a whole in any case.
const (
	insertRows = 16
	insertOne  = "INSERT OR FAIL INTO payload (pos, received_at, head, body) VALUES (?,?,?,?)"
	insertMany = insertOne + ",(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?)" +
		",(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?),(?,?,?,?)"
)

// insert writes rows in their order, many by one statement where there are
// many: what a statement costs by itself is as much as a row.
func (a *Archive) insert(c *conn, rows []*payloadRow) error {
	for len(rows) > 0 {
		q, n := insertOne, 1
		if len(rows) >= insertRows {
			q, n = insertMany, insertRows
		}
		s, err := c.prepare(q)
		if err != nil {
			return err
		}
		s.args = s.args[:0]
		for _, r := range rows[:n] {
			a.book.pos++
			r.pos = a.book.pos
			at := len(s.args)
			s.args = append(s.args, driver.NamedValue{Ordinal: at + 1, Value: r.pos}, driver.NamedValue{Ordinal: at + 2, Value: r.receivedAt},
				driver.NamedValue{Ordinal: at + 3, Value: r.head}, driver.NamedValue{Ordinal: at + 4, Value: r.body})
		}
		_, err = s.exec.ExecContext(c.ctx, s.args)
		clear(s.args)
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Waiting is the number of writes not yet committed.
func (a *Archive) Waiting() int { return int(a.w.waiting.Load()) }

// Probe writes and removes a row in one durable transaction.
func (a *Archive) Probe(ctx context.Context) error {
	at := a.opts.Now()
	return a.w.submit(ctx, true, 0, func(c *conn) error {
		if _, err := c.exec("INSERT OR REPLACE INTO probe (id, at) VALUES (1, ?)", at); err != nil {
			return err
		}
		_, err := c.exec("DELETE FROM probe WHERE id = 1")
		return err
	})
}

// cutoff is the time before which a reject is too old.
func (a *Archive) cutoff(now time.Time) time.Time { return now.Add(-a.opts.RejectAge) }
