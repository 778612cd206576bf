package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// disorder holds the calls of all bots against promise 3: events of a conversation
// begin one after another, none is left out, none comes after a later one, and no
// two run at once. A process that stood still is the stated exception: its call
// may overlap that of the worker its event was given to.
func disorder(calls []handled) (found []string) {
	byConv := map[string][]handled{}
	for _, h := range calls {
		byConv[h.Conv] = append(byConv[h.Conv], h)
	}
	for conv, list := range byConv {
		slices.SortStableFunc(list, func(a, b handled) int { return a.Begin.Compare(b.Begin) })
		say := func(format string, args ...any) {
			found = append(found, conv+": "+fmt.Sprintf(format, args...))
		}
		var highest int64
		for i := range list {
			h := &list[i]
			switch {
			case h.Seq < highest:
				say("%d began after %d", h.Seq, highest)
			case h.Seq > highest+1:
				say("%d began, and the one before was %d", h.Seq, highest)
			}
			highest = max(highest, h.Seq)
			for j := range list[:i] {
				before := &list[j]
				if !before.Frozen && !h.Frozen && (before.End.IsZero() || before.End.After(h.Begin)) {
					say("%d and %d at once", before.Seq, h.Seq)
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// The checker itself finds what must not be.
func TestDisorderIsSeen(t *testing.T) {
	call := func(seq int64, begin, end int) handled {
		h := handled{Conv: "c", Seq: seq, Begin: time.UnixMilli(int64(begin))}
		if end > 0 {
			h.End = time.UnixMilli(int64(end))
		}
		return h
	}
	frozen := func(h handled) handled { h.Frozen = true; return h }
	for _, c := range []struct {
		name  string
		calls []handled
		want  string
	}{
		{"in order", []handled{call(2, 20, 30), call(1, 1, 10)}, ""},
		{"again after a death", []handled{call(1, 1, 5), call(1, 10, 20), call(2, 30, 40)}, ""},
		{"overtaken", []handled{call(1, 1, 5), call(2, 10, 20), call(3, 21, 22), call(2, 30, 40)}, "c: 2 began after 3"},
		{"left out", []handled{call(1, 1, 5), call(3, 10, 20)}, "c: 3 began, and the one before was 1"},
		{"first left out", []handled{call(2, 1, 5)}, "c: 2 began, and the one before was 0"},
		{"at once", []handled{call(1, 1, 15), call(2, 10, 20)}, "c: 1 and 2 at once"},
		{"twice at once", []handled{call(1, 1, 0), call(1, 10, 20)}, "c: 1 and 1 at once"},
		{"while it stood still", []handled{frozen(call(1, 1, 50)), call(1, 10, 20), call(2, 21, 30)}, ""},
		{"late from a process that stood still", []handled{frozen(call(1, 40, 50)), call(1, 10, 20), call(2, 21, 30)}, "c: 1 began after 2"},
	} {
		if got := strings.Join(disorder(c.calls), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
