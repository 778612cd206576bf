package embedded

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked is wrapped when another server holds the directory.
var ErrLocked = errors.New("another server holds this directory") //nolint:gochecknoglobals // a sentinel error is a constant

const lockName = "causeway.lock"

// lockDir takes the lock of a directory. The lock ends with the process, so a
// file left by a crash holds nobody back. The file names the holder's process id
// for the operator.
func lockDir(dir string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	f, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	_ = root.Close() // the file stays open
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}
