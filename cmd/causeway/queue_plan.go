package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

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
