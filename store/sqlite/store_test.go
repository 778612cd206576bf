package sqlite_test

import (
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
	storetest.Run(t, func(t *testing.T) (store.Archive, store.Ledger) {
		s := open(t, t.TempDir())
		t.Cleanup(func() { ran.of(t, s) }) // before it is closed
		return s.Archive, s.Ledger
	})
	if !t.Failed() {
		ran.check(t)
	}
}
