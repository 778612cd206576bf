package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
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
// and audited, and the same request does the rest.
func (x adminAPI) ChangeMessages(ctx context.Context, r admin.ChangeRequest, by string) (out admin.Changed, err error) {
	targets, err := x.targets(ctx, &r, &out)
	if err != nil {
		return out, err
	}
	at, err := plan(&r, targets, x.a.o.Now())
	if err != nil || r.DryRun {
		return out, err
	}
	for len(targets) > 0 {
		n := min(len(targets), store.MaxChange)
		ch := store.MessageChange{Do: r.Do, Priority: r.Priority}
		for _, t := range targets[:n] {
			ch.Messages = append(ch.Messages, t.id)
		}
		if at != nil {
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

// targets finds the messages that a request means.
func (x adminAPI) targets(ctx context.Context, r *admin.ChangeRequest, out *admin.Changed) (list []target, err error) {
	states := mayBe(r.Do)
	take := func(m *gateway.Message) bool {
		if r.Limit > 0 && len(list) >= r.Limit {
			return false
		}
		list = append(list, target{m.ID, m.Task, m.DueAt})
		if out.Matched++; len(out.Sample) < sampleSize {
			out.Sample = append(out.Sample, *m)
		}
		return true
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

// plan puts messages into the order in which they are changed, and says to which times
// they are moved; nil when none are. They are found by key or by row, and spread, released
// and moved in the order in which they leave.
func plan(r *admin.ChangeRequest, targets []target, now time.Time) ([]time.Time, error) {
	slices.SortFunc(targets, func(a, b target) int { return cmp.Or(a.due.Compare(b.due), strings.Compare(a.id, b.id)) })
	at := times(r, targets, now)
	for _, t := range at {
		if t.After(now.Add(gateway.MaxScheduled)) {
			return nil, invalid("at", "must not lead beyond a year from now")
		}
	}
	inSlices(r, targets, at)
	return at, nil
}

// inSlices puts messages into the order in which they are changed, since one that is due
// may leave between two slices: what is put off goes last first, so that nothing leaves
// in front of what stood before it, and what is let go, or is due sooner, first first.
func inSlices(r *admin.ChangeRequest, targets []target, at []time.Time) {
	if r.Do != store.DeedHold && at == nil {
		return // in the order in which they leave
	}
	type change struct {
		target
		at time.Time
	}
	var later, sooner []change
	for i, t := range targets {
		if r.Do == store.DeedHold {
			later = append(later, change{target: t})
		} else if at[i].After(t.due) {
			later = append(later, change{t, at[i]})
		} else {
			sooner = append(sooner, change{t, at[i]})
		}
	}
	slices.Reverse(later)
	for i, c := range append(later, sooner...) {
		targets[i] = c.target
		if at != nil {
			at[i] = c.at
		}
	}
}

// times are those to which messages are moved; nil when none are. A task keeps together,
// and spread ones keep their order.
func times(r *admin.ChangeRequest, targets []target, now time.Time) []time.Time {
	if r.Do != store.DeedReschedule {
		return nil
	}
	tasks := map[string]time.Time{}
	for _, t := range targets {
		tasks[t.task] = time.Time{}
	}
	begin := r.At
	if begin.Before(now) {
		begin = now
	}
	n, out := 0, make([]time.Time, len(targets))
	for i, t := range targets {
		at := tasks[t.task]
		if at.IsZero() {
			switch {
			case r.Over > 0:
				at = begin.Add(time.Duration(float64(r.Over) * float64(n) / float64(len(tasks))))
			case r.By != 0:
				at = t.due.Add(r.By)
			default:
				at = r.At
			}
			tasks[t.task] = at
			n++
		}
		out[i] = at
	}
	return out
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
