package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// StartRun records a replay, durable; see store.RelayLedger.
func (l *Ledger) StartRun(ctx context.Context, r gateway.ReplayRun) (bool, error) {
	if r.ID == "" {
		return false, fmt.Errorf("a run without an id: %w", gateway.ErrConflict)
	}
	var made int64
	err := l.write(ctx, true, 1, func(c *conn) (err error) {
		made, err = c.exec(`INSERT INTO run (id, by, at, what, hold, released_at, up_to, pos, conv, since, until, endpoint, ended_at)
			VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
			r.ID, r.By, r.At, r.What, r.HoldReplies, r.UpTo, r.Pos, r.Conv, r.Since, r.Until, r.Endpoint)
		switch {
		case err != nil:
			return err
		case made == 1:
			return audit(c, r.At, r.By, "replay", r.ID+" "+r.What)
		}
		// One of an older schema says what it reads now; any other keeps it.
		_, err = c.exec(`UPDATE run SET up_to = ?, pos = ?, conv = ?, since = ?, until = ?, endpoint = ? WHERE id = ? AND up_to < 0`,
			r.UpTo, r.Pos, r.Conv, r.Since, r.Until, r.Endpoint, r.ID)
		if err == nil {
			_, err = c.exec("UPDATE run SET ended_at = 0 WHERE id = ?", r.ID)
		}
		return err
	})
	return made == 1, err
}

// OpenRuns lists the runs that have not ended, oldest first.
func (l *Ledger) OpenRuns(ctx context.Context, limit int) (out []gateway.ReplayRun, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query(`SELECT id, by, at, what, hold, up_to, pos, conv, since, until, endpoint FROM run
			WHERE ended_at = 0 AND up_to >= 0 ORDER BY at, id LIMIT ?`, func(r row) error {
			out = append(out, gateway.ReplayRun{ID: r.str(0), By: r.str(1), At: r.time(2), What: r.str(3), HoldReplies: r.int(4) == 1,
				UpTo: r.int(5), Pos: r.int(6), Conv: r.str(7), Since: r.time(8), Until: r.time(9), Endpoint: r.str(10)})
			return nil
		}, limit)
	})
	return out, err
}

// EndRun records that a run has read everything.
func (l *Ledger) EndRun(ctx context.Context, run string, now time.Time) error {
	return l.write(ctx, false, 0, func(c *conn) error {
		n, err := c.exec("UPDATE run SET ended_at = ? WHERE id = ?", now, run)
		if err == nil && n == 0 {
			err = fmt.Errorf("run: %w", gateway.ErrNotFound)
		}
		return err
	})
}

// held says whether replies to events of a run wait for a release.
func held(c *conn, run string) (hold bool, err error) {
	if run == "" {
		return false, nil
	}
	_, err = c.one("SELECT hold = 1 AND released_at = 0 FROM run WHERE id = ?", func(r row) { hold = r.int(0) == 1 }, run)
	return hold, err
}
