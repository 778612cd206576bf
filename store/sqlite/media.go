package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// fetch queues the file of a new event. A replay fetches nothing again.
func (w *relayWrite) fetch(t *talk, it *gateway.ItemRow, n int64) error {
	if it.Fetch == nil || w.b.Run != "" {
		return nil
	}
	_, err := w.c.exec(`INSERT INTO media (n, account, low, state, tries, next_at, until, file, size, mime, reason, ended_at, notice)
		VALUES (?, ?, ?, 'pending', 0, ?, ?, '', 0, '', '', 0, 0)`, n, t.account, it.Fetch.Low, w.now, it.Fetch.Until)
	if err != nil {
		return err
	}
	w.l.book.add(countMediaWanted, 1)
	w.l.book.add(prefixMedia+string(gateway.MediaPending), 1)
	w.res.Media++
	return nil
}

// MediaAccounts lists accounts with a file that is due at now. Each account is
// jumped to, so that one with a long queue costs no more than another.
func (l *Ledger) MediaAccounts(ctx context.Context, now time.Time) (due []string, next time.Time, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		for account := ""; ; {
			found, err := c.one("SELECT account FROM media WHERE state = 'pending' AND account > ? ORDER BY account LIMIT 1",
				func(r row) { account = r.str(0) }, account)
			if err != nil || !found {
				return err
			}
			first := time.Time{}
			for _, low := range []bool{false, true} {
				_, err := c.one("SELECT next_at FROM media WHERE state = 'pending' AND account = ? AND low = ? ORDER BY next_at LIMIT 1",
					func(r row) { first = earlier(first, r.time(0)) }, account, low)
				if err != nil {
					return err
				}
			}
			if first.After(now) {
				next = earlier(next, first)
				continue
			}
			due = append(due, account)
		}
	})
	return due, next, err
}

// earlier is the earlier of two times, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

const (
	mediaColumns = `m.low, m.state, m.tries, m.next_at, m.until, m.file, m.size, m.mime, m.reason, m.ended_at,
		v.platform, v.account, v.conv, v.chat, e.n, e.id, e.received_at, e.content, x.content`
	mediaRows = "media m CROSS JOIN event e ON e.n = m.n CROSS JOIN conversation v ON v.c = e.c LEFT JOIN event x ON x.n = m.notice"
)

func scanMedia(r row) (gateway.MediaRow, error) {
	m := gateway.MediaRow{
		N: r.int(14), Event: eventID(r[15]), Platform: r.str(10), Account: r.str(11), Conv: r.str(12), Chat: gateway.ChatKind(r.str(13)),
		ReceivedAt: r.time(16), Fetch: gateway.Fetch{Low: r.int(0) == 1, Until: r.time(4)},
		Tries: int(r.int(2)), NextAt: r.time(3), EndedAt: r.time(9),
	}
	if err := m.ReadMedia(r.blob(17)); err != nil {
		return m, err
	}
	m.Media.State, m.Media.File, m.Media.Size, m.Media.Reason = gateway.MediaState(r.str(1)), r.str(5), r.int(6), r.str(8)
	if mime := r.str(7); mime != "" {
		m.Media.MIME = mime
	}
	if notice := r.blob(18); m.Media.Filename == "" && len(notice) > 0 {
		// A name that came with the bytes is in the notice alone.
		var told gateway.MediaRow
		if err := told.ReadMedia(notice); err != nil {
			return m, err
		}
		m.Media.Filename = told.Media.Filename
	}
	return m, nil
}

// listMedia adds what a query finds.
func listMedia(c *conn, out *[]gateway.MediaRow, where string, args ...any) error {
	return c.query("SELECT "+mediaColumns+" FROM "+mediaRows+" WHERE "+where, func(r row) error {
		m, err := scanMedia(r)
		if err == nil {
			*out = append(*out, m)
		}
		return err
	}, args...)
}

// DueMedia lists pending files of an account that are due.
func (l *Ledger) DueMedia(ctx context.Context, account string, now time.Time, limit int) (out []gateway.MediaRow, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		for _, low := range []bool{false, true} {
			if len(out) >= limit {
				return nil
			}
			err := listMedia(c, &out, "m.state = 'pending' AND m.account = ? AND m.low = ? AND m.next_at <= ? ORDER BY m.next_at LIMIT ?",
				account, low, now, limit-len(out))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// RetryMedia sets when a pending file may be fetched again.
func (l *Ledger) RetryMedia(ctx context.Context, n int64, tries int, next time.Time) error {
	return l.write(ctx, false, 0, func(c *conn) error {
		_, err := c.exec("UPDATE media SET tries = ?, next_at = ? WHERE n = ? AND state = 'pending'", tries, next, n)
		return err
	})
}

// Media lists files, newest event first.
func (l *Ledger) Media(ctx context.Context, q store.MediaQuery) (out []gateway.MediaRow, err error) {
	where, args := "m.n < ?", []any{q.Before}
	if q.Before <= 0 {
		where, args = "m.n > ?", []any{0}
	}
	if q.Event != "" {
		where, args = where+" AND e.id = ? AND e.run = ''", append(args, eventKey(q.Event))
	}
	if q.State != "" {
		where, args = where+" AND m.state = ?", append(args, string(q.State))
	}
	if q.Account != "" {
		where, args = where+" AND m.account = ?", append(args, q.Account)
	}
	if q.Event != "" {
		// By the index of ids, not by a walk through all files.
		err = l.r.snapshot(ctx, func(c *conn) error {
			n, err := c.number("SELECT n FROM event WHERE id = ? AND run = ''", eventKey(q.Event))
			if err != nil || n == 0 {
				return err
			}
			return listMedia(c, &out, where+" AND m.n = ? LIMIT 1", append(args, n)...)
		})
		return out, err
	}
	err = l.r.snapshot(ctx, func(c *conn) error {
		return listMedia(c, &out, where+" ORDER BY m.n DESC LIMIT ?", append(args, limitOf(q.Limit))...)
	})
	return out, err
}

// AddFile remembers a stored file, durable.
func (l *Ledger) AddFile(ctx context.Context, f gateway.File) error {
	return l.write(ctx, true, 0, func(c *conn) error { return addFile(c, f) })
}

func addFile(c *conn, f gateway.File) error {
	_, err := c.exec("INSERT INTO file (file, size, mime, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", f.File, f.Size, f.MIME, f.At)
	return err
}

// File returns what is known of a stored file.
func (l *Ledger) File(ctx context.Context, file string) (f gateway.File, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT file, size, mime, at FROM file WHERE file = ?",
			func(r row) { f = gateway.File{File: r.str(0), Size: r.int(1), MIME: r.str(2), At: r.time(3)} }, file)
		if err == nil && !found {
			err = fmt.Errorf("file: %w", gateway.ErrNotFound)
		}
		return err
	})
	return f, err
}

// Uploaded returns the id that a platform gave to a file.
func (l *Ledger) Uploaded(ctx context.Context, u store.Upload, now time.Time) (id string, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		_, err := c.one("SELECT id FROM upload WHERE account = ? AND file = ? AND mime = ? AND until > ?",
			func(r row) { id = r.str(0) }, u.Account, u.File, u.MIME, now)
		return err
	})
	return id, err
}

// SetUploaded remembers the id of an upload. Not durable: a lost one costs
// another upload.
func (l *Ledger) SetUploaded(ctx context.Context, u store.Upload, id string, until time.Time) error {
	return l.write(ctx, false, 0, func(c *conn) error {
		_, err := c.exec(`INSERT INTO upload (account, file, mime, id, until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (account, file, mime) DO UPDATE SET id = excluded.id, until = excluded.until`, u.Account, u.File, u.MIME, id, until)
		return err
	})
}

// ForgetUploaded removes an id that the platform does not take any more.
func (l *Ledger) ForgetUploaded(ctx context.Context, u store.Upload) error {
	return l.write(ctx, false, 0, func(c *conn) error {
		_, err := c.exec("DELETE FROM upload WHERE account = ? AND file = ? AND mime = ?", u.Account, u.File, u.MIME)
		return err
	})
}
