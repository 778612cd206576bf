package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/sqlite"
	"github.com/causewayhq/causeway/store/storetest"
)

// open opens a store in dir and closes it with the test.
func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{Now: time.Now, Log: zaptest.NewLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	ran := newStatements()
	// Making the schema takes longer than most of the tests: each begins with a copy
	// of one empty store.
	empty := t.TempDir()
	made, err := sqlite.Open(t.Context(), empty, options())
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(t *testing.T) (store.Archive, store.Ledger) {
		dir := t.TempDir()
		for _, name := range []string{"archive.db", "ledger.db"} {
			b, err := os.ReadFile(filepath.Join(empty, name)) //nolint:gosec // a test's own file
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, dir)
		t.Cleanup(func() { ran.of(t, s) }) // before it is closed
		return s.Archive, s.Ledger
	})
	if !t.Failed() {
		ran.check(t)
	}
}
