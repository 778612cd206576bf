package sqlite

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// AccountHealth lists the accounts that are stopped; see store.AccountLedger.
func (l *Ledger) AccountHealth(ctx context.Context) (out []gateway.AccountHealth, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		return c.query("SELECT account, state, reason, code, detail, since, probe_at, probes, key_fp FROM account_health ORDER BY account", func(r row) error {
			out = append(out, gateway.AccountHealth{
				Account: r.str(0), State: gateway.AccountState(r.str(1)), Reason: gateway.Blame(r.str(2)), Code: r.str(3), Detail: string(r.blob(4)),
				Since: r.time(5), ProbeAt: r.time(6), Probes: int(r.int(7)), KeyFP: r.str(8),
			})
			return nil
		})
	})
	return out, err
}

// SetAccountHealth keeps how an account fares, durable; see store.AccountLedger.
func (l *Ledger) SetAccountHealth(ctx context.Context, h *gateway.AccountHealth, by string, now time.Time) error {
	return l.write(ctx, true, 1, func(c *conn) error {
		var err error
		if h.State.Stopped() {
			_, err = c.exec(`INSERT OR REPLACE INTO account_health (account, state, reason, code, detail, since, probe_at, probes, key_fp)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, h.Account, string(h.State), string(h.Reason), h.Code, []byte(h.Detail), h.Since, h.ProbeAt, h.Probes, h.KeyFP)
		} else {
			_, err = c.exec("DELETE FROM account_health WHERE account = ?", h.Account)
		}
		if err != nil || by == "" {
			return err
		}
		return audit(c, now, by, "account."+string(h.State), h.Account)
	})
}
