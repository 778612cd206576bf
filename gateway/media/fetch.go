package media

import (
	"bytes"
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// softTries is how often a file is asked for that is said to be gone, refused or
// comes damaged: a file that was sent just now may not be everywhere yet. Few,
// since platforms block who asks for what is not there too often.
const softTries = 3

// delays are the waits after a try; the last one repeats until the id ends.
func delays() []time.Duration {
	return []time.Duration{2 * time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour, 3 * time.Hour}
}

// one fetches a file, or sets when it is tried again.
func (f *Fetcher) one(ctx context.Context, row *gateway.MediaRow) {
	start := f.o.Now()
	end, err := f.get(ctx, row)
	if ctx.Err() != nil {
		return // it is pending, and begins anew
	}
	if err == nil {
		f.end(ctx, row, end, start)
		return
	}
	var m *gateway.MediaError
	switch {
	case errors.As(err, &m) && (m.Final || m.Reason != "" && row.Tries+1 >= softTries):
		f.end(ctx, row, &gateway.MediaEnd{State: gateway.MediaUnavailable, Reason: m.Reason}, start)
	case errors.As(err, &m) && m.Account:
		until := f.holdAccount(row.Account, m)
		f.later(ctx, row, row.Tries, until, "account", m.Code)
	case errors.As(err, &m):
		all := delays()
		wait := max(all[min(row.Tries, len(all)-1)], m.After)
		f.later(ctx, row, row.Tries+1, f.o.Now().Add(wait), "passing", m.Code)
	default:
		// Our own disk: it is no try, and what is fetched next would fare no better.
		f.mu.Lock()
		f.noRoom = f.o.Now().Add(roomPause)
		f.mu.Unlock()
		f.later(ctx, row, row.Tries, f.o.Now().Add(roomPause), "room", "store")
	}
}

// errNoRoom is a disk that has too little left for what is to come.
var errNoRoom = errors.New("no room for files") //nolint:gochecknoglobals // a sentinel error is a constant

// get brings the bytes into the store.
func (f *Fetcher) get(ctx context.Context, row *gateway.MediaRow) (*gateway.MediaEnd, error) {
	if !f.o.Now().Before(row.Until) {
		return nil, &gateway.MediaError{Reason: gateway.MediaExpired, Final: true, Code: "too_late"}
	}
	source := f.o.Source(row.Platform, row.Account)
	if source == nil {
		return nil, &gateway.MediaError{Account: true, Code: "no_account"}
	}
	if !f.o.Room(0) {
		return nil, errNoRoom
	}
	draft, err := f.o.Files.Create()
	if err != nil {
		return nil, err
	}
	defer draft.Drop()
	sink := &sink{to: draft, room: f.o.Room}
	told, err := source.Fetch(ctx, row, f.o.MaxSize, sink)
	switch {
	case sink.err != nil:
		return nil, sink.err
	case err != nil:
		var m *gateway.MediaError
		if !errors.As(err, &m) {
			err = &gateway.MediaError{Code: "other"}
		}
		return nil, err
	}
	f.healthy(row.Account)
	sum := draft.Sum()
	if told.SHA256 != nil && !bytes.Equal(told.SHA256, sum[:]) || told.Size > 0 && told.Size != draft.Size() {
		return nil, &gateway.MediaError{Reason: gateway.MediaDamaged, Code: "hash"}
	}
	size := draft.Size()
	file, err := draft.Keep()
	if err != nil {
		return nil, err
	}
	f.o.Boundary("media.stored")
	return &gateway.MediaEnd{State: gateway.MediaReady, File: file, Size: size, MIME: mediaType(told.MIME), Filename: told.Filename}, nil
}

// sink remembers its own failure, and looks at the room while it is written to.
type sink struct {
	to   Draft
	room func(int64) bool
	err  error
	left int64 // bytes until the next look
}

// roomEvery is how many bytes are written between two looks at the disk.
const roomEvery = 4 << 20

func (s *sink) Write(b []byte) (int, error) {
	if s.left -= int64(len(b)); s.left <= 0 {
		if !s.room(roomEvery) {
			s.err = errNoRoom
			return 0, s.err
		}
		s.left = roomEvery
	}
	n, err := s.to.Write(b)
	if err != nil {
		s.err = err
	}
	return n, err
}

// end writes how it ended; when that fails it begins anew, which makes nothing
// twice.
func (f *Fetcher) end(ctx context.Context, row *gateway.MediaRow, e *gateway.MediaEnd, start time.Time) {
	e.N, e.At = row.N, f.o.Now()
	if row.Observed == "" {
		apps := f.o.Applications()
		for i := range apps {
			if apps[i].Wants(row.Platform, row.Account, gateway.KindNotice, row.Chat) {
				e.Wanted = append(e.Wanted, apps[i].Name)
			}
		}
	}
	res, err := f.o.Ledger.EndMedia(ctx, e)
	if err != nil {
		if ctx.Err() == nil {
			f.unwritten(row, err)
		}
		return
	}
	f.o.Boundary("media.committed")
	f.o.Ended(res)
	f.mu.Lock()
	if e.State == gateway.MediaReady {
		f.counts.Fetched++
		f.counts.Bytes += e.Size
	} else {
		f.counts.Unavailable[e.Reason]++
	}
	f.mu.Unlock()
	f.o.Log.Info("media.ended", zap.String("event", row.Event), zap.String("account", row.Account), zap.String("state", string(e.State)),
		zap.String("reason", e.Reason), zap.Int64("bytes", e.Size), zap.Int("tries", row.Tries+1), zap.Duration("took", f.o.Now().Sub(start)))
}

// later sets when a file is tried again; never after its id has ended, so that it
// ends then.
func (f *Fetcher) later(ctx context.Context, row *gateway.MediaRow, tries int, at time.Time, class, code string) {
	if at.After(row.Until) {
		at = row.Until
	}
	f.mu.Lock()
	f.counts.Retries[class]++
	f.mu.Unlock()
	f.o.Log.Info("media.retried", zap.String("event", row.Event), zap.String("account", row.Account), zap.String("why", class),
		zap.String("code", code), zap.Int("tries", tries), zap.Duration("again_in", at.Sub(f.o.Now())))
	if err := f.o.Ledger.RetryMedia(ctx, row.N, tries, at); err != nil && ctx.Err() == nil {
		f.unwritten(row, err)
	}
}

// unwritten is a ledger that does not take what became of a file. The file is
// still pending and would begin again at once.
func (f *Fetcher) unwritten(row *gateway.MediaRow, err error) {
	f.o.Log.Error("media.failed", zap.String("event", row.Event), zap.Error(err))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = f.o.Now().Add(roomPause)
}

// holdAccount lets an account wait; longer each time until something was fetched.
func (f *Fetcher) holdAccount(account string, m *gateway.MediaError) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.held[account]
	now := f.o.Now()
	if !h.until.After(now) { // several in flight are refused together: once
		wait := max(h.next, holdFirst)
		h.next = min(2*wait, holdMost)
		h.until = now.Add(max(wait, m.After))
	}
	h.code = m.Code
	f.held[account] = h
	return h.until
}

func (f *Fetcher) healthy(account string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.held, account)
}
