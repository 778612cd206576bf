package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

// rejectsUnderWay bounds what a flood of unverified callbacks can put into the
// queue before genuine ones.
const rejectsUnderWay = 32

func openArchive(path string, opts Options) (_ *Archive, err error) {
	a := &Archive{path: path, opts: opts, book: &archiveBook{}, rejects: make(chan struct{}, rejectsUnderWay)}
	f, err := openFile(path, 32<<10, opts.Readers)
	if err != nil {
		return nil, err
	}
	if err := a.book.lost(f.w); err != nil {
		f.close()
		return nil, err
	}
	a.k, a.r = newCheckpointer(f.k, archiveEvery), f.r
	a.w = newWriter(f.w, "archive.db", a.book, opts.Log, a.k.committed)
	a.k.start(a.w.finish)
	return a, nil
}

// files are the connections of one database.
type files struct {
	w, k *conn
	r    *pool
}

func openFile(path string, cacheKiB int, readers int) (f files, err error) {
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	f.w, err = openConn(path, "busy_timeout(5000)", "synchronous(FULL)", "wal_autocheckpoint(0)",
		"journal_size_limit(67108864)", "temp_store(MEMORY)", cachePragma(cacheKiB))
	if err != nil {
		return f, err
	}
	f.k, err = openConn(path, "busy_timeout(5000)", "synchronous(FULL)", "wal_autocheckpoint(0)",
		"journal_size_limit(67108864)")
	if err != nil {
		return f, err
	}
	f.r, err = openPool(path, readers)
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
}

// closeFile ends the goroutines of a file in the order in which they depend on
// each other, and leaves no log behind.
func closeFile(w *writer, k *checkpointer, r *pool) error {
	w.close()
	r.close()
	kerr := k.close()
	_, cerr := w.c.one("PRAGMA wal_checkpoint(TRUNCATE)", func(row) {})
	return errors.Join(kerr, outward(cerr), w.c.close())
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

// Append stores the payload; see store.Archive. Body and Header must not change
// before it returns.
func (a *Archive) Append(ctx context.Context, p *gateway.Payload) error {
	in := *p
	header, err := encodeHeader(p.Header)
	if err != nil {
		return err
	}
	var pos int64
	err = a.w.submit(ctx, true, payloadBytes(&in, header), func(c *conn) error {
		var err error
		pos, err = a.append(c, &in, header)
		return err
	})
	if err != nil {
		return err
	}
	p.Pos, p.ID = pos, store.PayloadID(p.ReceivedAt, pos)
	return nil
}

func (a *Archive) append(c *conn, p *gateway.Payload, header []byte) (int64, error) {
	a.book.pos++
	_, err := c.exec(`INSERT INTO payload (pos, received_at, platform, endpoint, key_fp, request_line, header, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		a.book.pos, p.ReceivedAt, p.Platform, p.Endpoint, p.KeyFP, []byte(p.RequestLine), header, p.Body)
	return a.book.pos, err
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

func payloadBytes(p *gateway.Payload, header []byte) int {
	return 100 + len(p.Body) + len(header) + len(p.RequestLine)
}

func encodeHeader(h http.Header) ([]byte, error) {
	if len(h) == 0 {
		return nil, nil
	}
	return json.Marshal(h)
}

func decodeHeader(b []byte) (h http.Header, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(b, &h)
	return h, err
}

// cutoff is the time before which a reject is too old.
func (a *Archive) cutoff(now time.Time) time.Time { return now.Add(-a.opts.RejectAge) }
