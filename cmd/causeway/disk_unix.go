package main

import (
	"fmt"
	"syscall"
	"time"
)

// freeBytes is the room left for us on the file system that holds dir.
func freeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil //nolint:gosec // no file system has 2^63 bytes
}

// checkDisk says when the store's file system has less room than the reserve.
func (a *app) checkDisk(d *diagnosis) {
	dir := a.o.Config.Store.Dir()
	free, err := freeBytes(dir)
	if err != nil {
		d.add("error", "the store's folder cannot be read", dir, 0, time.Time{}, "look at the file system")
		return
	}
	if reserve := int64(a.o.Config.Store.Reserve); free < reserve {
		d.add("error", fmt.Sprintf("%d MiB free, the reserve is %d MiB: events are not published, callbacks still archived", free>>20, reserve>>20),
			dir, 0, time.Time{}, "free disk space")
	}
}
