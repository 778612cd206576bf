package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/causewayhq/causeway/store"
)

const lockName = "causeway.lock"

// lockPoll is how often a held lock is tried again while waiting for it.
const lockPoll = 50 * time.Millisecond

// holder is what the lock file says, for people.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// takeLock takes the exclusive flock(2) on dir/causeway.lock, waiting at most
// wait. The kernel gives the lock back when the process ends, however it ends,
// so a left-over file means nothing. Errors: *store.LockedError, ctx's error.
func takeLock(ctx context.Context, dir string, wait time.Duration, now time.Time) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the folder is the operator's choice
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock: %w", err)
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			defer func() { _ = f.Close() }()
			return nil, lockedBy(f, dir, wait)
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		}
	}
	if err := writeHolder(f, now); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

func lockedBy(f *os.File, dir string, waited time.Duration) error {
	e := &store.LockedError{Dir: dir, Waited: waited}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	var h holder
	if err == nil && json.Unmarshal(b, &h) == nil {
		e.PID, e.Host, e.Since = h.PID, h.Host, h.Since
	}
	return e
}

func writeHolder(f *os.File, now time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	b, err := json.Marshal(holder{PID: os.Getpid(), Host: host, Since: now.UTC()})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}
