package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// KeepNames remembers which platform id each account's name stands for; see
// store.AdminLedger. Both directions are kept, so that neither can change.
func (l *Ledger) KeepNames(ctx context.Context, names map[string]string) error {
	return l.write(ctx, true, len(names), func(c *conn) error {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if err := keepName(c, "account name "+name, names[name],
				"account %s stood for another id of the platform before: names are for ever, give the new one a new name", name); err != nil {
				return err
			}
			if err := keepName(c, "account id "+names[name], name,
				"the platform id of account %s had another name before: names are for ever, use the old one", name); err != nil {
				return err
			}
		}
		return nil
	})
}

func keepName(c *conn, key, value, sentence, name string) error {
	var was string
	found, err := c.one("SELECT value FROM meta WHERE name = ?", func(r row) { was = string(r.blob(0)) }, key)
	switch {
	case err != nil:
		return err
	case !found:
		_, err := c.exec("INSERT INTO meta (name, value) VALUES (?, ?)", key, []byte(value))
		return err
	case was != value:
		return fmt.Errorf(sentence+": %w", name, gateway.ErrConflict)
	}
	return nil
}
