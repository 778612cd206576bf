package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Limits of one group commit.
const (
	groupWrites = 512
	groupBytes  = 4 << 20
	groupTime   = 40 * time.Millisecond // of work before the commit, which adds its own
	queueLength = 4096
	gatherTurns = 8
	sliceRows   = 64 // rows written between two looks at groupTime
)

// write is one atomic change on its way to the writer: do, or a row for insert.
type write struct {
	do      func(c *conn) error
	row     *payloadRow
	durable bool
	soon    bool // a person waits for it
	bytes   int  // about how much it stores
	state   atomic.Int32
	err     error
	done    chan struct{}
}

// errRows marks an error of insert that is none of SQLite's.
var errRows = errors.New("rows") //nolint:gochecknoglobals // a sentinel error is a constant

// States of a write. Only one of the caller and the writer leaves queued.
const (
	writeQueued int32 = iota
	writeTaken
	writeLeft // its caller went away before it was taken
)

// writer is the one goroutine that writes a file. It takes everything queued
// into one transaction, with a savepoint per write so that a write that fails
// takes back only itself, and syncs when one of the group is durable.
type writer struct {
	c        *conn
	log      *zap.Logger
	file     string // its name, for the log
	ahead    ahead
	book     book
	insert   func(c *conn, rows []*payloadRow) error // nil where no rows come
	rows     []*payloadRow                           // of the statement being made
	queue    chan *write
	soon     chan *write
	waiting  atomic.Int64
	full     bool // PRAGMA synchronous is FULL
	failing  bool // the last commit failed; logged once per change
	onCommit func(bytes int64, durable bool)
	finish   chan struct{} // a request to let the log start over

	mu     sync.RWMutex // guards closed against a send on a closed queue
	closed bool
	ended  chan struct{}
}

// book is what a file's owner keeps in memory beside the rows. Its methods are
// called by the writer's goroutine only.
type book interface {
	// mark remembers the state before a write; undo goes back to it.
	mark()
	undo()
	// flush writes what is kept in memory, before the commit.
	flush(c *conn) error
	// committed says that all since the last commit is stored; lost that
	// none of it is, and that everything is to be read again.
	committed()
	lost(c *conn) error
}

// newWriter starts the goroutine for the database at path; close ends it.
func newWriter(c *conn, path string, b book, log *zap.Logger, onCommit func(int64, bool), grew func(int64)) *writer {
	return newRowWriter(c, path, b, nil, log, onCommit, grew)
}

// newRowWriter is newWriter for a file that also takes rows, which insert
// writes. What insert wrote of a transaction that is lost is seen by lost.
func newRowWriter(c *conn, path string, b book, insert func(*conn, []*payloadRow) error, log *zap.Logger, onCommit func(int64, bool), grew func(int64)) *writer {
	w := &writer{
		c: c, file: filepath.Base(path), ahead: ahead{path: path + "-wal", grew: grew}, log: log,
		book: b, insert: insert, onCommit: onCommit, full: true,
		queue:  make(chan *write, queueLength),
		soon:   make(chan *write, soonLength),
		finish: make(chan struct{}, 1),
		ended:  make(chan struct{}),
	}
	go w.run()
	return w
}

// submit hands a write over and waits for its commit. When ctx ends first it
// returns ctx's error: a write not yet taken is then never made, a taken one may
// or may not be stored, and do may still run: it must write nothing that the
// caller reads after an error. do runs on the writer's goroutine, may run twice
// (it must set what it returns anew), and must not keep c.
func (w *writer) submit(ctx context.Context, durable bool, bytes int, do func(c *conn) error) error {
	return w.give(ctx, &write{do: do, durable: durable, bytes: bytes})
}

// submitRow is a durable submit of a row. It is cheaper: rows that wait together
// are written by few statements, and a row that fails fails its transaction.
func (w *writer) submitRow(ctx context.Context, r *payloadRow) error {
	return w.give(ctx, &write{row: r, durable: true, bytes: r.size()})
}

func (w *writer) give(ctx context.Context, q *write) error {
	taken, err := w.hand(ctx, q)
	if !taken {
		return err
	}
	select {
	case <-q.done: // both were ready
		return q.err
	default:
		return ctx.Err()
	}
}

// submitWhole is submit, but a write that was taken is waited for: its outcome
// is known, and do has ended. A commit takes milliseconds.
func (w *writer) submitWhole(ctx context.Context, durable bool, bytes int, do func(c *conn) error) error {
	return w.whole(ctx, &write{do: do, durable: durable, bytes: bytes})
}

func (w *writer) whole(ctx context.Context, q *write) error {
	taken, err := w.hand(ctx, q)
	if !taken {
		return err
	}
	<-q.done
	return q.err
}

// hand queues a write and waits for its commit or the end of ctx. It says
// whether ctx ended while the write was already taken; else its outcome.
func (w *writer) hand(ctx context.Context, q *write) (taken bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	q.done = make(chan struct{})
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return false, fmt.Errorf("the store is closed: %w", gateway.ErrUnavailable)
	}
	w.waiting.Add(1)
	queue := w.queue
	if q.soon {
		queue = w.soon
	}
	select {
	case queue <- q:
		w.mu.RUnlock()
	case <-ctx.Done():
		w.mu.RUnlock()
		w.waiting.Add(-1)
		return false, ctx.Err()
	}
	select {
	case <-q.done:
		return false, q.err
	case <-ctx.Done():
		if q.state.CompareAndSwap(writeQueued, writeLeft) {
			return false, ctx.Err()
		}
		return true, nil
	}
}

// close lets what is queued be written and ends the goroutine.
func (w *writer) close() {
	w.mu.Lock()
	already := w.closed
	w.closed = true
	if !already {
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.ended
}

func (w *writer) run() {
	defer close(w.ended)
	defer w.ahead.close()
	group := make([]*write, 0, groupWrites)
	for {
		select {
		case q, ok := <-w.queue:
			if !ok {
				w.commit(nil) // what is in soon
				return
			}
			if len(group) > 1 {
				w.gather()
			}
			group = append(group[:0], q)
			w.fill(&group)
			w.commit(group)
			clear(group[:cap(group)]) // keeps its length for the next round, and no write
		case q := <-w.soon:
			w.commit([]*write{q})
		case <-w.finish:
			// What the checkpointer left is little: copy it, so that the next
			// transaction starts the log over.
			_ = w.c.query("PRAGMA wal_checkpoint(PASSIVE)", func(row) error { return nil })
		}
	}
}

// gather lets those run who run now, as long as more writes come of it: the
// callers of the last group were woken just before, and those that have more to
// write share the next fsync then. It never waits for anybody who does not run.
func (w *writer) gather() {
	for range gatherTurns {
		n := len(w.queue)
		runtime.Gosched()
		if len(w.queue) == n {
			return
		}
	}
}

// fill takes what is queued now, within the limits of a group.
func (w *writer) fill(group *[]*write) {
	bytes := (*group)[0].bytes
	for len(*group) < groupWrites && bytes < groupBytes {
		select {
		case q, ok := <-w.queue:
			if !ok {
				return
			}
			*group = append(*group, q)
			bytes += q.bytes
		default:
			return
		}
	}
}

// commit writes the group in one transaction, or in several when it takes
// longer than it may, and before each of them what people wait for.
func (w *writer) commit(group []*write) {
	for {
		if group = w.first(group); len(group) == 0 {
			return
		}
		if !group[0].state.CompareAndSwap(writeQueued, writeTaken) {
			w.reply(group[0], context.Canceled)
			group = group[1:]
			continue
		}
		group = group[w.transaction(group):]
	}
}

// transaction writes a leading part of the group and returns its length. The
// first of it is taken already.
func (w *writer) transaction(group []*write) (n int) {
	durable := false
	for _, q := range group {
		durable = durable || q.durable
	}
	w.ahead.keep()
	if err := w.begin(durable); err != nil {
		w.fail(group[:1], err)
		return 1
	}
	start := time.Now() // its own work, so the machine's clock
	bytes := 0
	for n < len(group) && (n == 0 || time.Since(start) < w.most(group[0])) {
		did, err := w.some(group[n:], n == 0, len(group) > 1)
		for _, q := range group[n : n+did] {
			bytes += q.bytes
		}
		n += did
		if err != nil {
			w.rollback(err)
			w.fail(group[:n], err)
			return n
		}
	}
	if err := w.end(); err != nil {
		w.rollback(err)
		w.fail(group[:n], err)
		return n
	}
	w.book.committed()
	w.onCommit(int64(bytes), w.full)
	w.recovered()
	for _, q := range group[:n] {
		w.reply(q, q.err)
	}
	return n
}

// some writes the first of the group, and the rows behind it when it is a row.
// It returns how many it took; the error means that the transaction is lost.
func (w *writer) some(group []*write, taken, savepoint bool) (n int, err error) {
	q := group[0]
	if !taken && !w.take(q) {
		return 1, nil
	}
	if q.row == nil {
		return 1, w.one(q, savepoint)
	}
	w.rows = append(w.rows[:0], q.row)
	for n = 1; n < len(group) && n < sliceRows && group[n].row != nil; n++ {
		if w.take(group[n]) {
			w.rows = append(w.rows, group[n].row)
		}
	}
	err = w.insert(w.c, w.rows)
	clear(w.rows)
	if err != nil && code(err) == 0 {
		err = fmt.Errorf("%w: %w", errRows, err) // no way back to a row of them
	}
	return n, err
}

// take says whether the caller of q still waits; q is the writer's then.
func (w *writer) take(q *write) bool {
	if q.state.CompareAndSwap(writeQueued, writeTaken) {
		return true
	}
	q.err = context.Canceled
	return false
}

func (w *writer) begin(durable bool) error {
	if durable != w.full {
		// Outside of a transaction: SQLite ignores it inside.
		level := "PRAGMA synchronous=NORMAL"
		if durable {
			level = "PRAGMA synchronous=FULL"
		}
		if _, err := w.c.exec(level); err != nil {
			return err
		}
		w.full = durable
	}
	_, err := w.c.exec("BEGIN IMMEDIATE")
	return err
}

// one runs a write; what it returns in q.err took back only that write. The
// error returned means that the whole transaction is lost.
func (w *writer) one(q *write, savepoint bool) error {
	if savepoint {
		if _, err := w.c.exec("SAVEPOINT one"); err != nil {
			return err
		}
	}
	w.book.mark()
	q.err = outward(run(w.c, q.do))
	if q.err == nil {
		if savepoint {
			_, err := w.c.exec("RELEASE one")
			return err
		}
		return nil
	}
	w.book.undo()
	if !savepoint {
		return q.err
	}
	if _, err := w.c.exec("ROLLBACK TO one"); err != nil {
		return q.err // SQLite rolled everything back by itself
	}
	_, err := w.c.exec("RELEASE one")
	return err
}

// run turns a panic of a write into its error: one bad caller must not end the
// writer of everybody.
func run(c *conn, do func(*conn) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a write panicked: %T", p)
		}
	}()
	return do(c)
}

func (w *writer) end() error {
	if err := w.book.flush(w.c); err != nil {
		return err
	}
	_, err := w.c.exec("COMMIT")
	return err
}

func (w *writer) rollback(cause error) {
	_, _ = w.c.exec("ROLLBACK") // fails when SQLite rolled back already
	if code(cause) == 0 && !errors.Is(cause, errRows) {
		return // a write that was alone refused itself, and is undone already
	}
	if err := w.book.lost(w.c); err != nil {
		w.log.Error("store: cannot read back after a failed commit", zap.Error(err))
	}
}

// fail answers the writes of a transaction that was lost. Those that had an
// error of their own keep it.
func (w *writer) fail(group []*write, err error) {
	err = outward(err)
	if !w.failing && errors.Is(err, gateway.ErrUnavailable) {
		w.failing = true
		w.log.Error("store: a commit failed", zap.String("file", w.file), zap.Int("code", code(err)))
	}
	for _, q := range group {
		if q.err != nil {
			w.reply(q, q.err)
			continue
		}
		w.reply(q, fmt.Errorf("commit: %w", err))
	}
}

func (w *writer) recovered() {
	if w.failing {
		w.failing = false
		w.log.Info("store: commits work again", zap.String("file", w.file))
	}
}

func (w *writer) reply(q *write, err error) {
	q.err = err
	w.waiting.Add(-1)
	close(q.done)
}
