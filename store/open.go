package store

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors of opening a store. Each is wrapped with the path it concerns.
//
//nolint:gochecknoglobals // sentinel errors are constants
var (
	// ErrLocked: another process holds the store; see LockedError.
	ErrLocked = errors.New("the store is held by another process")
	// ErrNewerSchema: a newer release wrote it; this binary must not touch it.
	ErrNewerSchema = errors.New("the store was written by a newer release")
	// ErrForeign: the file is a database, but none of ours, or belongs to
	// another store.
	ErrForeign = errors.New("not a file of this store")
	// ErrCorrupt: the file cannot be read as a database.
	ErrCorrupt = errors.New("the file is damaged or is no database")
	// ErrScheme: the URL of the configuration names no known store.
	ErrScheme = errors.New("the store must be sqlite:FOLDER")
)

// LockedError says who holds a store. errors.Is(err, ErrLocked) is true for it.
type LockedError struct {
	Dir    string
	PID    int       // 0 when the lock file says nothing
	Host   string    // "" when the lock file says nothing
	Since  time.Time // zero when the lock file says nothing
	Waited time.Duration
}

// Error names the holder, so that an operator knows what to stop.
func (e *LockedError) Error() string {
	holder := "an unnamed process"
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d on %s since %s", e.PID, e.Host, e.Since.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s: %s is held by %s", ErrLocked.Error(), e.Dir, holder)
}

// Is makes errors.Is(err, ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// SplitURL takes the scheme off a store's URL: "sqlite:data" gives "sqlite" and
// "data". cmd chooses the adapter by it, since an adapter imports this package
// and cannot be imported by it. Errors: ErrScheme.
func SplitURL(url string) (scheme, rest string, err error) {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || rest == "" {
		return "", "", fmt.Errorf("%w, not %q", ErrScheme, scheme)
	}
	switch scheme {
	case "sqlite":
		return scheme, rest, nil
	case "postgres", "postgresql":
		return "postgres", url, nil
	}
	return "", "", fmt.Errorf("%w, not %q", ErrScheme, scheme)
}
