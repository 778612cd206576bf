package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/testdata/schema"
)

// publicHandler is the front door over this app's endpoints and archive.
func (a *app) publicHandler() (http.Handler, error) {
	metrics, err := handlers.NewMetrics(a.registry)
	if err != nil {
		return nil, err
	}
	return handlers.NewRouter(handlers.Options{
		Endpoint:       a.dir.endpoint,
		ClientCerts:    a.clientCerts(),
		Archive:        frontArchive{a.archive, a.o.Boundary, a.relay.Kick, &a.ready},
		Ready:          a.ready.ok,
		Limits:         a.o.Config.HandlerLimits(),
		Log:            a.o.Log,
		Metrics:        metrics,
		Now:            a.o.Now,
		Schemas:        schema.Files(),
		TrustedProxies: a.o.Config.TrustedProxies,
	})
}

// frontArchive is the archive as the front door uses it: it wakes the relay and
// notes whether callbacks are taken.
type frontArchive struct {
	store.Archive
	boundary func(string)
	kick     func()
	ready    *readyProbe
}

// Append is for handlers.Archive.
func (f frontArchive) Append(ctx context.Context, p *gateway.Payload) error {
	f.boundary("ingest.verified")
	if err := f.Archive.Append(ctx, p); err != nil {
		f.ready.suspect()
		return err
	}
	f.boundary("ingest.archived")
	f.kick()
	return nil
}

// readyProbe knows whether the archive takes callbacks, without asking it on
// every request of a load balancer.
type readyProbe struct {
	good  atomic.Bool
	doubt atomic.Bool
}

func (r *readyProbe) ok() bool { return r.good.Load() }

// suspect makes the next probe come at once.
func (r *readyProbe) suspect() { r.doubt.Store(true) }

const probeEvery = 2 * time.Second

// probe asks the archive whether it takes rows, every two seconds. A failure is
// shown by readyz until a row was taken again. It also looks at the room left.
func (a *app) probe(ctx context.Context) error {
	for {
		a.room.check(a.o.Config.Store.Dir(), int64(a.o.Config.Store.Reserve))
		err := a.archive.Probe(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.ready.doubt.Store(false)
		if was := a.ready.good.Swap(err == nil); was != (err == nil) {
			if err != nil {
				a.o.Log.Error("archive.unavailable", zap.Error(err))
			} else {
				a.o.Log.Info("archive.ready")
			}
		}
		for left := probeEvery; left > 0 && !a.ready.doubt.Load(); left -= probeEvery / 10 {
			if !wait(ctx, probeEvery/10) {
				return ctx.Err()
			}
		}
	}
}

// wait waits and says whether ctx is still alive.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// merged tells of conversations that became one: the gates, and the sender, since
// messages for later may have moved.
func (a *app) merged(merges []gateway.Merge) {
	a.broker.merged(merges)
	for _, m := range merges {
		a.sender.Wake(m.Into)
	}
}

// rest lets those behind the relay go slowly when it does.
func (a *app) rest() time.Duration { return a.relay.Rest() }

// relayed hands on what a transaction of the relay made.
func (a *app) relayed(r gateway.RelayResult) {
	a.o.Relayed(r)
	if len(r.Merged) > 0 {
		a.merged(r.Merged)
	}
	if len(r.Braked) > 0 {
		a.brakes.learned(r.Braked) // before what is to be offered
	}
	a.brakes.ended(r.Released)
	if len(r.Pending) > 0 {
		a.broker.added(r.Pending)
		heardFrom(r.Pending, a.sender.Heard)
	}
	if r.Events > 0 {
		a.publisher.Kick()
	}
	if r.States > 0 {
		a.publisher.KickStates()
	}
	if r.Parked > 0 || r.Ended > 0 {
		a.judge.Kick()
	}
	if r.Media > 0 {
		a.fetcher.Kick()
	}
	a.tailRelayed(r)
}
