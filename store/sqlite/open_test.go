package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/sqlite"
)

func options() sqlite.Options { return sqlite.Options{Now: time.Now} }

func TestSecondHolderIsToldWho(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	_, err := sqlite.Open(t.Context(), dir, options())
	var locked *store.LockedError
	if !errors.Is(err, store.ErrLocked) || !errors.As(err, &locked) {
		t.Fatalf("a second holder: %v", err)
	}
	host, _ := os.Hostname()
	if locked.PID != os.Getpid() || locked.Host != host || locked.Since.IsZero() {
		t.Errorf("the holder is not named: %+v", locked)
	}

	// One that waits gets it when the first lets go.
	got := make(chan error, 1)
	go func() {
		o := options()
		o.LockWait = time.Minute
		second, err := sqlite.Open(context.Background(), dir, o)
		if err == nil {
			err = second.Close()
		}
		got <- err
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("the waiting one: %v", err)
	}
}

func TestWaitingForTheLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	o := options()
	o.LockWait = time.Hour
	if _, err := sqlite.Open(ctx, dir, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("open: %v", err)
	}
}

func TestReopenKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	s := open(t, dir)
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("mode of the folder: %v, %v", st.Mode(), err)
	}
	id := s.Ledger.Identity()
	p := gateway.Payload{Platform: "wecom", Endpoint: "corp", ReceivedAt: time.Now().UTC().Round(0), Body: []byte("<xml/>")}
	if err := s.Archive.Append(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	batch := relayOne(1, "ev_a")
	if _, err := s.Ledger.Relay(t.Context(), batch, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if err := s.Archive.Append(t.Context(), &p); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("append after close: %v", err)
	}
	if _, err := s.Archive.Get(t.Context(), 1); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("get after close: %v", err)
	}
	for _, name := range []string{"archive.db-wal", "ledger.db-wal"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Size() > 0 {
			t.Errorf("%s holds %d bytes after close", name, st.Size())
		}
	}

	s = open(t, dir)
	if d := cmp.Diff(id, s.Ledger.Identity()); d != "" {
		t.Errorf("identity (-before +after):\n%s", d)
	}
	got, err := s.Archive.Get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, *got); d != "" {
		t.Errorf("payload (-before +after):\n%s", d)
	}
	next := relayOne(2, "ev_b")
	r, err := s.Ledger.Relay(t.Context(), next, time.Now())
	if err != nil || r.Pending[0].Seq != 2 || r.Pending[0].N != 2 {
		t.Errorf("numbers go on: %+v, %v", r, err)
	}
	sums, err := s.Ledger.Sums(t.Context())
	if err != nil || sums.Items.Events != 2 {
		t.Errorf("sums after reopening: %+v, %v", sums, err)
	}
}

// relayOne is a batch with one message of one customer.
func relayOne(pos int64, event string) *gateway.RelayBatch {
	return &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{
		Pos: pos, Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Unix(1, 0), Last: true,
		Items: []gateway.ItemRow{{
			State:  gateway.ItemEvent,
			Event:  gateway.EventRow{ID: event, Platform: "whatsapp", Account: "shop", Kind: gateway.KindMessage, Content: []byte(`{}`)},
			Chat:   gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: "1"}}},
			Wanted: []string{"bot"},
		}},
	}}}
}

func TestFilesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	exec := func(t *testing.T, path string, statements ...string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for _, q := range statements {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want error
	}{
		{"no database", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "archive.db"), make([]byte, 8192), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "ledger.db"), []byte(fmt.Sprintf("%8000s", "text")), 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.ErrCorrupt},
		{"a foreign database", func(t *testing.T, dir string) {
			exec(t, filepath.Join(dir, "ledger.db"), "CREATE TABLE mine (x)")
		}, store.ErrForeign},
		{"ledger in the archive's place", func(t *testing.T, dir string) {
			closed(t, dir)
			if err := os.Rename(filepath.Join(dir, "ledger.db"), filepath.Join(dir, "archive.db")); err != nil {
				t.Fatal(err)
			}
		}, store.ErrForeign},
		{"an archive of another store", func(t *testing.T, dir string) {
			other := t.TempDir()
			closed(t, other)
			closed(t, dir)
			if err := os.Rename(filepath.Join(other, "archive.db"), filepath.Join(dir, "archive.db")); err != nil {
				t.Fatal(err)
			}
		}, store.ErrForeign},
		{"the ledger is lost", func(t *testing.T, dir string) {
			closed(t, dir)
			if err := os.Remove(filepath.Join(dir, "ledger.db")); err != nil {
				t.Fatal(err)
			}
		}, store.ErrForeign},
		{"a newer schema", func(t *testing.T, dir string) {
			closed(t, dir)
			exec(t, filepath.Join(dir, "ledger.db"), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
		}, store.ErrNewerSchema},
		{"a torn file", func(t *testing.T, dir string) {
			closed(t, dir)
			path := filepath.Join(dir, "ledger.db")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 100; i < 4096; i++ {
				b[i] = 0xa5
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.make(t, dir)
			s, err := sqlite.Open(t.Context(), dir, options())
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("open: %v, want %v", err, c.want)
			}
			// The lock is given back.
			if _, err := sqlite.Open(t.Context(), dir, options()); errors.Is(err, store.ErrLocked) {
				t.Error("a failed open keeps the lock")
			}
		})
	}
}

// closed makes a store with one payload in dir and closes it.
func closed(t *testing.T, dir string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, options())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Archive.Append(t.Context(), &gateway.Payload{Platform: "wecom", ReceivedAt: time.Now()}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOptionsNeedAClock(t *testing.T) {
	t.Parallel()
	if _, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{}); err == nil {
		t.Error("opened without a clock")
	}
}

func TestRejectsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	o := sqlite.Options{Now: func() time.Time { return now }, RejectMax: 5, RejectBytes: 2100, RejectAge: time.Hour}
	s, err := sqlite.Open(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	add := func(size int) {
		t.Helper()
		if err := s.Archive.AppendReject(t.Context(), &gateway.Reject{At: now, Payload: gateway.Payload{Body: make([]byte, size)}}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int64 {
		t.Helper()
		st, err := s.Archive.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Rejects
	}
	for range 8 {
		add(10)
	}
	if n := count(); n != 5 {
		t.Errorf("%d rejects over a bound of 5", n)
	}
	add(900)
	add(900)
	if n := count(); n != 2 {
		t.Errorf("%d rejects over the bound of bytes, want the two newest", n)
	}
	now = now.Add(2 * time.Hour)
	add(10)
	if n := count(); n != 1 {
		t.Errorf("%d rejects, want only the one that is not too old", n)
	}
}
