package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A log starts over before it is much longer than it should be, also when far more is
// written than the writer was told.
func TestLongLogStartsOver(t *testing.T) {
	t.Parallel()
	const most = 4 * mostBytes
	dir := t.TempDir()
	l := openAt(t, dir).Ledger
	row := bytes.Repeat([]byte{'x'}, 1<<20)
	var last int64
	for written := 0; written < most; written += len(row) {
		row[0]++
		err := l.write(t.Context(), false, 0, func(c *conn) error {
			_, err := c.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('long', ?)", row)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		i, err := os.Stat(filepath.Join(dir, "ledger.db-wal"))
		if err != nil {
			t.Fatal(err)
		}
		if i.Size() < last || int64(written) > i.Size()+8<<20 {
			return // it was cut, or room was used again
		}
		last = i.Size()
	}
	t.Errorf("of %d bytes the log is %d bytes long", most, last)
}
