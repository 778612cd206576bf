package sqlite

import (
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
