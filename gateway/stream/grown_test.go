package stream_test

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway/stream"
)

// A stream that lost its tail and grew past our position again is told by the
// time of the message that stands there now.
func TestGrownAgain(t *testing.T) {
	r := newRig(t)
	answerAs(r, 1)
	str, err := jet(t, r).Stream(r.ctx(), stream.ReplyStream)
	if err != nil {
		t.Fatal(err)
	}
	m, err := str.GetMsg(r.ctx(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		seq    uint64
		stored time.Time
		want   bool
	}{
		"the same message": {1, m.Time, false},
		"another one":      {1, m.Time.Add(-time.Second), true},
		"nothing seen yet": {1, time.Time{}, false},
		"gone in a purge":  {7, m.Time, false},
	} {
		if got, err := stream.GrownAgain(r.ctx(), r.s, c.seq, c.stored); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
