package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// AccountHealth lists the accounts that are stopped or slowed; see store.AccountLedger.
func (l *Ledger) AccountHealth(ctx context.Context) (out []gateway.AccountHealth, err error) {
	err = l.r.read(ctx, func(c *conn) error {
		err := c.query("SELECT account, since, until, halved, key_fp FROM account_slowed", func(r row) error {
			out = append(out, gateway.AccountHealth{Account: r.str(0), State: gateway.AccountSlowed, Reason: gateway.BlamePace,
				Since: r.time(1), ProbeAt: r.time(2), Probes: int(r.int(3)), KeyFP: r.str(4)})
			return nil
		})
		if err != nil {
			return err
		}
		return c.query("SELECT account, state, reason, code, detail, since, probe_at, probes, key_fp FROM account_health ORDER BY account", func(r row) error {
			out = append(out, gateway.AccountHealth{
				Account: r.str(0), State: gateway.AccountState(r.str(1)), Reason: gateway.Blame(r.str(2)), Code: r.str(3), Detail: string(r.blob(4)),
				Since: r.time(5), ProbeAt: r.time(6), Probes: int(r.int(7)), KeyFP: r.str(8),
			})
			return nil
		})
	})
	slices.SortFunc(out, func(a, b gateway.AccountHealth) int { return strings.Compare(a.Account, b.Account) })
	return out, err
}

// SetAccountHealth keeps how an account fares, durable; see store.AccountLedger.
func (l *Ledger) SetAccountHealth(ctx context.Context, h *gateway.AccountHealth, by string, now time.Time) error {
	return l.write(ctx, true, 1, func(c *conn) error {
		_, err := c.exec("DELETE FROM account_health WHERE account = ?", h.Account)
		if err == nil {
			_, err = c.exec("DELETE FROM account_slowed WHERE account = ?", h.Account)
		}
		switch {
		case err != nil:
		case h.State.Stopped():
			_, err = c.exec(`INSERT INTO account_health (account, state, reason, code, detail, since, probe_at, probes, key_fp)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, h.Account, string(h.State), string(h.Reason), h.Code, []byte(h.Detail), h.Since, h.ProbeAt, h.Probes, h.KeyFP)
		case h.State == gateway.AccountSlowed:
			_, err = c.exec("INSERT INTO account_slowed (account, since, until, halved, key_fp) VALUES (?, ?, ?, ?, ?)",
				h.Account, h.Since, h.ProbeAt, h.Probes, h.KeyFP)
		}
		if err != nil || by == "" {
			return err
		}
		return audit(c, now, by, "account."+string(h.State), h.Account)
	})
}
