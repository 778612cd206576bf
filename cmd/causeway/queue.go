package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

const (
	// lookFor bounds how long one request for a list looks: among 100,000 messages that
	// are not meant it ends with an empty page, and says where to go on.
	lookFor = 4 * time.Millisecond
	// sampleSize is how many messages a change shows.
	sampleSize = 10
)

// FindMessages lists messages: pages of the ledger until there are enough.
func (x adminAPI) FindMessages(ctx context.Context, q store.MessageQuery) (out store.MessagePage, err error) {
	for began := time.Now(); ; {
		page, err := x.a.ledger.FindMessages(ctx, q)
		if errors.Is(err, gateway.ErrNotFound) {
			return out, invalid("after", "must be next of a page of the same list")
		}
		if err != nil {
			return out, err
		}
		out.Messages, out.Next = append(out.Messages, page.Messages...), page.Next
		if q.After, q.Limit = page.Next, q.Limit-len(page.Messages); page.Next == "" || q.Limit <= 0 || time.Since(began) >= lookFor {
			break
		}
	}
	return out, nil
}

// mayBe are the states in which something can be done to a message.
func mayBe(do store.MessageDeed) []gateway.MessageState {
	switch do {
	case store.DeedReschedule, store.DeedHold:
		return []gateway.MessageState{gateway.MessageWaiting}
	case store.DeedRelease:
		return []gateway.MessageState{gateway.MessageHeld}
	case store.DeedCancel, store.DeedPriority:
	}
	return []gateway.MessageState{gateway.MessageWaiting, gateway.MessageHeld}
}

// target is a message that something is to be done to.
type target struct {
	id, task string
	due      time.Time
}

// ChangeMessages does one thing to many messages. Whom it means is found out first, by
// reading; then it is done in slices, each looking again, so that what left meanwhile
// is skipped. If the process dies in between, the slices that were committed are done
// and audited, and the same request does the rest: what it changes is a state or a time
// that it names, or, where it counts from where messages stand, under a key by which the
// ledger knows which of them it has moved.
func (x adminAPI) ChangeMessages(ctx context.Context, r admin.ChangeRequest, by string) (out admin.Changed, err error) {
	now := x.a.o.Now()
	mv, err := x.move(ctx, &r, by, now)
	if err != nil {
		return out, err
	}
	if r.Over > 0 && mv.N > 0 {
		now = mv.At // a spread asked for again begins where it began
	}
	if r.Over == 0 {
		out.Before = len(mv.Messages)
	}
	targets, err := x.targets(ctx, &r, mv.Messages, &out)
	if err != nil {
		return out, err
	}
	at, err := plan(&r, targets, now)
	if err != nil || r.DryRun {
		return out, err
	}
	for len(targets) > 0 {
		n := min(len(targets), store.MaxChange)
		ch := store.MessageChange{Do: r.Do, By: r.By, Move: mv.N, Priority: r.Priority}
		for _, t := range targets[:n] {
			ch.Messages = append(ch.Messages, t.id)
		}
		if at != nil && r.By == 0 {
			ch.At = at[:n]
		}
		x.a.o.Boundary("queue.changing")
		done, err := x.a.ledger.ChangeMessages(ctx, ch, by, x.a.o.Now())
		if err != nil {
			return out, err
		}
		x.a.o.Boundary("queue.changed")
		out.Changed, out.Skipped = out.Changed+done.Changed, out.Skipped+done.Skipped
		x.a.sender.Wake(done.Convs...)
		x.a.publisher.Kick()
		targets = targets[done.Taken:]
		if at != nil {
			at = at[done.Taken:]
		}
	}
	x.a.o.Log.Info("queue.changed", zap.String("do", string(r.Do)), zap.Int("matched", out.Matched), zap.Int("changed", out.Changed),
		zap.Int("skipped", out.Skipped), zap.String("by", by))
	return out, nil
}

// move finds or begins what a key stands for.
func (x adminAPI) move(ctx context.Context, r *admin.ChangeRequest, by string, now time.Time) (store.Move, error) {
	switch {
	case r.Key == "":
		return store.Move{}, nil
	case !r.DryRun:
		return x.a.ledger.BeginMove(ctx, r.Key, r.Digest, by, now)
	}
	mv, err := x.a.ledger.Move(ctx, r.Key, r.Digest)
	if errors.Is(err, gateway.ErrNotFound) {
		err = nil
	}
	return mv, err
}

// targets finds the messages that a request means. moved are those that it has moved
// before: a spread places them again among the others, at the same times; any other leaves
// them alone, and counts them among the most that it moves.
func (x adminAPI) targets(ctx context.Context, r *admin.ChangeRequest, moved []string, out *admin.Changed) (list []target, err error) {
	states := mayBe(r.Do)
	known, left := map[string]bool{}, 0
	for _, id := range moved {
		known[id] = true
	}
	if r.Over == 0 {
		left = len(moved)
	}
	take := func(m *gateway.Message) bool {
		if r.Limit > 0 && left+len(list) >= r.Limit {
			return false
		}
		if known[m.ID] {
			return true
		}
		list = append(list, target{m.ID, m.Task, m.DueAt})
		if out.Matched++; len(out.Sample) < sampleSize {
			out.Sample = append(out.Sample, *m)
		}
		return true
	}
	if r.Over > 0 {
		again, err := x.waiting(ctx, moved)
		if err != nil {
			return nil, err
		}
		list, out.Matched = again, len(again)
	}
	if len(r.Messages) > 0 {
		named, err := x.a.ledger.NamedMessages(ctx, r.Messages)
		out.Skipped = len(r.Messages) - len(named)
		for i := range named {
			if m := &named[i]; slices.Contains(states, m.State) {
				take(m)
			} else {
				out.Skipped++
			}
		}
		return list, err
	}
	if s := r.Query.State; s != "" {
		if !slices.Contains(states, s) {
			return nil, invalid("filter.state", "cannot be this for %s", r.Do)
		}
		states = []gateway.MessageState{s}
	}
	for _, state := range states {
		q := r.Query
		q.State, q.Limit = state, 1000
		for more := true; more; more = q.After != "" {
			page, err := x.a.ledger.FindMessages(ctx, q)
			if err != nil {
				return nil, err
			}
			for i := range page.Messages {
				if !take(&page.Messages[i]) {
					return list, nil
				}
			}
			q.After = page.Next
		}
	}
	return list, nil
}

// waiting are those of some messages that wait still.
func (x adminAPI) waiting(ctx context.Context, ids []string) (list []target, err error) {
	for page := range slices.Chunk(ids, 1000) {
		named, err := x.a.ledger.NamedMessages(ctx, page)
		if err != nil {
			return nil, err
		}
		for i := range named {
			if m := &named[i]; m.State == gateway.MessageWaiting {
				list = append(list, target{m.ID, m.Task, m.DueAt})
			}
		}
	}
	return list, nil
}

// ResolveMessage settles an unknown message by a person's word.
func (x adminAPI) ResolveMessage(ctx context.Context, r store.Resolve, by string) error {
	conv, err := x.a.ledger.ResolveMessage(ctx, r, by, x.a.o.Now())
	if err != nil {
		return err
	}
	x.a.sender.Wake(conv)
	x.a.publisher.Kick()
	x.a.o.Log.Info("message.resolved", zap.String("message", r.Message), zap.String("conv", conv), zap.Bool("again", r.Again), zap.String("by", by))
	return nil
}
