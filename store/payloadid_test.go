package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func TestPayloadID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC)
	last := ""
	for _, pos := range []int64{1, 2, 255, 256, 1 << 40, 1<<63 - 1} {
		id := store.PayloadID(at, pos)
		gotAt, gotPos, err := store.ParsePayloadID(id)
		if err != nil || gotPos != pos || !gotAt.Equal(at) {
			t.Errorf("%s gives %d, %v, %v", id, gotPos, gotAt, err)
		}
		if id <= last {
			t.Errorf("%s does not sort after %s", id, last)
		}
		last = id
	}
	if a, b := store.PayloadID(at, 1<<62), store.PayloadID(at.Add(time.Millisecond), 1); a >= b {
		t.Errorf("%s does not sort before %s", a, b)
	}
	if _, pos, err := store.ParsePayloadID(store.PayloadID(time.Time{}, 7)); err != nil || pos != 7 {
		t.Errorf("without a time: %d, %v", pos, err)
	}
	good := store.PayloadID(at, 77)
	for _, bad := range []string{"", "pl_", good[:len(good)-1], good + "0", "ms_" + good[3:], strings.Replace(good, "R", "S", 1),
		store.PayloadID(at, 0), store.PayloadID(at, -1)} {
		if bad == good {
			continue
		}
		if _, _, err := store.ParsePayloadID(bad); !errors.Is(err, gateway.ErrNotFound) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParsePayloadID(f *testing.F) {
	f.Add(store.PayloadID(time.UnixMilli(1), 1))
	f.Add("pl_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	f.Add("pl_\x00")
	f.Fuzz(func(t *testing.T, s string) {
		at, pos, err := store.ParsePayloadID(s)
		if err == nil && store.PayloadID(at, pos) != s {
			t.Errorf("%q parses, but is %q", s, store.PayloadID(at, pos))
		}
	})
}

func TestSplitURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{
		"sqlite:data":        {"sqlite", "data"},
		"sqlite:/var/lib/x":  {"sqlite", "/var/lib/x"},
		"postgres://h/d":     {"postgres", "postgres://h/d"},
		"postgresql://h/d":   {"postgres", "postgresql://h/d"},
		"":                   {},
		"data":               {},
		"sqlite:":            {},
		"mysql://secret@h/d": {},
	} {
		scheme, rest, err := store.SplitURL(url)
		if want[0] == "" {
			if !errors.Is(err, store.ErrScheme) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v", url, err)
			}
			continue
		}
		if err != nil || scheme != want[0] || rest != want[1] {
			t.Errorf("%q: %q, %q, %v", url, scheme, rest, err)
		}
	}
}
