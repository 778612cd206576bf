package sqlite

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// made notes in which order writes were made.
type made struct {
	l  *Ledger
	wg sync.WaitGroup

	mu   sync.Mutex
	list []string
}

func (o *made) write(submit func(do func(*conn) error) error, name string, during func()) {
	o.wg.Go(func() {
		_ = submit(func(*conn) error {
			o.mu.Lock()
			o.list = append(o.list, name)
			o.mu.Unlock()
			if during != nil {
				during()
			}
			return nil
		})
	})
}

func (o *made) soon(name string) {
	o.write(func(do func(*conn) error) error { return o.l.act(context.Background(), 0, do) }, name, nil)
}

func (o *made) plain(name string, during func()) {
	o.write(func(do func(*conn) error) error { return o.l.write(context.Background(), true, 0, do) }, name, during)
}

// What a person waits for goes before what the stages have queued.
func TestPeopleGoFirst(t *testing.T) {
	t.Parallel()
	o := &made{l: openAt(t, t.TempDir()).Ledger}
	release := hold(t, o.l.w)
	for n := range 20 {
		o.plain("stage", nil)
		queued(o.l.w, n+1)
	}
	for n, name := range []string{"one", "two"} {
		o.soon(name)
		for len(o.l.w.soon) < n+1 {
			runtime.Gosched()
		}
	}
	release()
	o.wg.Wait()
	if len(o.list) != 22 || !slices.Equal(o.list[:2], []string{"one", "two"}) {
		t.Errorf("made %v", o.list)
	}
}

// A group that is under way ends for it, when it had its time; the rest of it goes on
// behind.
func TestGroupEndsForPeople(t *testing.T) {
	t.Parallel()
	o := &made{l: openAt(t, t.TempDir()).Ledger}
	release := hold(t, o.l.w)
	o.plain("first", func() {
		began := time.Now()
		o.soon("person")
		for len(o.l.w.soon) == 0 || time.Since(began) < soonTime {
			runtime.Gosched()
		}
	})
	queued(o.l.w, 1)
	for n := range 20 {
		o.plain("stage", nil)
		queued(o.l.w, n+2)
	}
	release()
	o.wg.Wait()
	if len(o.list) != 22 || !slices.Equal(o.list[:2], []string{"first", "person"}) {
		t.Errorf("made %v", o.list)
	}
}

// What a person waits for is written also when the store is being closed.
func TestCloseWaitsForPeople(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	o := &made{l: s.Ledger}
	release := hold(t, s.Ledger.w)
	o.soon("person")
	for len(s.Ledger.w.soon) == 0 {
		runtime.Gosched()
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for open := true; open; runtime.Gosched() {
		s.Ledger.w.mu.RLock()
		open = !s.Ledger.w.closed
		s.Ledger.w.mu.RUnlock()
	}
	release()
	o.wg.Wait()
	if err := <-closed; err != nil || !slices.Equal(o.list, []string{"person"}) {
		t.Errorf("made %v, %v", o.list, err)
	}
}

// What people list is read also while the stages have all their readers in use.
func TestPeopleReadBesideTheStages(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	ids := schedule(t, l, 3, time.Now().Add(time.Hour))
	for range l.r.size {
		c := <-l.r.idle
		defer func() { l.r.idle <- c }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	page, err := l.FindMessages(ctx, store.MessageQuery{State: gateway.MessageWaiting})
	if err != nil || len(page.Messages) != 3 {
		t.Errorf("%d messages, %v", len(page.Messages), err)
	}
	if _, _, err := l.Message(ctx, ids[0]); err != nil {
		t.Error(err)
	}
	if list, err := l.NamedMessages(ctx, ids); err != nil || len(list) != 3 {
		t.Errorf("%d messages, %v", len(list), err)
	}
}
