package results

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

const (
	// window is how many results of a receiver are under way, parallel how many of
	// them are being posted.
	window   = 512
	parallel = 8
	page     = 128
	// keepEvery is how often the place is kept while there is work.
	keepEvery  = time.Second
	idlePoll   = time.Second
	firstPause = time.Second
	mostPause  = 5 * time.Minute
	// A result is given up when it is this old, or when so many tries failed while
	// others got through.
	giveUpAfter = 24 * time.Hour
	giveUpTries = 10
)

// line is one receiver at work.
type line struct {
	o     *Options
	r     *Receiver
	log   *zap.Logger
	slots chan struct{}
	kick  chan struct{}

	read int64 // of run's goroutine: how far the changes were taken

	mu          sync.Mutex
	chains      map[string][]gateway.Result // by message: what is to be posted, in order
	open        map[int64]struct{}          // what is not done
	undelivered int                         // given up since the place was kept
	got         int64                       // how many got through
	failing     time.Time
	word        string
}

func (l *line) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

func (l *line) run(ctx context.Context) {
	for {
		var err error
		if l.read, err = l.o.Ledger.ResultsFrom(ctx, l.r.Name); err == nil {
			break
		}
		if !l.failed(ctx, err) {
			return
		}
	}
	var chains sync.WaitGroup
	kept, keptAt := l.read, l.o.Now()
	keep := func(ctx context.Context) {
		n, undelivered := l.place()
		if n == kept && undelivered == 0 {
			return
		}
		if err := l.o.Ledger.KeepResults(ctx, l.r.Name, n, undelivered); err != nil {
			l.failed(ctx, err)
			return
		}
		l.mu.Lock()
		l.undelivered -= undelivered
		l.mu.Unlock()
		kept, keptAt = n, l.o.Now()
	}
	for ctx.Err() == nil {
		more, err := l.take(ctx, &chains)
		if err != nil {
			l.failed(ctx, err)
			continue
		}
		if !more || l.o.Now().Sub(keptAt) >= keepEvery {
			keep(ctx)
		}
		if more {
			continue
		}
		t := time.NewTimer(idlePoll)
		select {
		case <-ctx.Done():
		case <-l.kick:
		case <-t.C:
		}
		t.Stop()
	}
	chains.Wait()
	keep(context.WithoutCancel(ctx))
}

// failed logs, waits and says whether ctx is alive.
func (l *line) failed(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		l.log.Error("results.failed", zap.Error(err))
		pause(ctx, time.Second)
	}
	return ctx.Err() == nil
}

// place is the last change before the first that is not done.
func (l *line) place() (n int64, undelivered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = l.read
	for open := range l.open {
		n = min(n, open-1)
	}
	return n, l.undelivered
}

// take reads on while there is room, and starts a chain for each message that has none.
func (l *line) take(ctx context.Context, chains *sync.WaitGroup) (more bool, err error) {
	l.mu.Lock()
	room := window - len(l.open)
	l.mu.Unlock()
	if room <= 0 {
		return false, nil
	}
	rows, last, err := l.o.Ledger.ResultsAfter(ctx, l.read, min(room, page))
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	more = last > l.read
	l.read = last
	for i := range rows {
		row := &rows[i]
		if !l.r.wants(row) {
			continue
		}
		l.open[row.N] = struct{}{}
		chain, runs := l.chains[row.Message]
		l.chains[row.Message] = append(chain, *row)
		if !runs {
			chains.Go(func() { l.chain(ctx, row.Message) })
		}
	}
	return more, nil
}

// chain posts the results of a message in order; it ends when there are none left, or
// ctx ends.
func (l *line) chain(ctx context.Context, message string) {
	for {
		l.mu.Lock()
		left := l.chains[message]
		if len(left) == 0 {
			delete(l.chains, message)
			l.mu.Unlock()
			return
		}
		row := left[0]
		l.mu.Unlock()
		done, delivered := l.deliver(ctx, &row)
		if !done {
			return
		}
		l.mu.Lock()
		l.chains[message] = l.chains[message][1:]
		delete(l.open, row.N)
		if !delivered {
			l.undelivered++
		}
		l.mu.Unlock()
		l.wake()
	}
}

// deliver posts one result until it is taken or given up; done is false when ctx ended
// before.
func (l *line) deliver(ctx context.Context, row *gateway.Result) (done, delivered bool) {
	body, err := l.body(row)
	if err != nil { // a change always can be written
		l.log.Error("result.given_up", zap.Int64("n", row.N), zap.Error(err))
		return true, false
	}
	since := l.count()
	for try := 1; ; try++ {
		select {
		case <-ctx.Done():
			return false, false
		case l.slots <- struct{}{}:
		}
		l.o.Boundary("results.posting")
		a := l.post(ctx, row, body)
		<-l.slots
		if ctx.Err() != nil && a.Status == 0 {
			return false, false
		}
		if a.Status/100 == 2 {
			l.o.Boundary("results.posted")
			l.through()
			return true, true
		}
		l.stuck(&a)
		if final(a.Status) || l.o.Now().Sub(row.At) > giveUpAfter || try >= giveUpTries && l.count() > since {
			l.log.Warn("result.given_up", zap.Int64("n", row.N), zap.String("message", row.Message), zap.Int("tries", try),
				zap.Int("status", a.Status), zap.String("word", a.Word))
			return true, false
		}
		if !pause(ctx, max(a.RetryAfter, backoff(try))) {
			return false, false
		}
	}
}

// final says that a receiver will never take a result: it answered, and not that it is
// busy.
func final(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status/100 == 4
}

func (l *line) post(ctx context.Context, row *gateway.Result, body []byte) Answer {
	h := http.Header{"Content-Type": {"application/cloudevents+json"}}
	l.r.Keys.Headers(l.id(row), l.o.Now(), body, h.Set)
	return l.o.Post(ctx, l.r.URL, h, body)
}

// id is the same for a result in every try.
func (l *line) id(row *gateway.Result) string { return l.o.IDPrefix + strconv.FormatInt(row.N, 10) }

func (l *line) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got
}

func (l *line) through() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got++
	l.failing, l.word = time.Time{}, ""
}

// stuck notes a failure, for doctor, and logs when it begins.
func (l *line) stuck(a *Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.word = a.Word; a.Status != 0 {
		l.word = "http " + strconv.Itoa(a.Status)
	}
	if l.failing.IsZero() {
		l.failing = l.o.Now()
		l.log.Warn("results.refused", zap.String("word", l.word))
	}
}

// backoff doubles from a second to five minutes, less up to a quarter, so that many do
// not come back at one moment.
func backoff(try int) time.Duration {
	d := min(firstPause<<min(try-1, 10), mostPause)
	return d - time.Duration(rand.Int64N(int64(d/4))) //nolint:gosec // jitter is no secret
}

// pause waits and says whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
