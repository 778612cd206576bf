package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/admin"
)

// loopDisk is an ext4 file system of the test's own in a file. Its kernel can be
// told that it found an error, upon which it turns read-only under open files, as
// the disk of a server does.
type loopDisk struct {
	t          *testing.T
	image, dir string
}

func newLoopDisk(t *testing.T) *loopDisk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a file system: sudo go test ./cmd/causeway -run Disk")
	}
	d := &loopDisk{t: t, image: filepath.Join(t.TempDir(), "image"), dir: t.TempDir()}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 96<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", d.image).CombinedOutput(); err != nil {
		t.Skipf("cannot make an ext4 file system here: %v: %s", err, out)
	}
	if out, err := d.mount(); err != nil {
		t.Skipf("cannot mount a file here (it needs CAP_SYS_ADMIN and loop devices): %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", d.dir).Run() }) // a test that failed left it mounted
	if _, err := os.Stat(d.trigger()); err != nil {
		t.Skipf("this kernel has no way to provoke an error of a file system: %v", err)
	}
	return d
}

func (d *loopDisk) mount() (string, error) {
	out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", d.image, d.dir).CombinedOutput()
	return string(out), err
}

// trigger is the file that makes the kernel find an error, of this mount alone.
func (d *loopDisk) trigger() string {
	d.t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == d.dir && f[2] == "ext4" && strings.HasPrefix(f[0], "/dev/loop") {
			return filepath.Join("/sys/fs/ext4", filepath.Base(f[0]), "trigger_fs_error")
		}
	}
	d.t.Fatal("the file system is not mounted")
	return ""
}

// breaks turns it read-only; only mending makes it writable again.
func (d *loopDisk) breaks() {
	d.t.Helper()
	if err := os.WriteFile(d.trigger(), []byte("error of a test"), 0); err != nil {
		d.t.Fatal(err)
	}
}

// mend does what an operator does: unmount, check, mount.
func (d *loopDisk) mend() {
	d.t.Helper()
	if out, err := exec.Command("umount", d.dir).CombinedOutput(); err != nil {
		d.t.Fatalf("umount: %v: %s", err, out)
	}
	out, err := exec.Command("e2fsck", "-fy", d.image).CombinedOutput()
	if code := exitCode(err); code > 1 { // 1: errors were corrected
		d.t.Fatalf("e2fsck: %v: %s", err, out)
	}
	if out, err := d.mount(); err != nil {
		d.t.Fatalf("mount: %v: %s", err, out)
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // it is not wrapped
		return e.ExitCode()
	}
	return -1
}

// The store's file system turns read-only under load: callbacks are answered 503,
// the process lives and says what it cannot do, nothing is sent that is not
// written down first, and it stops when it is told to. After the file system is
// mended everything answered 200 is there and goes its way.
func TestDiskOfStoreTurnsReadOnly(t *testing.T) {
	t.Parallel()
	disk := newLoopDisk(t)
	w := newWorld(t, worldOptions{})
	w.edit(filepath.Join(w.dir, "data"), filepath.Join(disk.dir, "data"))
	w.dir = disk.dir
	p := w.start("")
	w.up()
	l := &load{w: w, convs: 6, each: 40, pause: 10 * time.Millisecond}
	underLoad(t, l, 2*time.Minute, func(ctx context.Context) {
		w.until(30*time.Second, "something was answered", func() bool { return len(w.wa.Calls()) > 20 })
		disk.breaks()
		w.until(30*time.Second, "a callback is answered 503", func() bool {
			_, body := w.wa.CustomerBody(customer(90), "on a read-only disk")
			status, err := w.wa.Post(ctx, body)
			return err == nil && status == http.StatusServiceUnavailable
		})
		w.until(30*time.Second, "readyz says so", func() bool {
			resp, err := http.Get(w.api + "/readyz") //nolint:noctx // a test on loopback
			if err != nil {
				return false
			}
			defer func() { _ = resp.Body.Close() }()
			return resp.StatusCode == http.StatusServiceUnavailable
		})
		var doctor admin.Report
		if err := w.get("/api/v1/doctor", &doctor); err != nil {
			t.Errorf("doctor on a read-only disk: %v", err)
		}
		if out, code := w.cli("doctor", "--ready"); code != exitFailed || !strings.Contains(out, "archive") {
			t.Errorf("doctor --ready: %d\n%s", code, out)
		}
		if !slices.ContainsFunc(doctor.Findings, func(f admin.Finding) bool { return f.Name == "archive" && f.Level == "error" }) {
			t.Errorf("doctor does not say it: %+v", doctor)
		}
		sent := len(w.wa.Calls())
		wait(ctx, time.Second)
		if now := len(w.wa.Calls()); now > sent+l.convs {
			t.Errorf("%d messages were sent without being written down", now-sent)
		}
		if p.ended() {
			t.Fatal("the process ended")
		}
		w.stop()
		disk.mend()
		w.start("")
	})
	if l.refused.Load() == 0 {
		t.Error("nothing was refused: the disk was never read-only")
	}
	w.up()
	w.quiet(time.Minute)
	if unknown := l.verify(); unknown > l.convs {
		t.Errorf("%d unknown messages", unknown)
	}
}
