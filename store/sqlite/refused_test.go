package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/causewayhq/causeway/store/sqlite"
	"github.com/causewayhq/causeway/store/storetest"
)

// A file that takes no dead letter of one conversation, or of one event: a trigger refuses it, as a
// broken constraint would.
func TestRefusedDeadLetters(t *testing.T) {
	t.Parallel()
	t.Run("of a conversation", func(t *testing.T) {
		t.Parallel()
		s, refuse, allow := refusing(t)
		storetest.Refused(t, s.Archive, s.Ledger, refuse, allow)
	})
	t.Run("of items and payloads", func(t *testing.T) {
		t.Parallel()
		s, refuse, allow := refusing(t)
		storetest.RefusedUnread(t, s.Archive, s.Ledger, func(reason string) { refuse("reason", reason) }, allow)
	})
}

// refusing is a store that can be made to refuse dead letters with a value in a
// column.
func refusing(t *testing.T) (s *sqlite.Store, refuse func(column, value string), allow func()) {
	t.Helper()
	dir := t.TempDir()
	s = open(t, dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	run := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 20000"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return s, func(column, value string) {
			run("CREATE TRIGGER refuse BEFORE INSERT ON dead WHEN NEW." + column + " = '" + value + "' BEGIN SELECT RAISE(ABORT, 'refused'); END")
		},
		func() { run("DROP TRIGGER refuse") }
}
