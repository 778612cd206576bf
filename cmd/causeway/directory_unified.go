package main

import (
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/unified"
)

// addUnified makes what an account of a vendor's gateway needs. Files have no
// upload there.
func (d *directory) addUnified(acc *config.Account, out *egress.Client, now func() time.Time) error {
	client, err := unified.NewClient(acc.Unified(), out, now)
	if err != nil {
		return err
	}
	d.accounts["unified/"+acc.PlatformID()], d.clients["unified/"+acc.Name] = acc.Name, client
	return nil
}
