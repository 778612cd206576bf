package sqlite

import "github.com/causewayhq/causeway/store"

var (
	_ store.Archive = (*Archive)(nil)
	_ store.Ledger  = (*Ledger)(nil)
)
