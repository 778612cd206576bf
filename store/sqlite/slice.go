package sqlite

import (
	"context"
	"time"
)

// slicer sizes the transactions of a long deed, so that the writer is soon free for
// others: each ends after most rows or sliceTime, whichever comes first, and most
// follows what the ones before took. Rows are few even on a machine that is quick: what
// a transaction costs beside its own work (its pages are written at the commit) grows
// with them, and is not seen before.
type slicer struct {
	most  int
	begun time.Time
}

const (
	sliceTime = 10 * time.Millisecond
	sliceFew  = 16 // rows of the first slice, and of the smallest
	sliceMany = 128
)

func newSlicer() *slicer { return &slicer{most: sliceFew} }

// start begins a slice, within its transaction.
func (s *slicer) start() { s.begun = time.Now() } // the machine's own work

// full says that the slice ends after so many rows.
func (s *slicer) full(rows int) bool {
	return rows >= s.most || rows > 0 && time.Since(s.begun) > sliceTime
}

// ended is told when the slice is committed.
func (s *slicer) ended() {
	switch took := time.Since(s.begun); {
	case took > sliceTime:
		s.most = max(s.most/2, sliceFew)
	case took < sliceTime/2:
		s.most = min(2*s.most, sliceMany)
	}
}

// writeSlice commits a slice of about items events and waits until it is on disk. The fsync is made beside the
// writer, so that nobody else waits for it. made says that it is committed, also beside
// an error, which is that of ctx then.
func (l *Ledger) writeSlice(ctx context.Context, items int, do func(c *conn) error) (made bool, err error) {
	if err := l.write(ctx, false, items, do); err != nil {
		return false, err
	}
	return true, l.disk.wait(ctx)
}
