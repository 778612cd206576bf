package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tmpfs mounts a small file system of its own, since only a real one is ever
// really full.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a tmpfs: sudo go test ./cmd/causeway -run Disk")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "causeway-test", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a tmpfs here (it needs CAP_SYS_ADMIN): %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// fill writes until the file system has no room, and returns how to free it.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 64<<10)
	for size := len(block); size > 0; {
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2
		}
	}
	_ = f.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// The broker's file system is really full and then free again: 200 all the
// time, everything handed out afterwards in order, no person needed.
func TestDiskOfBrokerFull(t *testing.T) {
	t.Parallel()
	disk := tmpfs(t, "48m")
	w := newWorld(t, worldOptions{account: noPace})
	w.edit(filepath.Join(w.dir, "nats"), filepath.Join(disk, "nats"))
	w.start("")
	w.up()
	l := &load{w: w, convs: 10, each: 40, pause: 20 * time.Millisecond}
	underLoad(t, l, 2*time.Minute, func(ctx context.Context) {
		wait(ctx, 300*time.Millisecond)
		free := fill(t, disk)
		wait(ctx, 3*time.Second)
		free()
	})
	w.quiet(2 * time.Minute)
	if l.refused.Load() != 0 {
		t.Errorf("%d callbacks were not answered 200 at once", l.refused.Load())
	}
	l.verify()
}

// The store's file system is full: 503, and 200 again when there is room,
// without a restart; what was answered 200 before is all there.
func TestDiskOfStoreFull(t *testing.T) {
	t.Parallel()
	disk := tmpfs(t, "48m")
	w := newWorld(t, worldOptions{})
	w.edit(filepath.Join(w.dir, "data"), filepath.Join(disk, "data"))
	w.dir = disk
	w.start("")
	w.up()
	l := &load{w: w, convs: 5, each: 4}
	underLoad(t, l, time.Minute, func(context.Context) {})
	free := fill(t, disk)
	w.until(20*time.Second, "a callback is answered 503", func() bool {
		_, body := w.wa.CustomerBody(customer(90), "with a full disk")
		status, err := w.wa.Post(t.Context(), body)
		return err == nil && status == http.StatusServiceUnavailable
	})
	free()
	after := &load{w: w, convs: 5, each: 8}
	underLoad(t, after, time.Minute, func(context.Context) {})
	w.quiet(time.Minute)
	after.convs = 0 // the order of the second load follows the first one's
	after.verify()
}

// A read-only folder is told at the start: exit 2, naming it. (While the gateway
// holds its files nobody can remount them read-only, but a disk with an error does:
// TestDiskOfStoreTurnsReadOnly.)
func TestDiskOfStoreReadOnly(t *testing.T) {
	t.Parallel()
	disk := tmpfs(t, "48m")
	w := newWorld(t, worldOptions{})
	w.edit(filepath.Join(w.dir, "data"), filepath.Join(disk, "data"))
	w.dir = disk
	remount := func(how string) {
		t.Helper()
		if out, err := exec.Command("mount", "-o", "remount,"+how, disk).CombinedOutput(); err != nil {
			t.Fatalf("remount %s: %v: %s", how, err, out)
		}
	}
	remount("ro")
	p := w.start("")
	<-p.done
	w.mu.Lock()
	said := w.logs.String()
	w.mu.Unlock()
	if code := p.cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(said, filepath.Join(disk, "data")) {
		t.Errorf("exit code %d, said %q", code, said)
	}
	remount("rw")
	w.start("")
	w.up()
	l := &load{w: w, convs: 5, each: 4}
	underLoad(t, l, time.Minute, func(context.Context) {})
	w.quiet(time.Minute)
	l.verify()
}
