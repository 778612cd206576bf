package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/causewayhq/causeway/gateway"
)

// disk stands for fsync: each call waits for a word of the test.
type disk struct {
	began chan struct{}
	ends  chan error
}

func startSyncer(t *testing.T, log *zap.Logger) (*syncer, disk) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSyncer(path, false, log)
	d := disk{began: make(chan struct{}), ends: make(chan error)}
	s.sync = func(*os.File) error {
		d.began <- struct{}{}
		return <-d.ends
	}
	go s.run()
	<-d.began // what a process before this one left
	d.ends <- nil
	return s, d
}

func waited(s *syncer) chan error {
	c := make(chan error, 1)
	go func() { c <- s.wait(context.Background()) }()
	return c
}

// What is committed while a sync is under way may have missed it, and waits for
// the next one.
func TestSyncerPromisesWhatWasCommittedBefore(t *testing.T) {
	t.Parallel()
	s, d := startSyncer(t, zap.NewNop())
	defer s.close()
	s.committed(false)
	first := waited(s)
	<-d.began
	s.committed(false)
	second := waited(s)
	d.ends <- nil
	if err := <-first; err != nil {
		t.Error(err)
	}
	<-d.began // a sync for the second alone
	select {
	case err := <-second:
		t.Errorf("it is on disk before a sync that began after it: %v", err)
	default:
	}
	d.ends <- nil
	if err := <-second; err != nil {
		t.Error(err)
	}
}

// A durable commit takes everything before it to the disk: no other sync is due.
func TestSyncerIsSparedByADurableCommit(t *testing.T) {
	t.Parallel()
	s, _ := startSyncer(t, zap.NewNop())
	s.committed(false)
	s.committed(true)
	s.soon()
	if err := s.wait(t.Context()); err != nil {
		t.Error(err)
	}
	s.close() // would hang in a sync that was begun
	if err := s.wait(t.Context()); err != nil {
		t.Errorf("closed, and all on disk: %v", err)
	}
	s.committed(false)
	if err := s.wait(t.Context()); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("closed: %v", err)
	}
}

func TestSyncerGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	core, seen := observer.New(zap.InfoLevel)
	s, d := startSyncer(t, zap.New(core))
	defer s.close()
	s.committed(false)
	done := waited(s)
	for range 2 {
		<-d.began
		d.ends <- errors.New("no room")
	}
	<-d.began
	select {
	case err := <-done:
		t.Errorf("it is on disk after syncs that failed: %v", err)
	default:
	}
	d.ends <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.committed(false)
	if err := s.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting in vain: %v", err)
	}
	<-d.began
	d.ends <- nil
	if seen.FilterMessage("store: a sync failed").Len() != 1 || seen.FilterMessage("store: syncs work again").Len() != 1 {
		t.Errorf("said: %v", seen.All())
	}
}

// An answer is on disk soon without anybody waiting for it.
func TestSettledIsSyncedByItself(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	at := time.Now()
	if _, err := l.Relay(t.Context(), benchBatch(1, 1, 1, at), at); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Settle(t.Context(), gateway.ReplyPosition{Created: at, Seq: 1}, nil, nil, at); err != nil {
		t.Fatal(err)
	}
	for n := l.disk.commits.Load(); ; {
		l.disk.mu.Lock()
		done, moved := l.disk.synced >= n, l.disk.moved
		l.disk.mu.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-t.Context().Done():
			t.Fatal("nothing was synced")
		}
	}
}
