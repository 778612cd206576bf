package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// Dead lists dead letters.
func (x adminAPI) Dead(ctx context.Context, q store.DeadQuery) ([]gateway.DeadLetter, error) {
	return x.a.ledger.Dead(ctx, q)
}

// DeadLetter returns one.
func (x adminAPI) DeadLetter(ctx context.Context, id string) (*gateway.DeadLetter, error) {
	return x.a.ledger.DeadLetter(ctx, id)
}

// DeadStats counts them.
func (x adminAPI) DeadStats(ctx context.Context, q store.DeadQuery) (gateway.DeadStats, error) {
	return x.a.ledger.DeadStats(ctx, q)
}

// DeadPlan says what moving them would move.
func (x adminAPI) DeadPlan(ctx context.Context, q store.DeadQuery) (gateway.DeadPlan, error) {
	return x.a.ledger.DeadPlan(ctx, q)
}

// Requeue sets a dead letter moving and wakes whoever has to move it.
func (x adminAPI) Requeue(ctx context.Context, id, by string) error {
	r, err := x.a.ledger.Requeue(ctx, id, by, x.a.o.Now())
	if err == nil {
		x.a.requeued([]gateway.Requeued{r})
	}
	return err
}

// RequeueAll requeues what the query selects.
func (x adminAPI) RequeueAll(ctx context.Context, q store.DeadQuery, by string) (gateway.DeadMoved, error) {
	done, err := x.a.ledger.RequeueAll(ctx, q, by, x.a.o.Now(), func(list []gateway.Requeued) {
		x.a.o.Boundary("requeue.committed") // if we die here, the rest is still open
		x.a.requeued(list)
	})
	x.a.o.Log.Info("dead.requeued", zap.Int("moved", done.Moved), zap.Int("skipped", done.Skipped), zap.String("by", by))
	return done, err
}

// requeued wakes whoever has to move what moves again.
func (a *app) requeued(list []gateway.Requeued) {
	var rows []gateway.Pending
	again := false
	for i := range list {
		r := &list[i]
		if len(r.Merged) > 0 {
			a.merged(r.Merged)
		}
		if r.Pending != nil {
			rows = append(rows, *r.Pending)
		}
		if r.Conv != "" {
			a.sender.Wake(r.Conv)
		}
		again = again || r.Again
	}
	if len(rows) > 0 {
		a.broker.added(rows)
	}
	if again {
		a.relay.Kick()
	}
	a.publisher.Kick()
}

// Drop closes a dead letter for good.
func (x adminAPI) Drop(ctx context.Context, id, by, note string) error {
	return x.a.ledger.Drop(ctx, id, by, note, x.a.o.Now())
}

// DropAll drops what the query selects.
func (x adminAPI) DropAll(ctx context.Context, q store.DeadQuery, by, note string) (gateway.DeadMoved, error) {
	done, err := x.a.ledger.DropAll(ctx, q, by, note, x.a.o.Now())
	x.a.o.Log.Info("dead.dropped", zap.Int("moved", done.Moved), zap.Int("skipped", done.Skipped), zap.String("by", by))
	return done, err
}
