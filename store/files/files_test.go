package files_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store/files"
)

func open(t *testing.T, dir string) *files.Store {
	t.Helper()
	s, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *files.Store, body string) string {
	t.Helper()
	d, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Drop()
	if _, err := io.Copy(d, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	file, err := d.Keep()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// names lists the files below dir.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFileIsNamedByItsBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "media")
	s := open(t, dir)
	sum := sha256.Sum256([]byte("hello"))
	want := hex.EncodeToString(sum[:])
	if got := put(t, s, "hello"); got != want {
		t.Errorf("named %s, want %s", got, want)
	}
	if got := put(t, s, "hello"); got != want {
		t.Errorf("the same bytes again: %s", got)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != filepath.Join(want[:2], want[2:4], want) {
		t.Errorf("on disk: %v", got)
	}
	f, size, err := s.Open(want)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	if err != nil || string(b) != "hello" || size != 5 {
		t.Errorf("read %q, size %d, %v", b, size, err)
	}
	if st, err := os.Stat(s.Path(want)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestNamesOfOthersOpenNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "media"))
	for _, name := range []string{"", "../secret", "..", strings.Repeat("a", 64), strings.Repeat("A", 64), "../../" + strings.Repeat("a", 58)} {
		if _, _, err := s.Open(name); !errors.Is(err, gateway.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestUnfinishedIsGoneAtTheNextStart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	kept := put(t, s, "kept")
	d, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if len(names(t, dir)) != 2 {
		t.Fatal("the draft is not on disk")
	}
	s = open(t, dir) // as after a kill
	if got := names(t, dir); len(got) != 1 || !strings.HasSuffix(got[0], kept) {
		t.Errorf("after the start: %v", got)
	}
	if put(t, s, "kept") != kept {
		t.Error("the kept file is another one")
	}
	dropped, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	dropped.Drop()
	dropped.Drop()
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("a dropped draft stays: %v", got)
	}
}

// A file that a power failure cut short before it was synced is replaced by the
// whole one.
func TestShortFileIsReplaced(t *testing.T) {
	s := open(t, t.TempDir())
	file := put(t, s, "the whole")
	if err := os.Truncate(s.Path(file), 3); err != nil {
		t.Fatal(err)
	}
	put(t, s, "the whole")
	if b, err := os.ReadFile(s.Path(file)); err != nil || string(b) != "the whole" {
		t.Errorf("%q %v", b, err)
	}
}

func TestManyWriteTheSame(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	body := strings.Repeat("x", 1<<20)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			d, err := s.Create()
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Drop()
			if _, err := io.Copy(d, strings.NewReader(body)); err != nil {
				t.Error(err)
			}
			if _, err := d.Keep(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := names(t, dir)
	if len(got) != 1 {
		t.Fatalf("on disk: %v", got)
	}
	b, err := os.ReadFile(filepath.Join(dir, got[0]))
	if err != nil || !bytes.Equal(b, []byte(body)) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// A full disk is a fault that passes, and leaves nothing.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a tmpfs")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "causeway-test", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	s := open(t, dir)
	d, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(d, strings.NewReader(strings.Repeat("x", 4<<20)))
	d.Drop()
	if !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("writing over the room: %v", err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	put(t, s, "fits again")
}
