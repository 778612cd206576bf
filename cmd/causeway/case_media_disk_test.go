package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// With less room than the reserve files stop first: they wait, while callbacks
// are taken, events handed out and answered; with room again they come.
func TestDiskBelowTheReserveStopsFilesFirst(t *testing.T) {
	t.Parallel()
	disk := tmpfs(t, "96m")
	w := newWorld(t, worldOptions{apps: appFiles})
	w.edit(filepath.Join(w.dir, "data"), filepath.Join(disk, "data"))
	w.edit("reserve: 1MiB", "reserve: 32MiB") // files want 40 MiB free, publishing 32
	w.start("")
	w.up()
	ballast := filepath.Join(disk, "ballast")
	// Room for publishing, none for files.
	free, err := freeBytes(disk)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, free-37<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("y"), 50<<10)
	w.picture(customer(1), body, false)
	w.until(20*time.Second, "the event is answered", func() bool { return len(accepted(w.calls(customer(1)))) == 1 })
	w.until(20*time.Second, "doctor says why", func() bool {
		out, _ := w.cli("doctor")
		return strings.Contains(out, "files of customers are not fetched")
	})
	if s := w.sums(); s.Media.Pending != 1 {
		t.Errorf("media %+v", s.Media)
	}
	if status, text := w.put("image/png", []byte("x")); status != http.StatusServiceUnavailable {
		t.Errorf("a file is put in: %d %s", status, text)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	list := w.mediaDone(30*time.Second, 1)
	if list[0].State != "ready" || list[0].Tries != 0 {
		t.Errorf("%+v", list[0])
	}
	w.settled(20 * time.Second)

	// The same by the command line, byte for byte.
	if out, code := w.cli("media", "ls", "--state", "ready"); code != exitOK || !strings.Contains(out, list[0].File) {
		t.Errorf("media ls: %d %s", code, out)
	}
	got := filepath.Join(t.TempDir(), "picture")
	if out, code := w.cli("media", "get", list[0].File, "-o", got); code != exitOK {
		t.Errorf("media get: %d %s", code, out)
	}
	if b, err := os.ReadFile(got); err != nil || !bytes.Equal(b, body) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, code := w.cli("media", "get", list[0].File, "-o", got); code == exitOK {
		t.Error("an existing file is overwritten")
	}
	if out, code := w.cli("media", "get", strings.Repeat("0", 64)); code != exitNotFound {
		t.Errorf("one that is not there: %d %s", code, out)
	}
	if out, code := w.cli("media", "put", got, "--type", "image/jpeg"); code != exitOK || !strings.Contains(out, list[0].File) {
		t.Errorf("media put: %d %s", code, out)
	}
}
