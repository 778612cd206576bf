package main

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// Many messages are changed in slices, and any of them may leave in between: the order
// among them stays what it was, however they were found.
func TestPlanOfAChange(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	due := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	found := []target{{"ms_3", "ms_3", due(1)}, {"ms_1", "ms_1", due(3)}, {"ms_4", "ms_4", due(1)}, {"ms_2", "ms_2", due(2)}} // as by key
	for name, c := range map[string]struct {
		in   admin.ChangeRequest
		ids  []string
		at   []time.Time
		over bool
	}{
		"spread":    {in: admin.ChangeRequest{Do: store.DeedReschedule, Over: 8 * time.Hour}, ids: []string{"ms_1", "ms_2", "ms_4", "ms_3"}, at: []time.Time{due(6), due(4), due(2), due(0)}},
		"later":     {in: admin.ChangeRequest{Do: store.DeedReschedule, By: time.Hour}, ids: []string{"ms_1", "ms_2", "ms_4", "ms_3"}, at: []time.Time{due(4), due(3), due(2), due(2)}},
		"sooner":    {in: admin.ChangeRequest{Do: store.DeedReschedule, By: -time.Hour}, ids: []string{"ms_3", "ms_4", "ms_2", "ms_1"}, at: []time.Time{due(0), due(0), due(1), due(2)}},
		"to a time": {in: admin.ChangeRequest{Do: store.DeedReschedule, At: due(2)}, ids: []string{"ms_4", "ms_3", "ms_2", "ms_1"}, at: []time.Time{due(2), due(2), due(2), due(2)}},
		"hold":      {in: admin.ChangeRequest{Do: store.DeedHold}, ids: []string{"ms_1", "ms_2", "ms_4", "ms_3"}},
		"release":   {in: admin.ChangeRequest{Do: store.DeedRelease}, ids: []string{"ms_3", "ms_4", "ms_2", "ms_1"}},
		"cancel":    {in: admin.ChangeRequest{Do: store.DeedCancel}, ids: []string{"ms_3", "ms_4", "ms_2", "ms_1"}},
		"too late":  {in: admin.ChangeRequest{Do: store.DeedReschedule, By: 366*24*time.Hour - 2*time.Hour}, over: true},
	} {
		list := slices.Clone(found)
		at, err := plan(&c.in, list, now)
		var wrong *admin.InvalidError
		if errors.As(err, &wrong) != c.over {
			t.Errorf("%s: %v", name, err)
		}
		if c.over {
			continue
		}
		var ids []string
		for _, x := range list {
			ids = append(ids, x.id)
		}
		if !slices.Equal(ids, c.ids) || !slices.EqualFunc(at, c.at, time.Time.Equal) {
			t.Errorf("%s: %v at %v, want %v at %v", name, ids, at, c.ids, c.at)
		}
	}
}
