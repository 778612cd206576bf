package sqlite

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

const pendingColumns = "app, conv, lane, seq, n, event, run, tries, next_at, round, requeue"

func scanPending(r row) gateway.Pending {
	return gateway.Pending{
		App: r.str(0), Conv: r.str(1), Lane: gateway.Lane(r.int(2)), Seq: r.int(3), N: r.int(4), Event: r.str(5), Run: r.str(6),
		Tries: int(r.int(7)), NextAt: r.time(8), Round: int(r.int(9)), Requeue: int(r.int(10)),
	}
}

// headsStride is how many rows one statement of Heads reads: a conversation with
// many waiting events costs at most one stride.
const headsStride = 64

// Heads lists the head of every conversation of an application after afterConv.
func (l *Ledger) Heads(ctx context.Context, app, afterConv string, limit int) (out []gateway.Pending, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		last := afterConv
		for len(out) < limit {
			rows := 0
			err := c.query("SELECT "+pendingColumns+" FROM pending WHERE app = ? AND conv > ? ORDER BY app, conv, lane, seq LIMIT ?",
				func(r row) error {
					rows++
					if conv := r.str(1); conv != last {
						last = conv
						out = append(out, scanPending(r))
						if len(out) == limit {
							return errStop
						}
					}
					return nil
				}, app, last, headsStride)
			if err != nil || rows < headsStride {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Events returns the rows named by n.
func (l *Ledger) Events(ctx context.Context, ns []int64) (map[int64]*gateway.EventRow, error) {
	out := make(map[int64]*gateway.EventRow, len(ns))
	err := l.r.read(ctx, func(c *conn) error {
		for _, n := range ns {
			if _, err := c.one("SELECT "+eventColumns+" FROM event WHERE n = ?", func(r row) { out[n] = scanEvent(r) }, n); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Resolve carries out a decision that no answer made, durable.
func (l *Ledger) Resolve(ctx context.Context, p gateway.Pending, d gateway.Decision, now time.Time) (gateway.Settled, error) {
	var out gateway.Settled
	err := l.write(ctx, true, 1, func(c *conn) error {
		out = gateway.Settled{App: p.App, Conv: p.Conv}
		heads, err := headsOf(c, p.App, p.Conv)
		if err != nil {
			return err
		}
		var was *gateway.Pending
		for i := range heads {
			if samePlace(&heads[i], &p) {
				was = &heads[i]
			}
		}
		if was == nil {
			_, err := c.one("SELECT "+pendingColumns+" FROM pending WHERE app = ? AND conv = ? AND lane = ? AND seq = ?",
				func(r row) { q := scanPending(r); was = &q }, p.App, p.Conv, int64(p.Lane), p.Seq)
			if err != nil {
				return err
			}
		}
		if was == nil || was.N != p.N || was.Round != p.Round {
			out.Late = true
			if len(heads) > 0 {
				out.Head = &heads[0]
			}
			return nil
		}
		if err := l.carryOut(c, &out, was, heads, d, now); err != nil {
			return err
		}
		return withRow(c, out.Head)
	})
	if err != nil {
		return gateway.Settled{}, err
	}
	return out, nil
}

// withRow adds the event to a head: the writer's pages are in memory, those of
// a reader are not after a commit.
func withRow(c *conn, head *gateway.Pending) error {
	if head == nil {
		return nil
	}
	_, err := c.one("SELECT "+eventColumns+" FROM event WHERE n = ?", func(r row) { head.Row = scanEvent(r) }, head.N)
	return err
}

func samePlace(a, b *gateway.Pending) bool { return a.Lane == b.Lane && a.Seq == b.Seq }

// headsOf are the first two pending rows of a conversation: the head, and what
// will be the head when it is gone.
func headsOf(c *conn, app, conv string) ([]gateway.Pending, error) {
	out := make([]gateway.Pending, 0, 2)
	err := c.query("SELECT "+pendingColumns+" FROM pending WHERE app = ? AND conv = ? ORDER BY lane, seq LIMIT 2", func(r row) error {
		out = append(out, scanPending(r))
		return nil
	}, app, conv)
	return out, err
}

// Brakes lists what is stopped.
func (l *Ledger) Brakes(ctx context.Context) (out []gateway.Brake, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT scope, name, at, by FROM brake ORDER BY scope, name", func(r row) error {
			out = append(out, gateway.Brake{Scope: r.str(0), Name: r.str(1), At: r.time(2), By: r.str(3)})
			return nil
		})
	})
	return out, err
}

// SetBrake stops or releases something, durable.
func (l *Ledger) SetBrake(ctx context.Context, b gateway.Brake, on bool) error {
	return l.write(ctx, true, 0, func(c *conn) error {
		q, what, args := "DELETE FROM brake WHERE scope = ? AND name = ?", "resume", []any{b.Scope, b.Name}
		if on {
			q, what = "INSERT INTO brake (scope, name, at, by) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", "pause"
			args = append(args, b.At, b.By)
		}
		if _, err := c.exec(q, args...); err != nil {
			return err
		}
		return audit(c, b.At, b.By, what, b.Scope+" "+b.Name)
	})
}
