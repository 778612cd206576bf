// Package files keeps the bytes of media in a folder beside the archive, each
// under the SHA-256 of what it holds: ab/cd/abcd…, so that the same bytes are
// kept once, whoever sent them and however often.
//
// Promise: a name is made here and never by a sender; a file under its name is
// whole and on disk (written aside, fsync, rename, fsync of the folders); what
// was not finished is gone after the next Open. Nothing is overwritten.
//
// Owner: the process that holds the store's lock. Store is safe for concurrent
// use and keeps nothing in memory; a Draft belongs to one goroutine. Failure: a
// full disk is gateway.ErrUnavailable, and nothing is left behind. A file that
// no row of the ledger names (the process died in between) does no harm: it is
// found again when the same bytes come.
//
// Deleting is not done here yet: a retention asks the ledger which files no
// event and no upload names any more and removes those; Path is all it needs.
package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"syscall"

	"github.com/causewayhq/causeway/gateway"
)

// aside is where files are written before they have a name.
const aside = "unfinished"

// Store is the folder.
type Store struct{ dir string }

// Open makes the folder (mode 0700) when it is missing and removes what an
// earlier process did not finish.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, outward("open", err)
	}
	// What is to be removed must not be found again after a power failure, but
	// that costs nothing more than removing it once more.
	if err := os.RemoveAll(filepath.Join(dir, aside)); err != nil {
		return nil, outward("clean", err)
	}
	if err := os.Mkdir(filepath.Join(dir, aside), 0o700); err != nil {
		return nil, outward("open", err)
	}
	return &Store{dir: dir}, nil
}

// Path is where a file is or would be; the name must be valid.
func (s *Store) Path(file string) string { return filepath.Join(s.dir, file[:2], file[2:4], file) }

// Open returns a stored file and its size; the caller closes it.
// gateway.ErrNotFound when there is none, or the name is not valid.
func (s *Store) Open(file string) (*os.File, int64, error) {
	if !gateway.ValidFile(file) {
		return nil, 0, fmt.Errorf("file: %w", gateway.ErrNotFound)
	}
	f, err := os.Open(s.Path(file))
	if err != nil {
		return nil, 0, outward("read", err)
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, outward("read", err)
	}
	return f, st.Size(), nil
}

// Draft is a file being written. One of Keep and Drop ends it; Drop after Keep
// does nothing, so that it can be deferred.
type Draft struct {
	s    *Store
	f    *os.File
	sum  hash.Hash
	size int64
}

// Create begins a file.
func (s *Store) Create() (*Draft, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, aside), "")
	if err != nil {
		return nil, outward("create", err)
	}
	return &Draft{s: s, f: f, sum: sha256.New()}, nil
}

// Write adds bytes.
func (d *Draft) Write(b []byte) (int, error) {
	n, err := d.f.Write(b)
	d.sum.Write(b[:n])
	d.size += int64(n)
	if err != nil {
		return n, outward("write", err)
	}
	return n, nil
}

// Size is how many bytes were written; Sum their SHA-256.
func (d *Draft) Size() int64 { return d.size }

// Sum is the SHA-256 of what was written.
func (d *Draft) Sum() [sha256.Size]byte { return [sha256.Size]byte(d.sum.Sum(nil)) }

// Keep gives the file its name, durably, and returns it. When the same bytes are
// there already, those stay.
func (d *Draft) Keep() (file string, err error) {
	defer d.Drop()
	sum := d.Sum()
	file = hex.EncodeToString(sum[:])
	path := d.s.Path(file)
	first := filepath.Dir(filepath.Dir(path))
	if err := d.place(path); err != nil {
		return "", outward("keep", err)
	}
	// Also where the file was there: whoever placed it may have died before this.
	for _, dir := range []string{filepath.Dir(path), first, d.s.dir} {
		if err := syncDir(dir); err != nil {
			return "", outward("keep", err)
		}
	}
	return file, nil
}

// place moves the draft to where it belongs, unless the same bytes are there: a
// file is synced before it gets its name.
func (d *Draft) place(path string) error {
	if st, err := os.Stat(path); err == nil && st.Size() == d.size {
		return nil
	}
	if err := d.f.Sync(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.Rename(d.f.Name(), path)
}

// Drop forgets the draft.
func (d *Draft) Drop() {
	if d.f == nil {
		return
	}
	_ = d.f.Close() // synced before when it counts
	_ = os.Remove(d.f.Name())
	d.f = nil
}

// outward keeps paths out of errors and marks what may pass by itself.
func outward(what string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("files: %s: %w", what, gateway.ErrNotFound)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS),
		errors.Is(err, syscall.EIO), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("files: %s: %w", what, gateway.ErrUnavailable)
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return fmt.Errorf("files: %s: %w", what, err)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir) //nolint:gosec // a folder of ours
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}
