package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

const (
	readPayloads = 100
	readBytes    = 8 << 20
	idlePoll     = time.Second // a wake that got lost costs this much
	retryPause   = 200 * time.Millisecond
)

// Archive is what the relay reads of the archive.
type Archive interface {
	Read(ctx context.Context, after int64, limit, maxBytes int) ([]gateway.Payload, error)
	Get(ctx context.Context, pos int64) (*gateway.Payload, error)
	// Waiting is the number of callbacks that wait for their commit.
	Waiting() int
}

// Ledger is what the relay writes.
type Ledger interface {
	Position(ctx context.Context) (gateway.RelayPosition, error)
	Relay(ctx context.Context, b *gateway.RelayBatch, now time.Time) (gateway.RelayResult, error)
	Again(ctx context.Context, limit int) ([]gateway.AgainRow, error)
	BuryAgain(ctx context.Context, due, now time.Time) (gateway.Reburied, error)
}

// Decoder opens and decodes a payload by the endpoint that took it; an endpoint
// that is not configured any more gives gateway.ErrSealed.
type Decoder interface {
	Decode(p *gateway.Payload) (items []gateway.Item, keyFP string, err error)
}

// Directory knows the configured accounts and applications.
type Directory interface {
	// Account finds the configured account by the platform's id.
	Account(platform, accountID string) (name string, ok bool)
	Applications() []gateway.Application
}

// DefaultMaxContent fits into the 1 MiB that NATS takes by default. Where the
// broker turns out to take less, the raw part is left out when it is published.
const DefaultMaxContent = 960 << 10

// Options of a Relay. All fields but the hooks are required.
type Options struct {
	Archive   Archive
	Ledger    Ledger
	Decoder   Decoder
	Directory Directory
	// Relayed is called after each commit with what it made; it must be quick.
	Relayed func(gateway.RelayResult)
	// Boundary is told each step; tests die there. Nil in production.
	Boundary func(step string)
	// YieldAt and Crowded: while more callbacks than YieldAt wait for their commit
	// and Crowded says that work waits for a core, the relay goes slowly, since
	// taking callbacks goes first. 0 means 8; without Crowded the queue decides
	// alone. Crowded is called by one goroutine, for every batch.
	YieldAt int
	Crowded func() bool
	// Loop stops conversations that turn as fast as machines; the zero value, none.
	Loop gateway.Loop
	// MaxContent tells the most that the content of an event may have, in bytes,
	// so that the broker takes it with its envelope; it is asked for every item.
	// What is longer goes without its raw part; what is still longer is a dead
	// item. 0, and nil, mean that nobody knows yet: DefaultMaxContent.
	MaxContent func() int
	// Relaxed says of a kind that a duplicate is an event of its own. Nil: of none.
	Relaxed func(gateway.Kind) bool
	// MediaLife is how long a media id of an account lives; 0 for one whose files
	// are not fetched. Nil: none are.
	MediaLife func(platform, account string) time.Duration
	// Media tells how fetching the file of an event ended, for its replay: nil
	// when it has not, or there is none. May be nil.
	Media func(ctx context.Context, event string) (*gateway.Media, error)
	Now   func() time.Time
	Log   *zap.Logger
}

// Relay is the stage. Make it with New, run it with Run on the leader only.
type Relay struct {
	o     Options
	kick  chan struct{}
	owed  chan struct{} // dead letters were refused
	kicks atomic.Int64  // nearly all of them are a callback
	rest  atomic.Int64
	own   numbers
	slow  courtesy // of the goroutine of Run
}

// New checks nothing and starts nothing.
func New(o Options) *Relay {
	if o.YieldAt <= 0 {
		o.YieldAt = 8
	}
	if o.MaxContent == nil {
		o.MaxContent = func() int { return 0 }
	}
	if o.Crowded == nil {
		o.Crowded = func() bool { return true }
	}
	if o.Relaxed == nil {
		o.Relaxed = func(gateway.Kind) bool { return false }
	}
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	if o.MediaLife == nil {
		o.MediaLife = func(string, string) time.Duration { return 0 }
	}
	if o.Relayed == nil {
		o.Relayed = func(gateway.RelayResult) {}
	}
	r := &Relay{o: o, kick: make(chan struct{}, 1), owed: make(chan struct{}, 1)}
	r.slow = courtesy{
		waiting: func() int { return r.o.Archive.Waiting() }, crowded: o.Crowded, arrived: r.kicks.Load, now: o.Now,
		at: o.YieldAt, rush: float64(rushPerCore * runtime.GOMAXPROCS(0)), batch: smallBatch, rest: &r.rest,
	}
	return r
}

// Kick says that the archive or the queue of payloads to read again has grown.
// It never blocks; a lost kick costs a second.
func (r *Relay) Kick() {
	r.kicks.Add(1)
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Rest is how long those who work on what was relayed should wait between small
// batches, so that callbacks go first; 0 nearly always.
func (r *Relay) Rest() time.Duration { return time.Duration(r.rest.Load()) }

// Run relays until ctx ends. It returns ctx's error; every other failure is
// logged and tried again.
func (r *Relay) Run(ctx context.Context) error {
	var l *line
	for ctx.Err() == nil {
		if l == nil { // what was committed is in the ledger; read it rather than guess
			pos, err := r.position(ctx)
			if err != nil {
				return err
			}
			l = newLine(pos)
		}
		moved, err := r.round(ctx, l, r.slow.turn(ctx))
		switch {
		case err != nil && ctx.Err() == nil:
			r.o.Log.Error("relay.failed", zap.Int64("after_pos", l.read), zap.Error(err))
			sleep(ctx, retryPause)
			l = nil
		case !moved:
			r.slow.idle()
			r.idle(ctx)
		}
	}
	return ctx.Err()
}

// position asks the ledger until it answers.
func (r *Relay) position(ctx context.Context) (gateway.RelayPosition, error) {
	for {
		pos, err := r.o.Ledger.Position(ctx)
		if err == nil {
			return pos, nil
		}
		if ctx.Err() != nil {
			return pos, ctx.Err()
		}
		r.o.Log.Error("relay.failed", zap.Error(err))
		sleep(ctx, retryPause)
	}
}

// round relays what comes next: new payloads, at most most of them read at a time,
// else those to read again. It says whether there was anything. After an error the
// line is of no use.
func (r *Relay) round(ctx context.Context, l *line, most int) (moved bool, err error) {
	if len(l.list) == 0 {
		if err := r.fill(ctx, l, most); err != nil {
			return false, err
		}
	}
	switch {
	case len(l.list) == 0:
		n, err := r.again(ctx)
		return n > 0, err
	case !l.list[0].large():
		return true, r.inTurn(ctx, l)
	}
	if err := r.fill(ctx, l, max(most, smallBatch)); err != nil { // few beside the slice
		return true, err
	}
	if err := r.overtake(ctx, l); err != nil {
		return true, err
	}
	return true, r.slice(ctx, l.list[0])
}

// again reads queued payloads once more: a key was mended, an account added, a
// dead letter requeued.
func (r *Relay) again(ctx context.Context) (int, error) {
	rows, err := r.o.Ledger.Again(ctx, readPayloads)
	if err != nil {
		return 0, fmt.Errorf("read again queue: %w", err)
	}
	for _, row := range rows {
		p, err := r.o.Archive.Get(ctx, row.Pos)
		if err != nil {
			return 0, fmt.Errorf("read archive again: %w", err)
		}
		rp := r.read(p)
		r.recovered(&rp)
		if row.Item >= 0 {
			rp.Items = only(rp.Items, row.Item)
		}
		b := batcher{of: gateway.RelayBatch{Again: true}, write: r.writer(ctx)}
		if err := b.add(rp); err != nil {
			return 0, err
		}
		if err := b.flush(); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// Read decodes a payload with today's code and keys, as a replay does, and changes
// nothing. Conversations and places are the ledger's to say: Conv and Seq are empty.
// gateway.ErrConflict for one that cannot be decoded.
func (r *Relay) Read(ctx context.Context, p *gateway.Payload) (gateway.RelayedPayload, error) {
	rp := r.read(p)
	if rp.State != "" {
		return rp, fmt.Errorf("payload cannot be replayed, it is %s: %w", rp.State, gateway.ErrConflict)
	}
	return rp, r.knownMedia(ctx, &rp)
}

// Replay reads payloads for a run. It is called by the admin side, in the order
// of pos; running it again for the same run makes nothing twice.
func (r *Relay) Replay(ctx context.Context, run, onlyConv string, p *gateway.Payload) (gateway.RelayResult, error) {
	rp, err := r.Read(ctx, p)
	if err != nil {
		return gateway.RelayResult{}, err
	}
	var sum gateway.RelayResult
	b := batcher{of: gateway.RelayBatch{Run: run, OnlyConv: onlyConv}, write: func(batch *gateway.RelayBatch) error {
		res, err := r.o.Ledger.Relay(ctx, batch, r.o.Now())
		if err != nil {
			return err
		}
		sum.Pending = append(sum.Pending, res.Pending...)
		sum.Events += res.Events
		sum.Duplicates += res.Duplicates
		r.o.Relayed(res)
		return nil
	}}
	if err := b.add(rp); err != nil {
		return sum, err
	}
	return sum, b.flush()
}

// writer writes batches into the ledger.
func (r *Relay) writer(ctx context.Context) func(*gateway.RelayBatch) error {
	return func(batch *gateway.RelayBatch) error {
		if batch.Held == nil {
			r.o.Boundary("relay.decoded")
		} else {
			r.o.Boundary("relay.overtaking")
		}
		batch.Loop = r.o.Loop
		res, err := r.o.Ledger.Relay(ctx, batch, r.o.Now())
		if err != nil {
			return fmt.Errorf("write ledger: %w", err)
		}
		if batch.Held == nil {
			r.o.Boundary("relay.committed")
		} else {
			r.o.Boundary("relay.overtook")
		}
		r.refused(res.Unburied)
		r.o.Relayed(res)
		if r.o.Log.Core().Enabled(zap.DebugLevel) {
			r.o.Log.Debug("event.relayed", zap.Int("payloads", len(batch.Payloads)), zap.Int("events", res.Events),
				zap.Int("duplicates", res.Duplicates), zap.Int("out_of_order", res.OutOfOrder))
		}
		return nil
	}
}

func (r *Relay) idle(ctx context.Context) {
	t := time.NewTimer(idlePoll)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-r.kick:
	case <-t.C:
	}
}

// sleep waits and says whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func only(items []gateway.ItemRow, index int) []gateway.ItemRow {
	for i := range items {
		if items[i].Index == index {
			return items[i : i+1]
		}
	}
	return nil
}

// sealedOrDead maps a decoding error to the payload's state.
func sealedOrDead(err error) (gateway.PayloadState, string) {
	if errors.Is(err, gateway.ErrSealed) {
		return gateway.PayloadSealed, "sealed"
	}
	return gateway.PayloadDead, gateway.ReasonBadPayload
}
