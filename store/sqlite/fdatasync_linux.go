package sqlite

import (
	"os"
	"syscall"
)

// fdatasync syncs what is needed to read the file's content again.
func fdatasync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR { //nolint:errorlint // a bare errno
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
