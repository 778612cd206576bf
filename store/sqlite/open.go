package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/zap"
	msqlite "modernc.org/sqlite"

	"github.com/causewayhq/causeway/store"
)

// Options of a store. The zero value of each but Now has a default.
type Options struct {
	// Now is the clock; needed. It dates probes, rejects and the lock file.
	Now func() time.Time
	Log *zap.Logger // default: none
	// LockWait is how long Open waits for another holder of the folder.
	LockWait time.Duration
	// The bounds of the rejects: how many [10000], how large together in bytes
	// [64 MiB], how old [7 days].
	RejectMax   int64
	RejectBytes int64
	RejectAge   time.Duration
	// Readers is the number of connections that read each file [4].
	Readers int
	// Fsync makes SQLite sync with fsync(2) where fdatasync(2) would do. The
	// driver keeps this setting for the whole process.
	Fsync bool
}

func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		return o, errors.New("sqlite: Options.Now is missing")
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.RejectMax <= 0 {
		o.RejectMax = 10_000
	}
	if o.RejectBytes <= 0 {
		o.RejectBytes = 64 << 20
	}
	if o.RejectAge <= 0 {
		o.RejectAge = 7 * 24 * time.Hour
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	return o, nil
}

// Store is an open folder: the two files and the lock.
type Store struct {
	Archive *Archive
	Ledger  *Ledger

	lock  *os.File
	once  sync.Once
	error error
}

// Open takes the lock on dir, makes what is missing (dir with mode 0700, the
// files, their identity), brings the schemas forward, and starts the writers.
// Errors: store.ErrLocked, store.ErrNewerSchema, store.ErrForeign,
// store.ErrCorrupt, gateway.ErrUnavailable, those of the file system.
func Open(ctx context.Context, dir string, opts Options) (_ *Store, err error) {
	opts, err = opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	lock, err := takeLock(ctx, dir, opts.LockWait, opts.Now())
	if err != nil {
		return nil, err
	}
	s := &Store{lock: lock}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	// Not every system has it; without it commits are slower and as durable.
	_, _ = msqlite.Fdatasync(!opts.Fsync)
	archive, ledger := filepath.Join(dir, "archive.db"), filepath.Join(dir, "ledger.db")
	if err := migrate(ctx, archive, "archive", archiveAppID, archivePage); err != nil {
		return nil, err
	}
	if err := migrate(ctx, ledger, "ledger", ledgerAppID, ledgerPage); err != nil {
		return nil, err
	}
	identity, err := identify(archive, ledger)
	if err != nil {
		return nil, err
	}
	if err := syncDir(dir); err != nil {
		return nil, err
	}
	if s.Archive, err = openArchive(archive, opts); err != nil {
		return nil, fmt.Errorf("archive: %w", outward(err))
	}
	if s.Ledger, err = openLedger(ledger, identity, opts); err != nil {
		return nil, fmt.Errorf("ledger: %w", outward(err))
	}
	return s, nil
}

// Close waits for the writes under way, copies the logs back into the files and
// gives the lock back. It may be called more than once.
func (s *Store) Close() error {
	s.once.Do(func() {
		var errs []error
		if s.Archive != nil {
			errs = append(errs, s.Archive.Close())
		}
		if s.Ledger != nil {
			errs = append(errs, s.Ledger.Close())
		}
		errs = append(errs, s.lock.Close())
		s.error = errors.Join(errs...)
	})
	return s.error
}

// identify reads the store's identity, or makes it, once. Both files carry the
// id, so that files of two stores are not opened as one.
func identify(archive, ledger string) (id store.Identity, err error) {
	l, err := openConn(ledger, "busy_timeout(5000)", "synchronous(FULL)")
	if err != nil {
		return id, outward(err)
	}
	defer func() { _ = l.close() }()
	a, err := openConn(archive, "busy_timeout(5000)", "synchronous(FULL)")
	if err != nil {
		return id, outward(err)
	}
	defer func() { _ = a.close() }()
	var inArchive string
	_, err = a.one("SELECT value FROM meta WHERE name='id'", func(r row) { inArchive = string(r.blob(0)) })
	if err != nil {
		return id, outward(err)
	}
	found, err := readIdentity(l, &id)
	if err != nil {
		return id, outward(err)
	}
	if !found {
		if inArchive != "" {
			return id, fmt.Errorf("%s: %w: the archive beside it belongs to store %s", ledger, store.ErrForeign, inArchive)
		}
		if id, err = makeIdentity(l); err != nil {
			return id, outward(err)
		}
	}
	if inArchive == "" {
		// New, or the process ended between the two files.
		rows, err := a.number("SELECT count(*) FROM (SELECT 1 FROM payload LIMIT 1)")
		if err == nil && rows == 0 {
			_, err = a.exec("INSERT INTO meta (name, value) VALUES ('id', ?)", []byte(id.ID))
			inArchive = id.ID
		}
		if err != nil {
			return id, outward(err)
		}
	}
	if inArchive != id.ID {
		return id, fmt.Errorf("%s: %w: it belongs to store %s, the ledger to %s", archive, store.ErrForeign, inArchive, id.ID)
	}
	return id, nil
}

func readIdentity(c *conn, id *store.Identity) (bool, error) {
	parts := 0
	err := c.query("SELECT name, value FROM meta WHERE name IN ('id', 'epoch', 'secret')", func(r row) error {
		parts++
		switch v := r.blob(1); r.str(0) {
		case "id":
			id.ID = string(v)
		case "secret":
			id.Secret = v
		case "epoch":
			_, err := fmt.Sscanf(string(v), "%d", &id.Epoch)
			return err
		}
		return nil
	})
	return parts == 3, err
}

func makeIdentity(c *conn) (store.Identity, error) {
	id := store.Identity{Epoch: 1, Secret: make([]byte, 32)}
	if _, err := rand.Read(id.Secret); err != nil {
		return id, err
	}
	var u ulid.ULID
	if _, err := rand.Read(u[:]); err != nil {
		return id, err
	}
	u[0] &= 0x7f // keeps the text within 26 characters of the alphabet
	id.ID = u.String()
	_, err := c.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('id', ?), ('epoch', ?), ('secret', ?)",
		[]byte(id.ID), []byte("1"), id.Secret)
	return id, err
}

// syncDir makes the names of new files durable.
func syncDir(dir string) error {
	f, err := os.Open(dir) //nolint:gosec // the folder is the operator's choice
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}
