package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// keepApplications tells the ledger which applications are configured.
func (a *app) keepApplications(ctx context.Context) error {
	removed, err := a.ledger.KeepApplications(ctx, a.dir.apps, a.o.Now())
	if err != nil {
		return err
	}
	for _, name := range removed {
		a.o.Log.Warn("application.removed", zap.String("app", name), zap.String("what_waits", "becomes dropped (removed)"))
	}
	return nil
}

// tendApplications does what is left of it, slice by slice: what waits for an
// application that was removed is dropped, one that begins in the past is given it.
func (a *app) tendApplications(ctx context.Context) error {
	var given, dropped int
	for {
		t, err := a.tend(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			a.o.Log.Error("applications.failed", zap.Error(err))
			wait(ctx, time.Second)
			continue
		}
		given, dropped = given+len(t.Pending), dropped+t.Dropped
		if t.Done {
			if given+dropped > 0 {
				a.o.Log.Info("applications.tended", zap.Int("given", given), zap.Int("dropped", dropped))
			}
			<-ctx.Done()
			return ctx.Err()
		}
		a.o.Boundary("tend.committed")
		wait(ctx, a.rest()) // callbacks go first
	}
}

// tend does one slice. Rows that the relay commits for an application after it has
// come up must not be told before those that came up last.
func (a *app) tend(ctx context.Context) (gateway.Tended, error) {
	a.broker.telling.Lock()
	defer a.broker.telling.Unlock()
	t, err := a.ledger.TendApplications(ctx, a.dir.apps, a.o.Now())
	if err != nil {
		return t, err
	}
	if len(t.Merged) > 0 {
		a.merged(t.Merged)
	}
	a.broker.tell(t.Pending)
	return t, nil
}
