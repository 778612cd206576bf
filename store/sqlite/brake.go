package sqlite

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Brakes lists what is stopped.
func (l *Ledger) Brakes(ctx context.Context) (out []gateway.Brake, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT scope, name, at, by, reason FROM brake ORDER BY scope, name", func(r row) error {
			out = append(out, gateway.Brake{Scope: gateway.BrakeScope(r.str(0)), Name: r.str(1), At: r.time(2), By: r.str(3), Reason: r.str(4)})
			return nil
		})
	})
	return out, err
}

// SetBrake stops or releases something, durable. A person's word takes the place of a
// rule's, which would end by itself.
func (l *Ledger) SetBrake(ctx context.Context, b gateway.Brake, on bool) error {
	return l.act(ctx, 0, func(c *conn) error {
		q, what, args := "DELETE FROM brake WHERE scope = ? AND name = ?", "resume", []any{string(b.Scope), b.Name}
		if on {
			q, what = `INSERT INTO brake (scope, name, at, by, reason) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET at = excluded.at, by = excluded.by, reason = '' WHERE reason <> '' AND excluded.reason = ''`, "pause"
			args = append(args, b.At, b.By, b.Reason)
		}
		if _, err := c.exec(q, args...); err != nil {
			return err
		}
		return audit(c, b.At, b.By, what, string(b.Scope)+" "+b.Name)
	})
}

// Breakers lists the applications that are tripped.
func (l *Ledger) Breakers(ctx context.Context) (out []gateway.Breaker, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT app, since, probe_at, wait FROM breaker ORDER BY app", func(r row) error {
			out = append(out, gateway.Breaker{App: r.str(0), Since: r.time(1), ProbeAt: r.time(2), Wait: time.Duration(r.int(3))})
			return nil
		})
	})
	return out, err
}

// SetBreaker keeps that an application is tripped, or with a zero Since that it is
// not.
func (l *Ledger) SetBreaker(ctx context.Context, b gateway.Breaker) error {
	return l.write(ctx, false, 0, func(c *conn) error {
		if b.Since.IsZero() {
			_, err := c.exec("DELETE FROM breaker WHERE app = ?", b.App)
			return err
		}
		_, err := c.exec("INSERT OR REPLACE INTO breaker (app, since, probe_at, wait) VALUES (?, ?, ?, ?)", b.App, b.Since, b.ProbeAt, int64(b.Wait))
		return err
	})
}

// Reround gives rows that are still pending in their round the next one, so that
// they can be offered anew, durable. It returns those as they are now.
func (l *Ledger) Reround(ctx context.Context, rows []gateway.Pending) ([]gateway.Pending, error) {
	var out []gateway.Pending
	err := l.write(ctx, true, len(rows)/16, func(c *conn) error {
		out = make([]gateway.Pending, 0, len(rows))
		for i := range rows {
			p := rows[i]
			key, found, err := l.key(c, p.Conv)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			n, err := c.exec("UPDATE pending SET round = round + 1 WHERE app = ? AND c = ? AND lane = ? AND seq = ? AND n = ? AND round = ?",
				p.App, key, int64(p.Lane), p.Seq, p.N, p.Round)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			p.Round++
			l.book.forgetWaiting(waitingKey{key, p.App})
			l.book.touched = true
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Blocked counts the events that hold their conversation, by application.
func (l *Ledger) Blocked(ctx context.Context) (map[string]int64, error) {
	out := make(map[string]int64)
	err := l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT app, count(*) FROM pending WHERE blocked_at > 0 GROUP BY app", func(r row) error {
			out[r.str(0)] = r.int(1)
			return nil
		})
	})
	return out, err
}
