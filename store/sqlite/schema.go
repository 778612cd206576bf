package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"
	msqlite "modernc.org/sqlite"

	"github.com/causewayhq/causeway/store"
)

//go:embed migrations
var migrations embed.FS //nolint:gochecknoglobals // go:embed needs a variable; nothing writes it

// Application ids of the two files (PRAGMA application_id): "CWar" and "CWle".
const (
	archiveAppID = 0x43576172
	ledgerAppID  = 0x43576c65
)

// Sizes of a page in bytes, chosen when a file is made. A commit writes every
// page it touched twice over, by two system calls, and its last page again with
// the next commit: the archive, whose rows are about 1 KiB and come in order,
// gains by large pages, the ledger, whose rows lie scattered, by small ones.
const (
	archivePage = 16 << 10
	ledgerPage  = 4 << 10
)

// migrate makes or brings forward the schema of path. The set of migrations
// only grows; a file with a version this binary does not know is refused.
// Errors: store.ErrForeign, store.ErrCorrupt, store.ErrNewerSchema.
func migrate(ctx context.Context, path, set string, appID int64, page int) (err error) {
	made := false
	if st, serr := os.Stat(path); errors.Is(serr, os.ErrNotExist) || serr == nil && st.Size() == 0 {
		made = true
	}
	connector, err := msqlite.NewConnector(dsn(path, "busy_timeout(5000)"))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() {
		if cerr := db.Close(); err == nil {
			err = cerr
		}
	}()
	db.SetMaxOpenConns(1)
	if err := adopt(ctx, db, path, made, appID, page); err != nil {
		return err
	}
	sub, err := fs.Sub(migrations, "migrations/"+set)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, sub)
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", set, err)
	}
	have, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", path, outward(err))
	}
	if have > known {
		return fmt.Errorf("%s: %w (schema %d, this binary knows %d)", path, store.ErrNewerSchema, have, known)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("%s: %w", path, outward(err))
	}
	return nil
}

// adopt stamps a new file as ours and refuses one that is not.
func adopt(ctx context.Context, db *sql.DB, path string, made bool, appID int64, page int) error {
	var have, tables int64
	err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&have)
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	}
	switch c := code(err); {
	case c == codeNotADB || c == codeCorrupt:
		return fmt.Errorf("%s: %w", path, store.ErrCorrupt)
	case err != nil:
		return fmt.Errorf("%s: %w", path, outward(err))
	case have == appID:
	case have == 0 && (made || tables == 0):
		if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size=%d; PRAGMA application_id=%d", page, appID)); err != nil {
			return fmt.Errorf("%s: %w", path, outward(err))
		}
	default:
		return fmt.Errorf("%s: %w", path, store.ErrForeign)
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return fmt.Errorf("%s: %w", path, outward(err))
	}
	if mode != "wal" {
		return fmt.Errorf("%s: the file system does not carry SQLite's write-ahead log (journal mode %s)", path, mode)
	}
	return nil
}
