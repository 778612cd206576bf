package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// hold keeps the writer busy until release is called, so that what is submitted
// meanwhile becomes one group.
func hold(t *testing.T, w *writer) (release func()) {
	t.Helper()
	started, released := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- w.submit(context.Background(), false, 0, func(*conn) error {
			close(started)
			<-released
			return nil
		})
	}()
	<-started
	return func() {
		close(released)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// queued waits until n writes wait besides the one that holds the writer.
func queued(w *writer, n int) {
	for len(w.queue) < n {
		runtime.Gosched() // a length has no signal
	}
}

func TestFailedWriteTakesBackOnlyItself(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	release := hold(t, l.w)
	at := time.Now()
	errs := make([]error, 9)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = l.write(context.Background(), true, 0, func(c *conn) error {
				l.book.add(appCount("bot", "settled"), 1)
				l.book.add(appCount("bot", "wanted"), 1)
				_, err := c.exec("INSERT INTO settled (n, app, state, reason, tries, round, requeue, at) VALUES (?, 'bot', 'settled', '', 0, 0, 0, ?)", i+1, at)
				switch {
				case err != nil:
					return err
				case i%3 == 1:
					return gateway.ErrConflict
				case i%3 == 2:
					panic("odd")
				}
				return nil
			})
		})
	}
	queued(l.w, len(errs))
	release()
	wg.Wait()
	for i, err := range errs {
		switch i % 3 {
		case 0:
			if err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		case 1:
			if !errors.Is(err, gateway.ErrConflict) {
				t.Errorf("write %d: %v", i, err)
			}
		case 2:
			if err == nil {
				t.Errorf("write %d panicked and says nothing", i)
			}
		}
	}
	sums, err := l.Sums(t.Context())
	if err != nil || sums.Apps["bot"].Settled != 3 {
		t.Errorf("%d settled, %v", sums.Apps["bot"].Settled, err)
	}
	agree(t, l)
}

func TestWriteLeftByItsCallerIsNotMade(t *testing.T) {
	t.Parallel()
	a := openAt(t, t.TempDir()).Archive
	release := hold(t, a.w)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() { got <- a.Append(ctx, payloadOf(1)) }()
	queued(a.w, 1)
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	release()
	p := payloadOf(1)
	if err := a.Append(t.Context(), p); err != nil || p.Pos != 1 {
		t.Errorf("the next one has position %d, %v", p.Pos, err)
	}
	if n := a.Waiting(); n != 0 {
		t.Errorf("%d wait in an idle archive", n)
	}
}

func TestCloseWaitsForWhatIsQueued(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	release := hold(t, s.Archive.w)
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { errs[i] = s.Archive.Append(context.Background(), payloadOf(10)) })
	}
	queued(s.Archive.w, len(errs))
	release()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("append %d, queued before close: %v", i, err)
		}
	}
}

func TestSchemaEnforcesOrder(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	at := time.Now()
	if _, err := l.Relay(t.Context(), benchBatch(1, 2, 1, at), at); err != nil {
		t.Fatal(err)
	}
	event := `INSERT INTO event (n, id, run, c, ord, kind, origin, pos, item, payload, received_at, occurred_at, content)
		SELECT %s, %s, '', c, %s, 'message', 'live', 9, 0, '', 0, 0, x'' FROM event WHERE n = 1`
	message := `INSERT INTO message (id, task, part, parts, app, event, run, platform, account, conv, due_at, state, open, reason, attempts,
		next_at, external_id, delivery, failed, unknown_until, type, text)
		VALUES (%s, 't', 0, 1, 'bot', 'e', '', 'whatsapp', 'shop', 'c', 0, %s, %s, '', 0, 0, '', '', x'', 0, 'text', x'')`
	for _, c := range []struct {
		name, first, second string
	}{
		{"event id twice", fmt.Sprintf(event, "10", "'x'", "10"), fmt.Sprintf(event, "11", "'x'", "11")},
		{"seq twice", fmt.Sprintf(event, "12", "'y'", "12"), fmt.Sprintf(event, "13", "'z'", "12")},
		{"two sending", fmt.Sprintf(message, "'m1'", "'sending'", "1"), fmt.Sprintf(message, "'m2'", "'sending'", "1")},
		{"accepted and open", "", fmt.Sprintf(message, "'m3'", "'accepted'", "1")},
		{"waiting and not open", "", fmt.Sprintf(message, "'m4'", "'waiting'", "0")},
		{"unknown state", "", fmt.Sprintf(message, "'m5'", "'lost'", "0")},
		{"pending twice", "", "INSERT INTO pending SELECT app, c, lane, seq, 99, 0, 0, 0, 0, 0, 0 FROM pending LIMIT 1"},
		{"settled and dead", "INSERT INTO settled VALUES (1, 'bot', 'settled', '', 0, 0, 0, 0)", "INSERT INTO settled VALUES (1, 'bot', 'dead', '', 0, 0, 0, 0)"},
	} {
		err := l.write(t.Context(), false, 0, func(cn *conn) error {
			if c.first != "" {
				if _, err := cn.exec(c.first); err != nil {
					return fmt.Errorf("the first: %w", err)
				}
			}
			if _, err := cn.exec(c.second); code(err) != codeConstraint {
				t.Errorf("%s: %v, want a constraint", c.name, err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	a := openAt(t, t.TempDir()).Archive
	if err := a.Append(t.Context(), payloadOf(1)); err != nil {
		t.Fatal(err)
	}
	err := a.w.submit(t.Context(), false, 0, func(c *conn) error { _, err := c.exec("DELETE FROM payload"); return err })
	if code(err) != codeConstraint {
		t.Errorf("the newest payload was deleted: %v", err)
	}
}

func TestIDsAreMonotonicWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	b := newLedgerBook()
	at := time.Now()
	last := ""
	for i := range 10_000 {
		id, err := b.newID("ms_", at.Add(-time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if id <= last {
			t.Fatalf("%s comes after %s", id, last)
		}
		last = id
	}
}

// TestLogStartsOver writes until the log is seen to start over: it would grow
// without end when the passive checkpoint never got to its last frame.
func TestLogStartsOver(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	var last, frames int64
	for range 200 {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := s.Archive.Append(context.Background(), payloadOf(256<<10)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		err := s.Archive.r.read(t.Context(), func(c *conn) error {
			_, err := c.one("PRAGMA wal_checkpoint(NOOP)", func(r row) { frames = r.int(1) })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if frames < last {
			return
		}
		last = frames
	}
	t.Errorf("the log holds %d frames and never started over", frames)
}

// A row that cannot be written fails those that share its transaction, nothing
// later, and leaves no hole in the positions.
func TestFailedRowFailsItsTransaction(t *testing.T) {
	t.Parallel()
	a := openAt(t, t.TempDir()).Archive
	if err := a.Append(t.Context(), payloadOf(1)); err != nil {
		t.Fatal(err)
	}
	full := a.insert
	release := hold(t, a.w)
	errs := make([]error, 40)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = a.Append(context.Background(), payloadOf(10)) })
	}
	queued(a.w, len(errs))
	a.w.insert = func(c *conn, rows []*payloadRow) error {
		if err := full(c, rows); err != nil {
			return err
		}
		return errLineBreak
	}
	release()
	wg.Wait()
	for i, err := range errs {
		if !errors.Is(err, errLineBreak) {
			t.Errorf("append %d: %v", i, err)
		}
	}
	release = hold(t, a.w)
	a.w.insert = full
	got := make([]*gateway.Payload, 40)
	for i := range got {
		got[i] = payloadOf(10)
		wg.Go(func() { errs[i] = a.Append(context.Background(), got[i]) })
	}
	queued(a.w, len(got))
	release()
	wg.Wait()
	seen := map[int64]bool{}
	for i, p := range got {
		if errs[i] != nil || p.Pos < 2 || p.Pos > 41 || seen[p.Pos] {
			t.Errorf("append %d: position %d, %v", i, p.Pos, errs[i])
		}
		seen[p.Pos] = true
	}
}
