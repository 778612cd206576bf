package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// replays reads archived payloads for runs, one run after another. The ledger
// holds which runs are open, so there is no queue to lose: a run that a restart
// cut short is read again from its beginning, and every event of it exists once,
// since its key is the event and the run. Where an operator sees it: the run's
// start in the audit, "replay.done" or "replay.failed" in the log.
type replays struct {
	a    *app
	kick chan struct{}

	mu    sync.Mutex
	asked map[string]int // by run: how often it was asked for in this process
}

const (
	replayPage   = 500
	replayRuns   = 100             // read of the ledger at a time
	replayPause  = 5 * time.Second // before runs that failed are read again; doubles
	replayLonger = 5 * time.Minute
)

func newReplays(a *app) *replays {
	return &replays{a: a, kick: make(chan struct{}, 1), asked: map[string]int{}}
}

// run works through the open runs until ctx ends.
func (r *replays) run(ctx context.Context) error {
	pause := replayPause
	for ctx.Err() == nil {
		wait := time.Hour // a kick comes first
		if r.round(ctx) {
			pause = replayPause
		} else {
			wait, pause = pause, min(2*pause, replayLonger)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.kick:
		case <-t.C:
		}
		t.Stop()
	}
	return ctx.Err()
}

// round reads every open run once; false when one of them failed, or the ledger.
func (r *replays) round(ctx context.Context) (ok bool) {
	asked := r.askedNow()
	runs, err := r.a.ledger.OpenRuns(ctx, replayRuns)
	if err != nil {
		if ctx.Err() == nil {
			r.a.o.Log.Error("replay.failed", zap.Error(err))
		}
		return false
	}
	ok = len(runs) < replayRuns // else there may be more
	for i := range runs {
		n, err := r.work(ctx, &runs[i])
		if err == nil {
			err = r.end(ctx, runs[i].ID, asked[runs[i].ID])
		}
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			r.a.o.Log.Error("replay.failed", zap.String("run", runs[i].ID), zap.Int("payloads", n), zap.Error(err))
			ok = false
		default:
			r.a.o.Log.Info("replay.done", zap.String("run", runs[i].ID), zap.Int("payloads", n))
		}
	}
	return ok
}

// work hands out what a run reads. It ends at the run's bound.
func (r *replays) work(ctx context.Context, run *gateway.ReplayRun) (payloads int, err error) {
	err = r.each(ctx, run, func(p *gateway.Payload) error {
		r.a.o.Boundary("replay.read")
		_, err := r.a.relay.Replay(ctx, run.ID, run.Conv, p)
		switch {
		case errors.Is(err, gateway.ErrConflict): // sealed or dead: nothing to hand out
		case err != nil:
			return err
		default:
			payloads++
		}
		r.a.o.Boundary("replay.relayed")
		return nil
	})
	return payloads, err
}

// each reads what a run names, in order, up to its bound.
func (r *replays) each(ctx context.Context, run *gateway.ReplayRun, do func(*gateway.Payload) error) error {
	next, err := r.pages(ctx, run)
	if err != nil {
		return err
	}
	var after int64
	for {
		list, err := next(ctx, after)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, pos := range list {
			if pos > run.UpTo {
				return nil
			}
			after = pos
			p, err := r.a.archive.Get(ctx, pos)
			if err != nil {
				return err
			}
			if err := do(p); err != nil {
				return err
			}
		}
	}
}

// end closes a run, unless it was asked for again since it was read: somebody
// may have mended a key meanwhile and waits for what was sealed.
func (r *replays) end(ctx context.Context, run string, asked int) error {
	r.a.o.Boundary("replay.ending")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked[run] != asked {
		return nil // a kick is waiting
	}
	delete(r.asked, run)
	return r.a.ledger.EndRun(ctx, run, r.a.o.Now())
}

func (r *replays) askedNow() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.asked)
}

// start checks a request and records the run; the rest is run's.
func (r *replays) start(ctx context.Context, q admin.ReplayRequest, by string) (admin.ReplayStarted, error) {
	if q.Sealed {
		return r.sealed(ctx, q.Endpoint, by)
	}
	run, err := r.asks(ctx, q)
	if err != nil {
		return admin.ReplayStarted{}, err
	}
	run.By, run.At = by, r.a.o.Now()
	count := int64(-1)
	switch {
	case run.Pos > 0:
		count = 1
	case run.Conv == "":
		list, err := r.ranged(ctx, &run)
		if err != nil {
			return admin.ReplayStarted{}, err
		}
		count = int64(len(list))
	}
	started, err := r.record(ctx, run)
	if err != nil {
		return admin.ReplayStarted{}, err
	}
	if !started {
		count = -1 // it reads what it was first asked for
	}
	return admin.ReplayStarted{Run: run.ID, Started: started, Payloads: count}, nil
}

// record writes the run down and wakes run.
func (r *replays) record(ctx context.Context, run gateway.ReplayRun) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	started, err := r.a.ledger.StartRun(ctx, run)
	if err != nil {
		return false, err
	}
	r.asked[run.ID]++
	select {
	case r.kick <- struct{}{}:
	default:
	}
	return started, nil
}

// asks makes the run of a request: what it reads, and how far.
func (r *replays) asks(ctx context.Context, q admin.ReplayRequest) (run gateway.ReplayRun, err error) {
	at, err := r.a.ledger.Position(ctx)
	if err != nil {
		return run, err
	}
	run = gateway.ReplayRun{ID: q.Run, HoldReplies: !q.SendReplies, UpTo: at.Pos}
	if run.ID == "" {
		run.ID = "run_" + ulid.Make().String()
	}
	switch {
	case q.Payload != "":
		received, pos, err := store.ParsePayloadID(q.Payload)
		if err != nil {
			return run, err
		}
		if p, err := r.a.archive.Get(ctx, pos); err != nil || p.ReceivedAt.UnixMilli() != received.UnixMilli() {
			return run, fmt.Errorf("payload: %w", gateway.ErrNotFound)
		}
		run.Pos, run.UpTo = pos, max(pos, at.Pos)
	case q.Conv != "":
		if _, err := r.a.ledger.Conversation(ctx, q.Conv, 1); err != nil {
			return run, err
		}
		run.Conv = q.Conv
	default:
		run.Since, run.Until, run.Endpoint = *q.Since, *q.Until, q.Endpoint
	}
	run.What = q.Target()
	return run, nil
}

// pages returns how to read a run's positions after one, in order.
func (r *replays) pages(ctx context.Context, run *gateway.ReplayRun) (func(context.Context, int64) ([]int64, error), error) {
	switch {
	case run.Pos > 0:
		return paged([]int64{run.Pos}), nil
	case run.Conv != "":
		return func(ctx context.Context, after int64) ([]int64, error) {
			return r.a.ledger.ConversationPayloads(ctx, run.Conv, after, replayPage)
		}, nil
	}
	list, err := r.ranged(ctx, run)
	return paged(list), err
}

// ranged lists the positions of a run over a range of time, in order.
func (r *replays) ranged(ctx context.Context, run *gateway.ReplayRun) ([]int64, error) {
	var list []int64
	q := store.PayloadQuery{Before: run.UpTo + 1, Since: run.Since, Until: run.Until, Endpoint: run.Endpoint, Limit: replayPage}
	for {
		rows, next, err := r.a.archive.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			list = append(list, rows[i].Pos)
		}
		if next == 0 {
			break
		}
		q.Before = next
	}
	slices.Reverse(list)
	return list, nil
}

// sealed queues sealed payloads to be read again; those that open become events
// of their own.
func (r *replays) sealed(ctx context.Context, endpoint, by string) (admin.ReplayStarted, error) {
	var after, n int64
	for {
		list, err := r.a.ledger.Sealed(ctx, endpoint, after, replayPage)
		if err != nil {
			return admin.ReplayStarted{}, err
		}
		if len(list) == 0 {
			break
		}
		rows := make([]gateway.AgainRow, len(list))
		for i, pos := range list {
			rows[i] = gateway.AgainRow{Pos: pos, Item: -1, Reason: "sealed"}
		}
		if err := r.a.ledger.ReadAgain(ctx, rows, by, r.a.o.Now()); err != nil {
			return admin.ReplayStarted{}, err
		}
		n += int64(len(list))
		after = list[len(list)-1]
	}
	r.a.relay.Kick()
	return admin.ReplayStarted{Started: true, Payloads: n}, nil
}

// paged hands a sorted list out in pages.
func paged(list []int64) func(context.Context, int64) ([]int64, error) {
	return func(_ context.Context, after int64) ([]int64, error) {
		for len(list) > 0 && list[0] <= after {
			list = list[1:]
		}
		return list[:min(len(list), replayPage)], nil
	}
}
