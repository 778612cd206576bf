package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// replays reads archived payloads for runs, one run after another. A run is
// recorded before its first payload; asking for the same run again goes on with
// it, since every event exists once per run.
type replays struct {
	a     *app
	queue chan replayOrder

	mu   sync.Mutex
	upTo map[string]int64 // by run: what was relayed when it was first asked for
}

type replayOrder struct {
	run  string
	conv string
	// upTo is the last position of the run: what arrives while it waits or runs
	// is live and must not be handed out a second time.
	upTo int64
	// next returns the positions after one, in order.
	next func(ctx context.Context, after int64) ([]int64, error)
}

const replayPage = 500

func newReplays(a *app) *replays {
	return &replays{a: a, queue: make(chan replayOrder, 64), upTo: map[string]int64{}}
}

// run works through the orders until ctx ends.
func (r *replays) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case o := <-r.queue:
			n, err := r.work(ctx, o)
			if err != nil && ctx.Err() == nil {
				r.a.o.Log.Error("replay.failed", zap.String("run", o.run), zap.Int("payloads", n), zap.Error(err))
				continue
			}
			r.a.o.Log.Info("replay.done", zap.String("run", o.run), zap.Int("payloads", n))
		}
	}
}

func (r *replays) work(ctx context.Context, o replayOrder) (payloads int, err error) {
	var after int64
	for {
		list, err := o.next(ctx, after)
		if err != nil || len(list) == 0 {
			return payloads, err
		}
		for _, pos := range list {
			if pos > o.upTo {
				return payloads, nil
			}
			after = pos
			p, err := r.a.archive.Get(ctx, pos)
			if err != nil {
				return payloads, err
			}
			_, err = r.a.relay.Replay(ctx, o.run, o.conv, p)
			switch {
			case errors.Is(err, gateway.ErrConflict): // sealed or dead: nothing to hand out
			case err != nil:
				return payloads, err
			default:
				payloads++
			}
		}
	}
}

// start checks a request, records the run and queues it.
func (r *replays) start(ctx context.Context, q admin.ReplayRequest, by string) (admin.ReplayStarted, error) {
	if q.Sealed {
		return r.sealed(ctx, q.Endpoint, by)
	}
	o, what, count, err := r.order(ctx, q)
	if err != nil {
		return admin.ReplayStarted{}, err
	}
	now := r.a.o.Now()
	if o.run == "" {
		o.run = "run_" + ulid.Make().String()
	}
	if o.upTo, err = r.bound(ctx, o); err != nil {
		return admin.ReplayStarted{}, err
	}
	started, err := r.a.ledger.StartRun(ctx, gateway.ReplayRun{ID: o.run, By: by, At: now, What: what, HoldReplies: !q.SendReplies})
	if err != nil {
		return admin.ReplayStarted{}, err
	}
	select {
	case r.queue <- o:
		return admin.ReplayStarted{Run: o.run, Started: started, Payloads: count}, nil
	default:
		return admin.ReplayStarted{}, fmt.Errorf("too many replays at once: %w", gateway.ErrUnavailable)
	}
}

// bound returns the last position of a run. One that is asked for again in this
// process keeps the bound it had.
func (r *replays) bound(ctx context.Context, o replayOrder) (int64, error) {
	at, err := r.a.ledger.Position(ctx)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	upTo, known := r.upTo[o.run]
	if !known {
		upTo = max(at.Pos, o.upTo)
		r.upTo[o.run] = upTo
	}
	return upTo, nil
}

func (r *replays) order(ctx context.Context, q admin.ReplayRequest) (o replayOrder, what string, count int64, err error) {
	o = replayOrder{run: q.Run, conv: q.Conv}
	switch {
	case q.Payload != "":
		at, pos, err := store.ParsePayloadID(q.Payload)
		if err != nil {
			return o, "", 0, err
		}
		if p, err := r.a.archive.Get(ctx, pos); err != nil || p.ReceivedAt.UnixMilli() != at.UnixMilli() {
			return o, "", 0, fmt.Errorf("payload: %w", gateway.ErrNotFound)
		}
		o.next, o.upTo = once(pos), pos
		return o, "payload " + q.Payload, 1, nil
	case q.Conv != "":
		if _, err := r.a.ledger.Conversation(ctx, q.Conv, 1); err != nil {
			return o, "", 0, err
		}
		o.next = func(ctx context.Context, after int64) ([]int64, error) {
			return r.a.ledger.ConversationPayloads(ctx, q.Conv, after, replayPage)
		}
		return o, "conversation " + q.Conv, -1, nil
	default:
		list, err := r.ranged(ctx, *q.Since, *q.Until, q.Endpoint)
		if err != nil {
			return o, "", 0, err
		}
		o.next = pages(list)
		what = fmt.Sprintf("range %s to %s %s", q.Since.UTC().Format(time.RFC3339), q.Until.UTC().Format(time.RFC3339), q.Endpoint)
		return o, what, int64(len(list)), nil
	}
}

// ranged lists the positions of relayed payloads in a range of time, in order.
func (r *replays) ranged(ctx context.Context, since, until time.Time, endpoint string) ([]int64, error) {
	at, err := r.a.ledger.Position(ctx)
	if err != nil {
		return nil, err
	}
	var list []int64
	q := store.PayloadQuery{Before: at.Pos + 1, Since: since, Until: until, Endpoint: endpoint, Limit: replayPage}
	for {
		rows, err := r.a.archive.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			list = append(list, rows[i].Pos)
		}
		if len(rows) < q.Limit {
			break
		}
		q.Before = rows[len(rows)-1].Pos
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
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

func once(pos int64) func(context.Context, int64) ([]int64, error) {
	return pages([]int64{pos})
}

// pages hands a sorted list out in pages.
func pages(list []int64) func(context.Context, int64) ([]int64, error) {
	return func(_ context.Context, after int64) ([]int64, error) {
		for len(list) > 0 && list[0] <= after {
			list = list[1:]
		}
		return list[:min(len(list), replayPage)], nil
	}
}
