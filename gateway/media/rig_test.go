package media

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// rig is the stage with a queue in memory, files in memory, and a platform whose
// answers a test scripts, in virtual time.
type rig struct {
	t *testing.T
	f *Fetcher

	mu     sync.Mutex
	rows   map[int64]*gateway.MediaRow
	ends   map[int64]*gateway.MediaEnd
	broken error // of EndMedia
	files  map[string]string
	slow   time.Duration // how old what DueMedia read is when it returns
	room   bool
	full   bool // the disk refuses to be written

	answer  func(n int64, w io.Writer) (gateway.MediaFetched, error)
	started []int64
	most    map[string]int // fetches at one moment, by account and ""
	now     map[string]int
	steps   []string
	ended   []gateway.RelayResult
}

func newRig(t *testing.T, change func(*Options)) *rig {
	r := &rig{t: t, rows: map[int64]*gateway.MediaRow{}, ends: map[int64]*gateway.MediaEnd{}, files: map[string]string{}, room: true,
		most: map[string]int{}, now: map[string]int{}}
	r.answer = func(int64, io.Writer) (gateway.MediaFetched, error) {
		return gateway.MediaFetched{MIME: "image/png"}, nil
	}
	o := Options{Ledger: r, Files: memory{r}, Room: func(int64) bool { r.mu.Lock(); defer r.mu.Unlock(); return r.room },
		Source: func(_, account string) Source {
			if account == "nobody" {
				return nil
			}
			return source{r, account}
		},
		Applications: func() []gateway.Application {
			return []gateway.Application{{Name: "bot"}, {Name: "files", Kinds: []gateway.Kind{gateway.KindNotice}}}
		},
		Ended:    func(res gateway.RelayResult) { r.mu.Lock(); r.ended = append(r.ended, res); r.mu.Unlock() },
		Boundary: func(s string) { r.mu.Lock(); r.steps = append(r.steps, s); r.mu.Unlock() },
		Now:      time.Now, Log: zap.NewNop()}
	if change != nil {
		change(&o)
	}
	r.f = New(o)
	return r
}

// run runs the stage for a while of virtual time.
func (r *rig) run(d time.Duration) {
	ctx, cancel := context.WithTimeout(r.t.Context(), d)
	defer cancel()
	if err := r.f.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		r.t.Errorf("Run: %v", err)
	}
}

func (r *rig) add(n int64, account string, low bool) *gateway.MediaRow {
	row := &gateway.MediaRow{N: n, Event: "ev", Platform: "whatsapp", Account: account, Chat: gateway.ChatSingle, ReceivedAt: time.Now(), NextAt: time.Now(),
		Fetch: gateway.Fetch{Low: low, Until: time.Now().Add(7 * 24 * time.Hour)}, Media: gateway.Media{ID: "m", State: gateway.MediaPending}}
	r.mu.Lock()
	r.rows[n] = row
	r.mu.Unlock()
	return row
}

func (r *rig) end(n int64) *gateway.MediaEnd {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ends[n] == nil {
		r.t.Fatalf("file %d has not ended; tries %d", n, r.rows[n].Tries)
	}
	return r.ends[n]
}

// The ledger.

func (r *rig) MediaAccounts(_ context.Context, now time.Time) (due []string, next time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, row := range r.rows {
		switch {
		case r.ends[n] != nil:
		case row.NextAt.After(now):
			if next.IsZero() || row.NextAt.Before(next) {
				next = row.NextAt
			}
		case !slices.Contains(due, row.Account):
			due = append(due, row.Account)
		}
	}
	slices.Sort(due)
	return due, next, nil
}

func (r *rig) DueMedia(_ context.Context, account string, now time.Time, limit int) (out []gateway.MediaRow, err error) {
	if r.slow > 0 {
		defer func() { <-time.After(r.slow) }()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, row := range r.rows {
		if r.ends[n] == nil && row.Account == account && !row.NextAt.After(now) {
			out = append(out, *row)
		}
	}
	slices.SortFunc(out, func(a, b gateway.MediaRow) int {
		low := func(b bool) int {
			if b {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(low(a.Low), low(b.Low)), a.NextAt.Compare(b.NextAt), cmp.Compare(a.N, b.N))
	})
	return out[:min(limit, len(out))], nil
}

func (r *rig) RetryMedia(_ context.Context, n int64, tries int, next time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows[n].Tries, r.rows[n].NextAt = tries, next
	return nil
}

func (r *rig) EndMedia(_ context.Context, e *gateway.MediaEnd) (gateway.RelayResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return gateway.RelayResult{}, r.broken
	}
	if r.ends[e.N] != nil {
		return gateway.RelayResult{}, nil
	}
	r.ends[e.N] = e
	return gateway.RelayResult{Events: 1}, nil
}

// The files.

type memory struct{ r *rig }

func (m memory) Create() (Draft, error) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if m.r.full {
		return nil, gateway.ErrUnavailable
	}
	return &draft{r: m.r}, nil
}

type draft struct {
	r *rig
	b []byte
}

func (d *draft) Write(b []byte) (int, error) {
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	if d.r.full {
		return 0, gateway.ErrUnavailable
	}
	d.b = append(d.b, b...)
	return len(b), nil
}
func (d *draft) Size() int64   { return int64(len(d.b)) }
func (d *draft) Sum() [32]byte { return sha256.Sum256(d.b) }
func (d *draft) Drop()         {}
func (d *draft) Keep() (string, error) {
	sum := d.Sum()
	file := hex.EncodeToString(sum[:])
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	d.r.files[file] = string(d.b)
	return file, nil
}

// The platform.

type source struct {
	r       *rig
	account string
}

func (s source) Fetch(_ context.Context, row *gateway.MediaRow, _ int64, w io.Writer) (gateway.MediaFetched, error) {
	r := s.r
	count := func(by int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, k := range []string{"", s.account, lowKey(row.Low)} {
			r.now[k] += by
			r.most[k] = max(r.most[k], r.now[k])
		}
	}
	r.mu.Lock()
	r.started = append(r.started, row.N)
	r.mu.Unlock()
	count(1)
	defer count(-1)
	return r.answer(row.N, w)
}

func lowKey(low bool) string {
	if low {
		return "low"
	}
	return "new"
}

func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
