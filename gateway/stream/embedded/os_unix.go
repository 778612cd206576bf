//go:build !windows

package embedded

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes an exclusive lock without waiting. flock belongs to the open
// file, so a second Start in the same process is refused too.
func lockFile(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// freeBytes is the room an unprivileged process has on the file system of dir.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert,gosec // the types differ per system; no disk has 2^63 bytes
}
