package media

import (
	"context"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Ledger is the queue of files.
type Ledger interface {
	MediaAccounts(ctx context.Context, now time.Time) (accounts []string, next time.Time, err error)
	DueMedia(ctx context.Context, account string, now time.Time, limit int) ([]gateway.MediaRow, error)
	RetryMedia(ctx context.Context, n int64, tries int, next time.Time) error
	EndMedia(ctx context.Context, e *gateway.MediaEnd) (gateway.RelayResult, error)
}

// Files keeps bytes under the SHA-256 of what they are.
type Files interface {
	Create() (Draft, error)
}

// Draft is a file being written. Keep names it durably; Drop forgets it, and does
// nothing after Keep.
type Draft interface {
	io.Writer
	Size() int64
	Sum() [32]byte
	Keep() (file string, err error)
	Drop()
}

// Source gets the files of one account. Fetch writes at most limit bytes into w
// and returns what the platform told of them; its error is a *gateway.MediaError
// or comes from w.
type Source interface {
	Fetch(ctx context.Context, row *gateway.MediaRow, limit int64, w io.Writer) (gateway.MediaFetched, error)
}

// Options of a Fetcher. All but the numbers and Boundary are needed.
type Options struct {
	Ledger Ledger
	Files  Files
	// Source returns that of an account, nil where it is not configured.
	Source func(platform, account string) Source
	// Applications want notices.
	Applications func() []gateway.Application
	// Room says whether so many bytes may be written now.
	Room func(bytes int64) bool
	// Ended is called after each commit with what it made; it must be quick.
	Ended func(gateway.RelayResult)
	// MaxSize is the most bytes a file may have [100 MiB].
	MaxSize int64
	// Parallel bounds the fetches at one moment [8], PerAccount those of one
	// account [4].
	Parallel, PerAccount int
	Boundary             func(step string)
	Now                  func() time.Time
	Log                  *zap.Logger
}

// Fetcher is the stage. Make it with New, run it with Run on the leader only.
type Fetcher struct {
	o    Options
	kick chan struct{}

	mu     sync.Mutex
	flight map[int64]flight
	landed []int64         // of flight, whose places the next round gives back
	held   map[string]hold // by account
	noRoom time.Time       // the disk is full: nothing begins before
	rest   time.Time       // the ledger failed: nothing begins before
	counts Counts
}

type flight struct {
	account string
	low     bool
}

// hold is an account whose platform refuses it.
type hold struct {
	until time.Time
	next  time.Duration // the wait after another refusal
	code  string
}

// Counts are for metrics: what happened since the start.
type Counts struct {
	Fetched, Bytes int64
	InFlight       int
	// Unavailable by reason, Retries by code class: "passing", "account", "room".
	Unavailable, Retries map[string]int64
}

// New checks nothing and starts nothing.
func New(o Options) *Fetcher {
	if o.MaxSize <= 0 {
		o.MaxSize = 100 << 20
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.PerAccount <= 0 {
		o.PerAccount = 4
	}
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	return &Fetcher{o: o, kick: make(chan struct{}, 1), flight: map[int64]flight{}, held: map[string]hold{},
		counts: Counts{Unavailable: map[string]int64{}, Retries: map[string]int64{}}}
}

// Kick says that a file was queued. It never blocks; a lost kick costs a second.
func (f *Fetcher) Kick() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Counts are those of now.
func (f *Fetcher) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.counts
	c.InFlight = len(f.flight) - len(f.landed)
	c.Unavailable, c.Retries = clone(c.Unavailable), clone(c.Retries)
	return c
}

func clone(m map[string]int64) map[string]int64 {
	out := make(map[string]int64, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Held are the accounts whose platform hands out nothing now, and until when.
func (f *Fetcher) Held() map[string]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]time.Time{}
	for name, h := range f.held {
		if h.until.After(f.o.Now()) {
			out[name] = h.until
		}
	}
	return out
}

// WaitsForRoom says whether fetching waits for the disk.
func (f *Fetcher) WaitsForRoom() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.noRoom.After(f.o.Now())
}

const (
	idlePoll  = time.Second      // a kick that got lost costs this much
	roomPause = 5 * time.Second  // between two looks at a full disk
	holdFirst = 30 * time.Second // an account's first pause, doubled up to
	holdMost  = 15 * time.Minute
)

// Run fetches until ctx ends, then waits for the fetches in flight, which end
// with it. It returns ctx's error; every other failure is logged and tried again.
func (f *Fetcher) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for turn := 0; ctx.Err() == nil; turn++ {
		wait, err := f.round(ctx, &running, turn)
		if err != nil && ctx.Err() == nil {
			f.o.Log.Error("media.failed", zap.Error(err))
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-f.kick:
		case <-t.C:
		}
		t.Stop()
	}
	return ctx.Err()
}

// round starts what may start, and says how long nothing more will be due.
func (f *Fetcher) round(ctx context.Context, running *sync.WaitGroup, turn int) (time.Duration, error) {
	now := f.o.Now()
	f.mu.Lock()
	// Here, before the ledger is read, and not when a fetch ends: what was read
	// before it ended would be fetched again.
	for _, n := range f.landed {
		delete(f.flight, n)
	}
	f.landed = f.landed[:0]
	pause := max(f.noRoom.Sub(now), f.rest.Sub(now))
	f.mu.Unlock()
	if pause > 0 {
		return pause, nil
	}
	accounts, next, err := f.o.Ledger.MediaAccounts(ctx, now)
	if err != nil {
		return idlePoll, err
	}
	for i := range accounts {
		// Another one is first each time, so that no account takes all places.
		account := accounts[(i+turn)%len(accounts)]
		rows, err := f.choose(ctx, account, now)
		if err != nil {
			return idlePoll, err
		}
		for j := range rows {
			row := &rows[j]
			running.Go(func() {
				f.one(ctx, row)
				f.land(row)
			})
		}
	}
	if !next.IsZero() {
		return min(idlePoll, max(next.Sub(now), time.Millisecond)), nil
	}
	return idlePoll, nil
}

// choose takes places for files of an account and returns them.
func (f *Fetcher) choose(ctx context.Context, account string, now time.Time) ([]gateway.MediaRow, error) {
	f.mu.Lock()
	all, own, ownLow, allLow := len(f.flight), 0, 0, 0
	for _, fl := range f.flight {
		if fl.low {
			allLow++
		}
		if fl.account == account {
			own++
			if fl.low {
				ownLow++
			}
		}
	}
	waits := f.held[account].until.After(now)
	f.mu.Unlock()
	free := min(f.o.Parallel-all, f.o.PerAccount-own)
	if free <= 0 {
		return nil, nil
	}
	due, err := f.o.Ledger.DueMedia(ctx, account, now, free+own)
	if err != nil {
		return nil, err
	}
	// Old files leave places for new ones.
	lowFree := min(max(f.o.Parallel/2, 1)-allLow, max(f.o.PerAccount/2, 1)-ownLow)
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []gateway.MediaRow
	for i := range due {
		r := &due[i]
		_, flying := f.flight[r.N]
		switch {
		case flying, len(out) >= free, r.Low && lowFree <= 0:
			continue
		case waits && now.Before(r.Until):
			continue // what has ended meanwhile ends now
		}
		if r.Low {
			lowFree--
		}
		f.flight[r.N] = flight{account: account, low: r.Low}
		out = append(out, *r)
	}
	return out, nil
}

// land gives a place back.
func (f *Fetcher) land(row *gateway.MediaRow) {
	f.mu.Lock()
	f.landed = append(f.landed, row.N)
	f.mu.Unlock()
	f.Kick()
}
