package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/store/sqlite"
)

//nolint:gochecknoglobals // flags of this test binary
var (
	killRandom = flag.Int("kill.random", 2, "how many random kill runs TestKillAtRandom makes")
	killSeed   = flag.Uint64("kill.seed", 1, "seed of the first of them; each next one is one higher")
)

// load lets customers write: each conversation's next message is posted when the
// one before was answered 200, as Meta does until it is.
type load struct {
	w     *world
	convs int
	each  int
	pad   int              // bytes added to each text
	pause time.Duration    // between two messages of a customer
	dead  int              // how many events are dead letters and have no reply
	sizes []int            // how many messages each conversation has, in place of each
	fails func(i int) bool // the bots fail at the i-th message of every customer; nil: at none

	deadMost int // when that depends on when things come up: at most so many

	mu      sync.Mutex
	acked   map[[32]byte]string // body hash -> customer and number
	refused atomic.Int64        // tries that were not answered 200
}

func (l *load) run(ctx context.Context) {
	l.acked = map[[32]byte]string{}
	var wg sync.WaitGroup
	for c := range l.convs {
		wg.Go(func() {
			for i := range l.size(c) {
				_, body := l.w.wa.CustomerBody(customer(c), l.text(i)+strings.Repeat("x", l.pad))
				l.refused.Add(int64(l.w.post(ctx, body) - 1))
				if ctx.Err() != nil {
					return
				}
				wait(ctx, l.pause)
				l.mu.Lock()
				l.acked[sha256.Sum256(body)] = customer(c) + " " + l.text(i)
				l.mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// size is how many messages a conversation has.
func (l *load) size(c int) int {
	if l.sizes != nil {
		return l.sizes[c]
	}
	return l.each
}

// text is the i-th message of a customer.
func (l *load) text(i int) string {
	if l.fails != nil && l.fails(i) {
		return failing + text(i)
	}
	return text(i)
}

func customer(c int) string { return fmt.Sprintf("1666020%04d", c) }
func text(i int) string     { return fmt.Sprintf("message %03d", i) }

// quiet waits until nothing is on its way any more, the platform's statuses
// included.
func (w *world) quiet(limit time.Duration) {
	w.t.Helper()
	w.settled(limit)
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	if err := w.wa.Courier().Flush(ctx); err != nil {
		w.t.Fatalf("statuses are still on their way: %v", err)
	}
	w.settled(limit)
}

// settled waits until the gateway has nothing to do.
func (w *world) settled(limit time.Duration) {
	w.t.Helper()
	var last string
	defer func() {
		if w.t.Failed() {
			w.t.Log("last sums: " + last)
		}
	}()
	w.until(limit, "everything is settled and sent", func() bool {
		var s struct {
			Kept gateway.Sums `json:"kept"`
		}
		if err := w.get("/api/v1/sums", &s); err != nil {
			last = err.Error()
			return false
		}
		last = fmt.Sprint(s.Kept.Lines())
		var pending int64
		for _, a := range s.Kept.Apps {
			pending += a.Pending
		}
		return s.Kept.Payloads.Pending == 0 && pending == 0 && s.Kept.Messages.Waiting == 0
	})
}

// verify stops the gateway and holds the store and the platform's log against
// the promises. It returns how many messages are unknown.
func (l *load) verify() (unknown int) {
	w, t := l.w, l.w.t
	t.Helper()
	w.stop()
	s, err := w.openStore()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	l.everyAnswered(s)
	sums, err := s.Ledger.Recount(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stats, err := s.Archive.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sums.Payloads.Archived = stats.Payloads
	if b := sums.Broken(); len(b) > 0 {
		t.Errorf("equations do not hold: %v", b)
	}
	list, err := s.Ledger.Messages(t.Context(), gateway.MessageUnknown, 1000)
	if err != nil {
		t.Fatal(err)
	}
	l.platform(list)
	return len(list)
}

// openStore opens the store of a gateway that was stopped. A process that another
// test is just starting holds every lock of this one for a moment, until it is a
// program of its own.
func (w *world) openStore() (*sqlite.Store, error) {
	return sqlite.Open(w.t.Context(), filepath.Join(w.dir, "data"), sqlite.Options{Now: time.Now, Log: zap.NewNop(), LockWait: 10 * time.Second})
}

// everyAnswered: what was answered 200 is in the archive byte for byte and in a
// state with a name.
func (l *load) everyAnswered(s *sqlite.Store) {
	t := l.w.t
	t.Helper()
	left := map[[32]byte]string{}
	for k, v := range l.acked {
		left[k] = v
	}
	for after := int64(0); ; {
		page, err := s.Archive.Read(t.Context(), after, 500, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			delete(left, sha256.Sum256(page[i].Body))
			after = page[i].Pos
			st, err := s.Ledger.PayloadState(t.Context(), after)
			if err != nil || st.State == gateway.PayloadPending || st.State == "" {
				t.Errorf("payload %d is in no state: %v %v", after, st, err)
			}
		}
	}
	for _, what := range left {
		t.Errorf("answered 200 and not in the archive: %s", what)
	}
}

// platform: nothing was taken twice, nothing overlapped, the order is right, and
// what is missing is listed as unknown.
func (l *load) platform(unknown []gateway.Message) {
	t := l.w.t
	t.Helper()
	for marker, n := range l.w.wa.CallLog().Accepted() {
		if n > 1 {
			t.Errorf("message %s was taken %d times", marker, n)
		}
	}
	if o := l.w.wa.CallLog().Overlaps(); len(o) > 0 {
		t.Errorf("%d sends to one customer overlap, first %+v", len(o), o[0])
	}
	got := map[string][]string{}
	calls := l.w.wa.Calls()
	slices.SortStableFunc(calls, func(a, b sandbox.Call) int { return a.Start.Compare(b.Start) })
	for i := range calls {
		if calls[i].Accepted {
			got[calls[i].To] = append(got[calls[i].To], calls[i].Text)
		}
	}
	missing := 0
	for c := range l.convs {
		list := got[customer(c)]
		if !slices.IsSortedFunc(list, byNumber) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("%s was answered in the order %v", customer(c), list)
		}
		missing += l.size(c) - len(list)
	}
	if missing > len(unknown)+l.dead {
		t.Errorf("%d replies never reached the platform, but only %d messages are unknown and %d events dead", missing, len(unknown), l.dead)
	}
}

// byNumber compares texts of the load; the longer one has the larger number.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// Every boundary that the code tells is one at which a test ends the process.
func TestBoundariesAreTheCodes(t *testing.T) {
	told := regexp.MustCompile(`oundary\("([a-z._]+)"\)`)
	var code []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range told.FindAllSubmatch(b, -1) {
			code = append(code, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(code)
	list := append(boundaries(), sideBoundaries()...)
	slices.Sort(list)
	if d := gocmp.Diff(list, slices.Compact(code)); d != "" {
		t.Errorf("boundaries (-list +code):\n%s", d)
	}
}

// The process dies at every boundary of the way of a callback, and is started
// again.
func TestKillAtEveryBoundary(t *testing.T) {
	t.Parallel()
	for _, step := range boundaries() {
		for _, n := range []int{1, 7} {
			t.Run(fmt.Sprintf("%s/%d", step, n), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{})
				p := w.start(fmt.Sprintf("%s:%d", step, n))
				// Conversations may move together: a step comes no more often than each
				// has messages.
				l := &load{w: w, convs: 6, each: 4 + n}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				done := make(chan struct{})
				go func() { l.run(ctx); close(done) }()
				select {
				case <-p.done:
				case <-ctx.Done():
					t.Fatalf("never came to %s", step)
				}
				w.start("")
				<-done
				w.up()
				w.quiet(time.Minute)
				// One attempt of each conversation may have been open.
				if unknown := l.verify(); unknown > l.convs {
					t.Errorf("%d unknown messages after one death at %s", unknown, step)
				}
			})
		}
	}
}

// The process dies at random moments under load, again and again.
func TestKillAtRandom(t *testing.T) {
	t.Parallel()
	for i := range *killRandom {
		seed := *killSeed + uint64(i) //nolint:gosec // a small count
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			t.Parallel()
			killAtRandom(t, seed)
		})
	}
}

func killAtRandom(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test's seed
	w := newWorld(t, worldOptions{})
	w.start("")
	w.up()
	l := &load{w: w, convs: 10, each: 12}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	done := make(chan struct{})
	go func() { l.run(ctx); close(done) }()
	kills := 2 + r.IntN(3)
	for range kills {
		wait(ctx, time.Duration(30+r.IntN(700))*time.Millisecond)
		w.kill()
		w.start("")
	}
	<-done
	w.up()
	w.quiet(2 * time.Minute)
	t.Logf("seed %d: %d kills, %d unknown", seed, kills, l.verify())
}
