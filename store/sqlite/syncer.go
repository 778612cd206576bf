package sqlite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Times of the syncer.
const (
	syncWithin = 10 * time.Millisecond  // from a commit to the beginning of its fsync
	syncAgain  = 500 * time.Millisecond // after one that failed
)

// syncer brings to disk what was committed without an fsync and is owed one: at
// once when somebody waits for it, else within syncWithin, so that many commits
// share it. A durable commit in between spares it. It syncs the log by a file of
// its own, beside the writer, which goes on meanwhile.
type syncer struct {
	path string // of the log
	sync func(*os.File) error
	log  *zap.Logger

	commits atomic.Uint64 // made by the writer
	owed    chan struct{}
	hurry   chan struct{}
	stop    chan struct{}
	ended   chan struct{}

	mu     sync.Mutex // guards what follows
	synced uint64     // of commits, so many are on disk
	moved  chan struct{}
}

// newSyncer makes the syncer of a database; start begins its goroutine. What the
// log holds already may have been left by a process that died: it is owed.
func newSyncer(database string, fsync bool, log *zap.Logger) *syncer {
	s := &syncer{
		path: database + "-wal", sync: fdatasync, log: log,
		owed: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		stop: make(chan struct{}), ended: make(chan struct{}), moved: make(chan struct{}),
	}
	if fsync {
		s.sync = (*os.File).Sync
	}
	s.commits.Store(1)
	s.soon()
	return s
}

// committed is told of every commit by the writer.
func (s *syncer) committed(durable bool) {
	if n := s.commits.Add(1); durable {
		s.reached(n)
	}
}

// soon says that what is committed is owed an fsync.
func (s *syncer) soon() { poke(s.owed) }

// wait returns when all that is committed now is on disk. Errors: that of ctx,
// gateway.ErrUnavailable when the store is closed.
func (s *syncer) wait(ctx context.Context) error {
	n := s.commits.Load()
	for {
		s.mu.Lock()
		done, moved := s.synced >= n, s.moved
		s.mu.Unlock()
		if done {
			return nil
		}
		poke(s.owed)
		poke(s.hurry)
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return fmt.Errorf("the store is closed: %w", gateway.ErrUnavailable)
		}
	}
}

func (s *syncer) reached(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.synced {
		s.synced = n
		close(s.moved)
		s.moved = make(chan struct{})
	}
}

func (s *syncer) run() {
	defer close(s.ended)
	var f *os.File
	defer func() {
		if f != nil {
			_ = f.Close()
		}
	}()
	failing, after := false, time.NewTimer(0)
	defer after.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.owed:
		}
		after.Reset(syncWithin)
		select {
		case <-s.stop:
			return
		case <-s.hurry:
		case <-after.C:
		}
		err := s.once(&f)
		if err != nil {
			if !failing {
				s.log.Error("store: a sync failed", zap.String("file", s.path), zap.Error(err))
			}
			after.Reset(syncAgain)
			select {
			case <-s.stop:
				return
			case <-after.C:
			}
			s.soon()
		} else if failing {
			s.log.Info("store: syncs work again", zap.String("file", s.path))
		}
		failing = err != nil
	}
}

// once syncs the log, unless all of it is on disk.
func (s *syncer) once(f **os.File) (err error) {
	n := s.commits.Load() // before the sync: what comes during it may miss it
	s.mu.Lock()
	done := s.synced >= n
	s.mu.Unlock()
	if done {
		return nil
	}
	if *f == nil { // the log lives as long as a connection does, and is never another file meanwhile
		if *f, err = os.OpenFile(s.path, os.O_RDWR, 0); err != nil {
			*f = nil
			return err
		}
	}
	if err := s.sync(*f); err != nil {
		return err
	}
	s.reached(n)
	return nil
}

// close ends the goroutine; the writer has ended before, and whoever closes the
// database copies the log back, durably.
func (s *syncer) close() {
	close(s.stop)
	<-s.ended
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
