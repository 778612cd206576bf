package relay

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// burialPoll bounds the wait for a letter's next try: the clock may be set forward.
const burialPoll = time.Minute

// endOfTime is after every time at which a letter is due.
func endOfTime() time.Time { return time.Unix(0, 1<<63-1) }

// RunBurials tries dead letters again that the ledger refused, each when it is due, and
// at the beginning whatever is owed: whoever restarts a gateway may have mended it. It
// returns ctx's error. If the process dies after a commit, the letters are written and
// what waited for them goes on at the next start.
func (r *Relay) RunBurials(ctx context.Context) error {
	due := endOfTime()
	for ctx.Err() == nil {
		now := r.o.Now()
		if due.Before(now) {
			due = now
		}
		out, err := r.o.Ledger.BuryAgain(ctx, due, now)
		wait := burialPoll
		switch {
		case err != nil && ctx.Err() == nil:
			r.o.Log.Error("relay.bury_failed", zap.Error(err))
			wait = time.Second
		case err == nil:
			r.reburied(out)
			if due = r.o.Now(); !out.Next.IsZero() {
				wait = min(wait, max(out.Next.Sub(due), 0))
			}
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.owed:
		case <-t.C:
		}
		t.Stop()
		due = time.Time{}
	}
	return ctx.Err()
}

// reburied tells what a try made.
func (r *Relay) reburied(out gateway.Reburied) {
	if out.Refused > 0 {
		r.o.Log.Warn("relay.not_buried", zap.Int("again", out.Refused), zap.Time("next", out.Next))
	}
	if len(out.Buried) == 0 {
		return
	}
	r.o.Boundary("bury.committed")
	r.o.Log.Info("relay.buried", zap.Int("letters", len(out.Buried)), zap.Int("conversations", len(out.Released)))
	r.o.Relayed(gateway.RelayResult{Buried: out.Buried, Released: out.Released})
}

// refused logs the letters of a batch that the ledger refused, and lets them be tried.
func (r *Relay) refused(letters []gateway.DeadLetter) {
	if len(letters) == 0 {
		return
	}
	for i := range letters {
		d := &letters[i]
		r.o.Log.Error("relay.not_buried", zap.String("kind", d.Kind), zap.String("reason", d.Reason), zap.String("payload", d.Payload), zap.Int("item", d.Item))
	}
	select {
	case r.owed <- struct{}{}:
	default:
	}
}
