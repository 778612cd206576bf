package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Behind a log's end there is room that was written before, also when the log has
// grown; what is in it is read again, with the zeros and without.
func TestLogIsWrittenAhead(t *testing.T) {
	t.Parallel()
	w := newCut(t)
	size := func() int64 {
		i, err := os.Stat(filepath.Join(w.dir, "ledger.db-wal"))
		if err != nil {
			t.Fatal(err)
		}
		return i.Size()
	}
	for grown, last := 0, size(); grown < 2; {
		w.relay(200)
		w.settle(cutConvs)
		if size() == last {
			continue
		}
		w.relay(1) // the one before went over the end; this one finds out
		if room := size() - w.log(); room < aheadBytes/2 {
			t.Fatalf("the log has grown to %d, with %d bytes of room", size(), room)
		}
		grown, last = grown+1, size()
	}
	w.attempt()
	w.cut(size(), w.settled)
	w.cut(w.log(), w.settled)
}

// Where nothing can be written ahead nothing happens.
func TestLogWithoutRoomAhead(t *testing.T) {
	t.Parallel()
	a := ahead{path: filepath.Join(t.TempDir(), "none")}
	a.keep()
	if a.size != 0 {
		t.Errorf("a log that is not there was written ahead to %d", a.size)
	}
}

// A log that was cut keeps the length to which it was cut, until SQLite needs more.
func TestCutLogStaysCut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	grew := []int64{}
	a := ahead{path: path, grew: func(size int64) { grew = append(grew, size) }}
	defer a.close()
	for _, step := range []struct{ is, becomes int64 }{
		{3 << 20, 3<<20 + aheadBytes}, {2 << 20, 2 << 20}, {2<<20 + 1, 2<<20 + 1 + aheadBytes}, {1 << 20, 1 << 20},
	} {
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, step.is)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second finds nothing to do
			a.keep()
		}
		if i, err := os.Stat(path); err != nil || i.Size() != step.becomes {
			t.Fatalf("of %d the log became %v %v, not %d", step.is, i.Size(), err, step.becomes)
		}
	}
	if len(grew) != 2 {
		t.Errorf("it was told to have grown to %v", grew)
	}
}
