package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// fullDisk is a folder whose room can be taken and given back.
func fullDisk(t *testing.T) (dir string, fill, free func()) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no small file system without rights to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	fill = func() {
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		for size := 1 << 20; size > 0; size /= 2 {
			for err == nil {
				_, err = f.Write(make([]byte, size))
			}
			err = nil
		}
		_ = f.Close()
	}
	free = func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	return dir, fill, free
}

func openAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func payloadOf(size int) *gateway.Payload {
	return &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: make([]byte, size)}
}

func TestDiskFullAndBack(t *testing.T) {
	t.Parallel()
	dir, fill, free := fullDisk(t)
	s := openAt(t, dir)
	ctx := t.Context()
	at := time.Now()
	if err := s.Archive.Append(ctx, payloadOf(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ledger.Relay(ctx, benchBatch(1, 5, 3, at), at); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		fill()
		var archive, ledger error
		for i := 0; i < 100 && (archive == nil || ledger == nil); i++ {
			if archive == nil {
				archive = s.Archive.Append(ctx, payloadOf(100_000))
			}
			if ledger == nil {
				_, ledger = s.Ledger.StartRun(ctx, gateway.ReplayRun{ID: fmt.Sprintf("run_%d_%d", round, i), At: at, What: string(make([]byte, 50_000))})
			}
		}
		if !errors.Is(archive, gateway.ErrUnavailable) || !errors.Is(ledger, gateway.ErrUnavailable) {
			t.Fatalf("on a full disk: archive %v, ledger %v", archive, ledger)
		}
		if _, err := s.Archive.Get(ctx, 1); err != nil {
			t.Errorf("reading on a full disk: %v", err)
		}
		free()
		p := payloadOf(10)
		if err := s.Archive.Append(ctx, p); err != nil {
			t.Fatalf("archive, room is back: %v", err)
		}
		if _, err := s.Ledger.Relay(ctx, benchBatch(6+round, 1, 3, at), at); err != nil {
			t.Fatalf("ledger, room is back: %v", err)
		}
		stats, err := s.Archive.Stats(ctx)
		if err != nil || stats.LastPos != p.Pos || stats.Payloads != p.Pos {
			t.Errorf("positions have a hole: %+v, %v", stats, err)
		}
		agree(t, s.Ledger)
	}
}

// TestPageLimitAndBack does the same where nothing can be mounted.
func TestPageLimitAndBack(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	ctx := t.Context()
	at := time.Now()
	limit := func(w *writer, extra int64) {
		t.Helper()
		err := w.submit(ctx, false, 0, func(c *conn) error {
			pages, err := c.number("PRAGMA page_count")
			if err != nil {
				return err
			}
			_, err = c.number(fmt.Sprintf("PRAGMA max_page_count=%d", pages+extra))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(s.Archive.w, 0)
	limit(s.Ledger.w, 0)
	if err := s.Archive.Append(ctx, payloadOf(1<<20)); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("archive: %v", err)
	}
	if _, err := s.Ledger.Relay(ctx, benchBatch(1, 100, 50, at), at); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("ledger: %v", err)
	}
	limit(s.Archive.w, 1<<20)
	limit(s.Ledger.w, 1<<20)
	p := payloadOf(1 << 20)
	if err := s.Archive.Append(ctx, p); err != nil || p.Pos != 1 {
		t.Errorf("archive, room is back: position %d, %v", p.Pos, err)
	}
	r, err := s.Ledger.Relay(ctx, benchBatch(1, 100, 50, at), at)
	if err != nil || r.Events != 100 || r.Pending[0].N != 1 || r.Pending[99].Seq != 2 {
		t.Errorf("ledger, room is back: %d events, %v", r.Events, err)
	}
	agree(t, s.Ledger)
}

// agree checks that the kept counts and the rows say the same.
func agree(t *testing.T, l *Ledger) {
	t.Helper()
	kept, err := l.Sums(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	counted, err := l.Recount(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(kept) != fmt.Sprint(counted) {
		t.Errorf("kept counts %+v, rows %+v", kept, counted)
	}
}
